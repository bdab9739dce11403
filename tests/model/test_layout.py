"""How the pool lays memory out: chunks, slack, merging, remapping, release.  As measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from poolbench.domain import Outcome, Status
from poolbench.plan.steps import Free, Sample, SyncStream, Trim
from tests.analysis.hand_made import MIB, plan_of
from tests.model.predicted import CHUNK, predict, predict_plan

Steps = list[tuple[Any, ...]]

GROWN, SLACK, SAME = Outcome.GROWN, Outcome.SLACK, Outcome.SAME_STREAM
OPPORTUNISTIC, REMAPPED, HOST = Outcome.OPPORTUNISTIC, Outcome.REMAPPED, Outcome.HOST_ORDERED
EVENT, INTERNAL, OOM = (
    Outcome.EVENT_ORDERED,
    Outcome.INTERNAL_DEPENDENCY,
    Outcome.OUT_OF_MEMORY,
)


def allocs(on: str, *names: str, size: int = CHUNK) -> Steps:
    return [("alloc", name, on, size) for name in names]


def frees(on: str, *names: str) -> Steps:
    return [("free", name, on) for name in names]


@pytest.mark.parametrize(
    ("size", "n_chunks"), [(1, 1), (CHUNK, 1), (CHUNK + 1, 2), (100 * MIB, 4), (2**30, 32)]
)
def test_reserved_grows_in_chunks(size: int, n_chunks: int) -> None:
    """Reserved grows by as many chunks of 32 MiB as the block needs."""
    found = predict([("alloc", "x", "a", size)])
    assert found.reserved("x") == n_chunks * CHUNK
    assert found.outcome("x") is GROWN


def test_blocks_are_rounded_and_used_counts_what_was_asked_for() -> None:
    """Two blocks of 700 B lie 1024 B apart and count as 1400 B."""
    found = predict(allocs("a", "x", "y", size=700))
    assert found.address("y") - found.address("x") == 1024
    assert found.steps.used.tolist() == [700, 1400]
    assert found.outcome("y") is SLACK


@pytest.mark.parametrize("bits", ["000", "110", "001", "111"])
def test_pool_grows_even_if_the_allocation_then_fails(bits: str) -> None:
    """Maximum 96 MiB, 64 used, 64 asked: reserved goes to 96, then reuse and wait, or nothing."""
    steps: Steps = [("alloc", "x", "a", 2 * CHUNK), ("kernel", "a", 500), ("free", "x", "a")]
    steps += [("alloc", "y", "b", 2 * CHUNK)]
    found = predict(steps, row=bits, max_size=3 * CHUNK)
    assert found.outcome("y") is (INTERNAL if bits[2] == "1" else OOM)
    assert found.reserved("y") == 3 * CHUNK


def test_device_without_room_acts_like_a_pool_at_its_maximum() -> None:
    """768 MiB pending, 1023 MiB of the device: memory is out, and reserved went to 992 MiB."""
    steps: Steps = [("alloc", "x", "a", 768 * MIB), ("kernel", "a", 500), ("free", "x", "a")]
    plan = plan_of([*steps, ("alloc", "y", "b", 768 * MIB)], row="110")
    found = predict_plan(replace(plan, leave_free=1023 * MIB))
    assert found.outcome("y") is OOM
    assert found.reserved("y") == 992 * MIB


def test_growth_counts_the_free_tail() -> None:
    """16 MiB of a chunk are used, 40 asked: one chunk is added and the block begins in the tail."""
    found = predict([("alloc", "x", "a", 16 * MIB), *allocs("a", "y", "z", size=40 * MIB)])
    assert found.reserved("y") == 2 * CHUNK
    assert found.address("y") == 16 * MIB
    assert found.outcome("y") is GROWN
    assert found.reserved("z") == 3 * CHUNK


def test_slack_behind_a_grown_block_serves_a_smaller_one() -> None:
    """48 and 24 MiB take three chunks, and 24 more fit the slack."""
    found = predict(
        [
            ("alloc", "x", "a", 48 * MIB),
            *allocs("b", "y", size=24 * MIB),
            *allocs("c", "z", size=24 * MIB),
        ]
    )
    assert (found.reserved("y"), found.reserved("z")) == (3 * CHUNK, 3 * CHUNK)
    assert found.address("y") == 48 * MIB
    assert found.outcome("z") is SLACK


# --- merging --------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", ["000", "111"])
def test_own_neighbours_serve_a_larger_block(bits: str) -> None:
    """What one stream freed side by side is one block for it, pending or not."""
    steps = [*allocs("a", "x", "y"), ("kernel", "a", 500), *frees("a", "x", "y")]
    found = predict([*steps, ("alloc", "z", "a", 2 * CHUNK)], row=bits)
    assert found.outcome("z") is SAME
    assert found.address("z") == 0


def test_host_known_neighbours_of_two_streams_serve_a_larger_block() -> None:
    """Blocks that the host knows to be free join, whoever freed them."""
    steps = [*allocs("a", "x", "y"), *frees("a", "x"), *frees("b", "y"), ("sync", "device")]
    found = predict([*steps, ("alloc", "z", "c", 2 * CHUNK)], row="000")
    assert found.outcome("z") is HOST
    assert found.address("z") == 0


def test_completed_neighbours_of_two_streams_serve_a_larger_block() -> None:
    """So do completed ones with `opportunistic`."""
    steps = [*allocs("a", "x", "y"), *frees("a", "x"), *frees("b", "y"), ("host", 300)]
    found = predict([*steps, ("alloc", "z", "c", 2 * CHUNK)], row="010")
    assert found.outcome("z") is OPPORTUNISTIC


def test_event_ordered_neighbours_of_two_streams_do_not_join() -> None:
    """Blocks that are only ordered before the allocation do not join across streams."""
    steps: Steps = [*allocs("a", "x", "y"), ("kernel", "a", 500), ("kernel", "b", 500)]
    steps += [*frees("a", "x"), *frees("b", "y")]
    steps += [("record", "e", "a"), ("record", "f", "b"), ("wait", "e", "c"), ("wait", "f", "c")]
    found = predict([*steps, ("alloc", "z", "c", 2 * CHUNK)], row="100")
    assert found.outcome("z") is GROWN


def three_complete() -> Steps:
    """p0, p1, p2 are neighbours, freed on c and complete; q takes the place of p0."""
    steps = [*allocs("c", "p0", "p1", "p2"), *frees("c", "p0", "p1", "p2"), ("host", 200)]
    return [*steps, *allocs("a", "q"), ("kernel", "c", 500)]


def test_free_makes_its_complete_neighbours_pending_again() -> None:
    """A free on c merges with what c had freed beside it: the block goes by the last free."""
    found = predict([*three_complete(), *frees("c", "q"), *allocs("a", "z")])
    assert found.address("q") == found.address("p0")
    assert found.outcome("z") is GROWN


def test_free_on_another_stream_merges_with_nothing() -> None:
    """Freed on d, q leaves its neighbours as complete as they were."""
    found = predict([*three_complete(), ("kernel", "b", 500), *frees("b", "q"), *allocs("a", "z")])
    assert found.outcome("z") is OPPORTUNISTIC
    assert found.address("z") == found.address("p1")


def test_live_block_between_keeps_frees_apart() -> None:
    """p2 is complete and p1 lives: a pending free of p0's place does not reach p2."""
    steps = [*allocs("c", "p0", "p1", "p2"), *frees("c", "p0", "p2"), ("host", 200)]
    steps += [*allocs("a", "q"), ("kernel", "c", 500), *frees("c", "q"), *allocs("a", "z")]
    found = predict(steps)
    assert found.address("q") == found.address("p0")
    assert found.outcome("z") is OPPORTUNISTIC
    assert found.address("z") == found.address("p2")


