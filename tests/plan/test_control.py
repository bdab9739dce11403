"""Faults of events, latches, streams and fills."""

from __future__ import annotations

import pytest

from poolbench.plan.check import check
from tests.plan.building import scenario_of


def problems(steps, head="streams: {A: , B: }\nbuffers: {k: {size: 1MiB}, m: {size: 1MiB}}\n"):
    """(code, line, column, notes); lines count from the first step."""
    text = f"{head}steps:\n"
    first = text.count("\n") + 1
    return [
        (
            p.code,
            p.place.line - first,
            p.place.column,
            [(note.place.line - first, note.message) for note in p.notes],
        )
        for p in check(scenario_of(text + steps))
        if not p.is_warning
    ]


@pytest.mark.parametrize(
    ("step", "column"),
    [
        ("{wait: e, stream: B}", 10),
        ("{sync: event, event: e}", 24),
        ("{query: event, event: e}", 25),
    ],
)
def test_an_event_that_is_not_recorded_yet(step, column):
    """A wait, sync or query before the record does nothing; the later record is named."""
    assert problems(f"- {step}\n- {{record: e, stream: A}}\n") == [
        ("wait-before-record", 0, column, [(1, "recorded here, later")])
    ]
    assert not problems(f"- {{record: e, stream: A}}\n- {step}\n")


def test_holds_and_releases_come_in_pairs():
    """A release needs a closed latch, a hold a release."""
    assert problems("- {release: A}\n") == [("release-without-hold", 0, 13, [])]
    assert problems("- {hold: A}\n- {release: B}\n") == [
        ("hold-without-release", 0, 10, []),
        ("release-without-hold", 1, 13, []),
    ]
    assert not problems("- {hold: A}\n- {hold: A}\n- {release: A}\n- {release: A}\n")
    found = problems("- {hold: A}\n- {hold: A}\n- {release: A}\n")
    assert found == [("hold-without-release", 1, 10, [])]


@pytest.mark.parametrize(
    ("step", "column"),
    [
        ("{record: e, stream: A}", 23),
        ("{sync: stream, stream: A}", 26),
        ("{query: stream, stream: A}", 27),
        ("{memset: k, stream: A}", 23),
        ("{destroy: A}", 13),
    ],
)
def test_a_stream_that_does_not_exist(step, column):
    """A step on a stream before its create or after its destroy is at fault."""
    assert problems(f"- {step}\n- {{create: A}}\n")[:1] == (
        [("stream-not-created", 0, column, [])] if "destroy" not in step else []
    )
    assert problems(f"- {{destroy: A}}\n- {step}\n") == [
        ("stream-destroyed", 1, column, [(0, "destroyed here")])
    ]


def test_a_hold_of_a_destroyed_stream():
    """Holding takes a place in the stream; releasing does not."""
    assert [(code, line) for code, line, *_ in problems("- {destroy: A}\n- {hold: A}\n")] == [
        ("hold-without-release", 1),
        ("stream-destroyed", 1),
    ]
    assert not problems("- {hold: A}\n- {destroy: A}\n- {release: A}\n")


def test_a_stream_created_twice():
    """A stream that is there cannot be created."""
    assert problems("- {create: A}\n- {create: A}\n") == [
        ("stream-exists", 1, 12, [(0, "created here")])
    ]


def test_iterations_must_leave_streams_as_they_found_them():
    """With one iteration a stream may stay; with more the next would create it again."""
    one = "streams: {A: , B: }\n"
    two = "iterations: 2\n" + one
    assert not problems("- {create: A}\n", one)
    assert problems("- {create: A}\n", two) == [("stream-not-restored", 0, 12, [])]
    assert problems("- {destroy: A}\n", two) == [("stream-not-restored", 0, 13, [])]
    assert not problems("- {create: A}\n- {destroy: A}\n- {destroy: B}\n- {create: B}\n", two)


def test_a_check_needs_a_fill():
    """Without a fill there is no pattern to compare with."""
    assert problems("- {check: k, stream: A}\n") == [("check-without-fill", 0, 11, [])]
    assert problems("- {fill: m, stream: A}\n- {check: k, stream: A}\n") == [
        ("check-without-fill", 1, 11, [])
    ]


@pytest.mark.parametrize(
    "step",
    [
        "{memset: k, stream: A}",
        "{memcpy: d2d, dst: k, src: m, stream: A}",
        "{kernel: stream, writes: [k], stream: A}",
    ],
)
def test_a_check_of_what_the_scenario_overwrote(step):
    """A check after the scenario's own write would report corruption that is none."""
    around = "- {{fill: k, stream: A}}\n- {}\n{}- {{check: k, stream: A}}\n"
    assert problems(around.format(step, "")) == [
        ("check-after-overwrite", 2, 11, [(1, "overwritten here")])
    ]
    assert not problems(around.format(step, "- {fill: k, stream: A}\n"))


def test_claims_of_a_spin_overwrite_nothing():
    """A spin kernel says what it writes for the order's sake; it writes nothing."""
    assert not problems(
        "- {fill: k, stream: A}\n- {kernel: spin, duration: 1us, writes: [k], stream: A}\n"
        "- {check: k, stream: A}\n"
    )
