"""Rules that random scenarios taught: each held in every recorded one of its kind (H200, 580)."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.domain import Outcome, StreamKind
from poolbench.plan.steps import SyncStream
from tests.analysis.hand_made import MIB, stream
from tests.model.predicted import CHUNK, predict

Steps = list[tuple[Any, ...]]

SETTLED: Steps = [("host", 300)]


def alloc(on: str, **sizes: int) -> Steps:
    """Sizes in MiB."""
    return [("alloc", name, on, size * MIB) for name, size in sizes.items()]


def free(on: str, *names: str) -> Steps:
    return [("free", name, on) for name in names]


# --- which stream's block -------------------------------------------------------------------


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize(("row", "ordered"), [("010", False), ("100", True)])
def test_the_stream_that_used_the_pool_first_is_asked_first(
    first: str, row: str, ordered: bool
) -> None:
    """a's block fits better and was freed first: what counts is who came to the pool first."""
    second = "ab".replace(first, "")
    sizes = {"a": 8, "b": 16}
    steps = alloc(first, **{first: sizes[first]}) + alloc(second, **{second: sizes[second]})
    steps += [*free("a", "a"), *free("b", "b")]
    if ordered:
        for on in "ab":
            steps += [("record", f"{on}_done", on), ("wait", f"{on}_done", "c")]
    found = predict([*steps, *SETTLED, *alloc("c", y=8)], row=row)
    assert found.address("y") == found.address(first)


# --- which of equal blocks ------------------------------------------------------------------


def test_a_rest_comes_after_its_equals() -> None:
    """p is freed before q, but used and cut since: its rest came to the list after q."""
    steps = [*alloc("a", p=16, wall=8, q=8, end=8), *free("a", "p"), *free("a", "q")]
    found = predict([*steps, *alloc("a", x=8, y=8, z=8)])
    assert found.address("x") == found.address("q")
    assert found.address("y") == found.address("p")
    assert found.address("z") == found.address("p") + 8 * MIB
    steps = [*alloc("a", p=24, wall=8, q=8, end=8), *free("a", "p")]
    found = predict([*steps, *alloc("a", cut=16), *free("a", "q"), *alloc("a", y=8, z=8)])
    assert found.address("y") == found.address("p") + 16 * MIB
    assert found.address("z") == found.address("q")


def test_the_host_learns_of_a_streams_blocks_from_the_last_to_the_first() -> None:
    """Three equal blocks of a; when the host knows of all of them, the last freed is taken."""
    steps = alloc("a", p=8, w1=8, q=8, w2=8, r=8, end=8)
    steps += [*free("a", "q", "p", "r"), ("sync", "a"), *alloc("b", x=8, y=8, z=8)]
    found = predict(steps)
    assert [found.address(name) for name in "xyz"] == [found.address(name) for name in "rpq"]


def test_what_the_host_learnt_earlier_is_taken_first() -> None:
    """Not the last freed over all: each synchronisation adds to the end."""
    steps = [*alloc("a", p=8, wall=8, q=8, end=8), *free("a", "p"), ("sync", "a")]
    steps += [*free("a", "q"), ("sync", "a"), *alloc("b", x=8, y=8)]
    found = predict(steps)
    assert (found.address("x"), found.address("y")) == (found.address("p"), found.address("q"))


# --- memory behind a block ------------------------------------------------------------------


HOLE: Steps = [*alloc("a", lead=24, hole=40)]
"""The hole ends with the second chunk, which is wholly inside it."""


def _use_its_memory(*after: tuple[Any, ...]) -> Steps:
    """far does not fit in the hole, and takes the memory of its chunk."""
    return [*free("a", "hole"), ("sync", "a"), *alloc("a", far=48), *after]


def test_a_block_that_lacks_memory_anywhere_is_no_quick_reuse() -> None:
    """8 MiB would fit in the part that has memory, but a completed block of another stream is
    taken: with a hole in it the free block only counts as address space."""
    steps = [*HOLE, *alloc("a", mid=64), *alloc("b", p=8), *_use_its_memory()]
    steps += [*free("b", "p"), *SETTLED, *alloc("c", y=8)]
    found = predict(steps, row="010", max_size=5 * CHUNK)
    assert found.outcome("far") is Outcome.REMAPPED
    assert found.outcome("y") is Outcome.OPPORTUNISTIC
    assert found.address("y") == found.address("p")
    found = predict(steps, row="000", max_size=5 * CHUNK)
    assert found.outcome("y") is Outcome.HOST_ORDERED
    assert found.address("y") == found.address("hole")


def test_of_free_blocks_a_larger_whole_one_goes_before_a_fitting_one_with_a_hole() -> None:
    """32 MiB are taken from 96 with memory behind all of it, not from 40 with a hole."""
    steps = [*HOLE, *alloc("a", mid=64, whole=96, end=32), *_use_its_memory()]
    steps += [*free("a", "whole"), ("sync", "a"), *alloc("b", y=32)]
    found = predict(steps, row="000", max_size=9 * CHUNK)
    assert found.reserved("far") == 9 * CHUNK
    assert found.outcome("y") is Outcome.HOST_ORDERED
    assert found.address("y") == found.address("whole")


def test_joined_completed_blocks_are_taken_by_fit_even_if_memory_is_missing() -> None:
    """Joined, hole and p make 72 MiB, q and r 96: for 64 the former is taken, and mapped anew."""
    steps = [*HOLE, *alloc("b", p=32), *alloc("a", w=32), *alloc("b", q=48), *alloc("c", r=48)]
    steps += [*alloc("a", end=32), *_use_its_memory()]
    steps += [*free("b", "p", "q"), *free("c", "r"), *SETTLED, *alloc("a", y=64)]
    found = predict(steps, row="010", max_size=9 * CHUNK)
    assert found.reserved("far") == 9 * CHUNK
    assert found.outcome("y") is Outcome.REMAPPED
    assert found.address("y") == found.address("hole")
    assert found.reserved("y") == 9 * CHUNK


# --- who is told, and what goes back --------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "tells"), [(StreamKind.BLOCKING, True), (StreamKind.NON_BLOCKING, False)]
)
def test_synchronising_the_legacy_stream_tells_of_blocking_ones(
    kind: StreamKind, tells: bool
) -> None:
    """The legacy default stream has nothing queued at all."""
    steps = [*alloc("a", x=64), *free("a", "x"), ("sync", "n"), *alloc("c", y=64)]
    streams = (stream("a", kind=kind), stream("n", kind=StreamKind.LEGACY_DEFAULT), stream("c"))
    found = predict(steps, row="000", streams=streams, release_threshold=0)
    assert found.reserved("n", SyncStream) == (0 if tells else 2 * CHUNK)


def test_a_synchronisation_that_learns_nothing_releases_nothing() -> None:
    """c has freed nothing: what is above the threshold stays."""
    steps = [*alloc("a", x=64), *free("a", "x"), *SETTLED, *alloc("b", y=96)]
    found = predict([*steps, ("sync", "c"), *alloc("c", z=1)], row="010", release_threshold=0)
    assert found.reserved("c", SyncStream) == found.reserved("y")


def test_a_failing_allocation_gives_back_what_is_above_the_threshold() -> None:
    """It grows in vain, and does not keep it."""
    steps = [*alloc("a", x=64), *alloc("b", y=96)]
    kept = predict(steps, row="000", max_size=4 * CHUNK, release_threshold=2**40)
    assert kept.reserved("y") == 4 * CHUNK
    given = predict(steps, row="000", max_size=4 * CHUNK, release_threshold=0)
    assert given.reserved("y") == 2 * CHUNK