def test_later_neighbour_makes_complete_blocks_pending() -> None:
    """p0 to p2 are complete; p3 beside them is freed behind running work: all four wait."""
    steps = [*allocs("c", "p0", "p1", "p2", "p3"), *frees("c", "p0", "p1", "p2"), ("host", 200)]
    found = predict([*steps, ("kernel", "c", 500), *frees("c", "p3"), *allocs("a", "z")])
    assert found.outcome("z") is GROWN


def test_merging_spoils_the_order_by_events() -> None:
    """A block freed before the event, and merged with one freed after it, is after the event."""
    steps: Steps = [*allocs("a", "x", "y"), ("kernel", "a", 500), *frees("a", "x")]
    steps += [("record", "e", "a"), *frees("a", "y"), ("wait", "e", "b")]
    assert predict([*steps, *allocs("b", "z")], row="100").outcome("z") is GROWN
    apart = [*steps[:1], ("alloc", "wall", "c", CHUNK), *steps[1:]]
    assert predict([*apart, *allocs("b", "z")], row="100").outcome("z") is EVENT


# --- remapping and release ------------------------------------------------------------------


def holes(n: int) -> Steps:
    steps: Steps = []
    for index in range(n):
        steps += [*allocs("a", f"hole{index}", f"keep{index}")]
    steps += [step for index in range(n) for step in frees("a", f"hole{index}")]
    return [*steps, ("sync", "a")]


