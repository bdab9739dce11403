"""Warnings: each where it helps, and none where it would be noise."""

from __future__ import annotations

import pytest

from poolbench.plan.check import check
from tests.plan.building import scenario_of

HEAD = "streams: {A: , B: }\n"


def warnings(steps, head=HEAD):
    """(code, line, notes); lines count from the first step.  Errors fail the test."""
    text = f"{head}steps:\n"
    first = text.count("\n") + 1
    found = check(scenario_of(text + steps))
    assert all(p.is_warning for p in found), found
    return [
        (p.code, p.place.line - first, [(n.place.line - first, n.message) for n in p.notes])
        for p in found
    ]


@pytest.mark.parametrize(
    ("before", "sync"),
    [
        ("", "{sync: stream, stream: A}"),
        ("", "{sync: device}"),
        ("- {record: e, stream: A}\n", "{sync: event, event: e}"),
        ("- {record: e, stream: A}\n- {wait: e, stream: B}\n", "{sync: stream, stream: B}"),
    ],
)
def test_waiting_for_a_held_stream(before, sync):
    """Only the watchdog ends a sync that waits for a held stream, directly or not."""
    line = before.count("\n") + 1
    assert warnings(f"- {{hold: A}}\n{before}- {sync}\n- {{release: A}}\n") == [
        ("sync-of-held-stream", line, [(0, "held here")])
    ]
    assert not warnings(f"- {{hold: A}}\n{before}- {{release: A}}\n- {sync}\n")


def test_a_latch_is_opened_once():
    """After the watchdog has opened a latch, waiting for the stream again is no news."""
    sync = "- {sync: stream, stream: A}\n"
    assert warnings(f"- {{hold: A}}\n{sync}{sync}- {{release: A}}\n") == [
        ("sync-of-held-stream", 1, [(0, "held here")])
    ]


def test_waiting_for_a_stream_that_is_not_held():
    """Another stream, or an event recorded before the hold, is no reason to warn."""
    assert not warnings(
        "- {record: e, stream: A}\n- {hold: A}\n- {sync: stream, stream: B}\n"
        "- {sync: event, event: e}\n- {query: stream, stream: A}\n- {release: A}\n"
    )


def test_a_pageable_copy_behind_a_latch():
    """The host call of a pageable copy takes until the copy is done."""
    head = HEAD + "buffers: {p: {size: 1MiB, memory: pageable}, d: {size: 1MiB}}\n"
    step = "- {memcpy: h2d, dst: d, src: p, stream: %s}\n"
    held = "- {hold: A}\n" + step + "- {release: A}\n"
    assert warnings(held % "A", head) == [("sync-of-held-stream", 1, [(0, "held here")])]
    assert not warnings(held % "B", head)


QUEUE = "- {kernel: spin, duration: 1us, stream: A}\n"


def test_more_launches_than_the_driver_queues():
    """Behind a latch or under `issue: ahead` more than a thousand launches block the host."""
    loop = "- repeat: %d\n  steps:\n  " + QUEUE
    held = "- {hold: A}\n" + loop + "- {release: A}\n"
    assert warnings(held % 1001) == [("long-queue", 3, [])]
    assert not warnings(held % 1000)
    assert not warnings(loop % 3000)
    ahead = HEAD + "issue: ahead\n"
    assert warnings(loop % 1001, ahead) == [("long-queue", 2, [])]
    assert not warnings(loop % 1000, ahead)
    # a sync opens the latches: what comes after is issued live
    found = warnings(loop % 900 + "- {sync: device}\n" + loop % 900, ahead)
    assert found == [("sync-opens-latches", 3, [])]


def test_pace_has_no_effect_ahead():
    """Settings that contradict each other are said."""
    found = check(scenario_of("issue: ahead\npace: 5us\nsteps: [{host: 1us}]"))
    assert [(p.code, p.place.line, p.is_warning) for p in found] == [("pace-not-used", 2, True)]
    assert not check(scenario_of("pace: 5us\nsteps: [{host: 1us}]"))


def test_blocks_larger_than_the_pool():
    """A block that never fits is a warning, with the axis value for which it is so."""
    text = """
axes: {pool.max_size: [none, 32MiB, 64MiB]}
streams: {A: }
steps:
- {alloc: x, size: 64MiB, stream: A}
- {free: x, stream: A}
"""
    (problem,) = check(scenario_of(text))
    assert (problem.code, problem.place.line, problem.is_warning) == ("larger-than-pool", 5, True)
    assert problem.message.endswith("in the pool (with pool.max_size = 32MiB)")
    (problem,) = check(scenario_of("pool: {max_size: 1MiB, prime: 2MiB}\nsteps: [{host: 1us}]"))
    assert (problem.code, problem.place.line) == ("larger-than-pool", 1)


HIDDEN = """\
- {{alloc: x, size: 1MiB, stream: A}}
- {{free: x, stream: A}}
- {sync}
- {{alloc: y, size: 1MiB, stream: {other}}}
- {{free: y, stream: {other}}}
"""


def test_a_sync_that_hides_the_policy():
    """If the host knows every free before another stream allocates, all rows are equal."""
    assert warnings(HIDDEN.format(sync="{sync: device}", other="B")) == [
        (
            "sync-hides-policy", 2,
            [(1, "freed here"), (3, "allocated here on another stream")],
        )
    ]  # fmt: skip


def test_a_sync_that_hides_nothing():
    """One stream alone, or one undecided pair of free and allocation, is no reason to warn."""
    assert not warnings(HIDDEN.format(sync="{sync: device}", other="A"))
    assert not warnings(HIDDEN.format(sync="{sync: stream, stream: B}", other="B"))
    undecided = "- {alloc: z, size: 1MiB, stream: A}\n- {free: z, stream: A}\n"
    assert not warnings(HIDDEN.format(sync="{sync: device}", other="B") + undecided)


def test_a_sync_in_some_combinations_only_hides_nothing():
    """With another value of an axis the scenario does test the attributes."""
    head = HEAD + "parameters: {sync: true}\naxes: {sync: [true, false]}\n"
    sync = "{sync: device, when: $sync}"
    assert not warnings(HIDDEN.format(sync=sync, other="B"), head)
    head = HEAD + "parameters: {sync: true}\naxes: {sync: [true]}\n"
    assert [code for code, *_ in warnings(HIDDEN.format(sync=sync, other="B"), head)] == [
        "sync-hides-policy"
    ]


def test_a_loop_with_a_sync_is_one_warning():
    """At most one warning a place."""
    loop = "- repeat: 20\n  steps:\n" + "".join(
        f"  {line}\n"
        for line in (
            "- {alloc: x$i, size: 1MiB, stream: A}", "- {free: x$i, stream: A}",
            "- {sync: device}",
            "- {alloc: y$i, size: 1MiB, stream: B}", "- {free: y$i, stream: B}",
            "- {sync: device}",
        )
    )  # fmt: skip
    assert [(code, line) for code, line, _ in warnings(loop)] == [
        ("sync-hides-policy", 4), ("sync-hides-policy", 7),
    ]  # fmt: skip


def test_a_parameter_that_nothing_uses():
    """An unused parameter is most likely a slip."""
    found = check(scenario_of("parameters: {a: 1us, b: 1us}\nsteps: [{host: $a}]"))
    assert [(p.code, p.message) for p in found] == [("unused-parameter", "parameter b is not used")]


def test_checking_many_combinations_is_bounded(monkeypatch):
    """Axes of a large scenario are not expanded for minutes, and what was left out is said."""
    monkeypatch.setattr("poolbench.plan.check.MAX_CHECKED_STEPS", 1000)
    text = """
parameters: {a: 1us}
axes: {a: [1us, 2us, 3us, 4us]}
steps: [{repeat: 600, steps: [{host: $a}]}]
"""
    (problem,) = check(scenario_of(text))
    assert (problem.code, problem.is_warning) == ("not-all-checked", True)
    assert problem.message.startswith("only the first 2 of 4 combinations")