def test_scattered_chunks_are_mapped_into_one_range() -> None:
    """64 MiB from two chunks apart: a new address, reserved unchanged, 71 to 140 us."""
    found = predict([*holes(2), ("alloc", "wide", "a", 2 * CHUNK)], row="000")
    assert found.outcome("wide") is REMAPPED
    assert found.reserved("wide") == 4 * CHUNK
    assert found.address("wide") not in {found.address(f"hole{index}") for index in range(2)}
    assert 55 <= found.host_us("wide") <= 180
    assert found.waited_for("wide") == ""


def test_more_than_the_holes_hold_is_out_of_memory() -> None:
    """One byte more than the free chunks hold cannot be had at the pool's maximum."""
    steps = [*holes(2), ("alloc", "wide", "a", 2 * CHUNK + 1)]
    found = predict(steps, row="111", max_size=4 * CHUNK)
    assert found.outcome("wide") is OOM
    assert found.trace.status is Status.OUT_OF_MEMORY


def freed_six() -> Steps:
    return [("alloc", "x", "a", 6 * CHUNK), ("kernel", "a", 50), *frees("a", "x")]


@pytest.mark.parametrize(
    ("threshold", "left"), [(0, 0), (64 * MIB, 2 * CHUNK), (2**64 - 1, 6 * CHUNK)]
)
def test_synchronising_with_the_free_releases_down_to_the_threshold(
    threshold: int, left: int
) -> None:
    """192 MiB: all of it, down to exactly 64 MiB, or nothing."""
    found = predict([*freed_six(), ("sync", "a")], row="000", release_threshold=threshold)
    assert found.reserved("a", SyncStream) == left


@pytest.mark.parametrize("step", [("query", "a"), ("sync", "b"), ("host", 100)], ids=str)
def test_nothing_else_releases(step: tuple[Any, ...]) -> None:
    """A query, another stream's synchronisation and time leave the memory in the pool."""
    found = predict([*freed_six(), step, ("sample", "now")], release_threshold=0)
    assert found.reserved("now", Sample) == 6 * CHUNK


def test_release_takes_a_while() -> None:
    """Giving 192 MiB back costs the synchronisation 0.2 to 0.5 ms."""
    kept = predict([*freed_six(), ("host", 200), ("sync", "a")])
    given = predict([*freed_six(), ("host", 200), ("sync", "a")], release_threshold=0)
    cost = given.host_us("a", SyncStream) - kept.host_us("a", SyncStream)
    assert 200 <= cost <= 500


def test_live_block_keeps_its_chunk() -> None:
    """A 1 KiB block that stays allocated keeps 32 MiB from being released."""
    steps: Steps = [("alloc", "small", "a", 1024), ("alloc", "x", "a", MIB), *frees("a", "x")]
    found = predict([*steps, ("sync", "a")], release_threshold=0)
    assert found.reserved("a", SyncStream) == CHUNK


def test_trim_gives_back_what_the_host_knows_and_no_more() -> None:
    """Behind running work nothing, after a synchronisation everything above `keep`."""
    steps = [*freed_six(), ("trim", 0), ("sync", "a"), ("trim", CHUNK), ("trim", 0)]
    found = predict(steps)
    trims = [row for row, step in enumerate(found.plan.steps) if isinstance(step, Trim)]
    assert [int(found.steps.reserved[row]) // CHUNK for row in trims] == [6, 1, 0]


def test_used_falls_at_the_call_of_the_free() -> None:
    """Pending blocks are not used."""
    found = predict(freed_six())
    assert int(found.steps.used[found.row("x", Free)]) == 0


def test_what_the_host_knows_does_not_become_pending_again() -> None:
    """p1 and p2 are known to the host: a pending free of p0's place beside them changes nothing."""
    steps = [*allocs("c", "p0", "p1", "p2"), *frees("c", "p0", "p1", "p2"), ("sync", "c")]
    steps += [*allocs("a", "q"), ("kernel", "c", 500), *frees("c", "q"), *allocs("a", "z")]
    found = predict(steps)
    assert found.address("q") == found.address("p0")
    assert found.outcome("z") is HOST
    assert found.address("z") == found.address("p1")
