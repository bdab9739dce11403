"""Finer rules of the pool, each measured on an H200, driver 580, with all streams held or idle."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.domain import Outcome
from poolbench.plan.steps import SyncStream, Trim
from tests.analysis.hand_made import MIB
from tests.model.predicted import CHUNK, predict

Steps = list[tuple[Any, ...]]

GROWN, REMAPPED, OOM = Outcome.GROWN, Outcome.REMAPPED, Outcome.OUT_OF_MEMORY
INTERNAL = Outcome.INTERNAL_DEPENDENCY


def alloc(on: str, **sizes: int) -> Steps:
    """Sizes in MiB."""
    return [("alloc", name, on, size * MIB) for name, size in sizes.items()]


def busy_free(*names: str) -> Steps:
    """Frees that stay pending behind 500 us of work on a."""
    return [("kernel", "a", 500), *free("a", *names)]


def free(on: str, *names: str) -> Steps:
    return [("free", name, on) for name in names]


# --- which of several -----------------------------------------------------------------------


@pytest.mark.parametrize("wait", [[], [("host", 300)], [("sync", "device")]], ids=str)
@pytest.mark.parametrize("order", [("p", "q", "r"), ("r", "p", "q"), ("q", "p", "r")])
def test_best_fit_looks_at_merged_blocks(order: tuple[str, ...], wait: Steps) -> None:
    """4 and 4 MiB side by side are a block of 8: for 4 MiB the block of 6 fits better."""
    steps = [*alloc("a", p=4, q=4, wall=4, r=6, end=14), *free("a", *order), *wait]
    found = predict([*steps, *alloc("a", first=4, second=4)])
    assert found.address("first") == found.address("r")
    assert found.address("second") == found.address("p")


@pytest.mark.parametrize(
    ("sizes", "order", "chosen"),
    [
        ({"p": 64, "wall": 32, "q": 32}, ("p", "q"), "q"),
        ({"p": 64, "wall": 32, "q": 32}, ("q", "p"), "q"),
        ({"p": 32, "wall": 32, "q": 32}, ("p", "q"), "p"),
        ({"p": 32, "wall": 32, "q": 32}, ("q", "p"), "q"),
    ],
)
def test_pending_blocks_of_one_stream_go_by_best_fit(
    sizes: dict[str, int], order: tuple[str, ...], chosen: str
) -> None:
    """Of what the stream that is asked first has pending: the best fit, the one freed first."""
    steps = [*alloc("a", **sizes), ("kernel", "a", 500), *free("a", *order)]
    total = sum(sizes.values()) * MIB
    found = predict([*steps, *alloc("b", y=32)], row="001", max_size=total)
    assert found.outcome("y") is INTERNAL
    assert found.address("y") == found.address(chosen)


def test_merged_block_is_waited_for_until_its_last_free() -> None:
    """Two neighbours are freed with 2 ms of work in between: b waits for the second free."""
    steps = [*alloc("a", p=32, q=32), ("kernel", "a", 300), *free("a", "p")]
    steps += [("kernel", "a", 2000), *free("a", "q"), *alloc("b", y=32), ("kernel", "b", 10)]
    found = predict(steps, row="001", max_size=2 * CHUNK)
    assert found.address("y") == found.address("p")
    assert found.steps.device_begin_ns[7] >= found.steps.device_end_ns[4]


# --- what rule 6 does not do ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "limit", "size"),
    [
        ([*alloc("a", p=48), ("kernel", "a", 500), *free("a", "p")], 64, 64),
        (
            [*alloc("a", p=32, q=32), *free("c", "p"), ("sync", "c"), *busy_free("q")],
            64,
            64,
        ),
        (
            [*alloc("a", p=32, q=32), *free("b", "p"), ("kernel", "a", 500), *free("a", "q")],
            64,
            64,
        ),
        (
            [*alloc("a", p=32, wall=32, q=32, end=32), ("kernel", "a", 500), *free("a", "p", "q")],
            128,
            64,
        ),
    ],
    ids=["slack", "host-known", "own", "remapping"],
)
def test_pending_blocks_join_nothing_else(steps: Steps, limit: int, size: int) -> None:
    """A pending block is not joined with slack, with a host-known or an own neighbour, nor are
    pending chunks remapped: memory is out."""
    found = predict([*steps, *alloc("b", y=size)], row="001", max_size=limit * MIB)
    assert found.outcome("y") is OOM


# --- mapping --------------------------------------------------------------------------------


def scattered(free_on: str = "a") -> Steps:
    return [*alloc("a", p=32, w=32, q=32, v=32), *free(free_on, "p", "q")]


@pytest.mark.parametrize(
    ("steps", "row", "outcome"),
    [
        ([*scattered(), *alloc("a", y=64)], "101", GROWN),
        ([*scattered(), ("host", 300), *alloc("a", y=64)], "101", GROWN),
        (
            [*scattered(), ("record", "e", "a"), ("wait", "e", "b"), *alloc("b", y=64)],
            "101",
            GROWN,
        ),
        ([*scattered(), ("host", 300), *alloc("b", y=64)], "010", REMAPPED),
        ([*scattered(), ("sync", "a"), *alloc("b", y=64)], "000", REMAPPED),
    ],
    ids=["own", "own, complete", "event-ordered", "opportunistic", "host-known"],
)
def test_only_free_chunks_are_remapped(steps: Steps, row: str, outcome: Outcome) -> None:
    """Chunks that are anybody's are remapped; a stream's own, or ordered ones, are not."""
    found = predict(steps, row=row)
    assert found.outcome("y") is outcome
    assert found.reserved("y") == (4 if outcome is REMAPPED else 6) * CHUNK


def test_only_whole_chunks_are_remapped() -> None:
    """Of two free blocks of 48 MiB each one chunk can be had; the new range is the tail."""
    steps = [*alloc("a", p=48, w=48, q=48, v=48), *free("a", "p", "q"), ("sync", "a")]
    found = predict([*steps, *alloc("a", y=64)])
    assert found.address("y") == 192 * MIB
    assert found.reserved("y") == 192 * MIB


def test_free_block_before_the_tail_grows_with_it() -> None:
    """32, 32, and 32 free at the end: 64 MiB begin there, and one chunk is added."""
    steps = [*alloc("a", p=32, w=32, q=32), *free("a", "q"), ("sync", "a")]
    found = predict([*steps, *alloc("a", y=64)])
    assert found.address("y") == 64 * MIB
    assert found.reserved("y") == 128 * MIB


def test_remapping_leaves_a_hole_that_is_filled_first() -> None:
    """64 free, 64, 64 free: 96 go to the last block, with one chunk of the first, whose other
    chunk serves 32 more."""
    steps = [*alloc("a", p=64, w=64, q=64), *free("a", "p", "q"), ("sync", "a")]
    found = predict([*steps, *alloc("a", y=96, z=32)])
    assert found.address("y") == 128 * MIB
    assert found.address("z") == 0
    assert found.reserved("z") == 192 * MIB


def test_limit_is_rounded_up_to_chunks() -> None:
    """A maximum of 100 MiB acts as one of 128."""
    found = predict(alloc("a", p=96, q=32), row="000", max_size=100 * MIB)
    assert found.outcome("q") is GROWN
    assert found.reserved("q") == 128 * MIB


# --- release --------------------------------------------------------------------------------


def test_release_stops_below_the_threshold() -> None:
    """192 MiB free, threshold 100 MiB: 96 are left, the last chunk above it went too."""
    steps = [*alloc("a", p=192), *free("a", "p"), ("sync", "a")]
    found = predict(steps, release_threshold=100 * MIB)
    assert found.reserved("a", SyncStream) == 96 * MIB


def test_trim_stops_above_what_it_keeps() -> None:
    """192 MiB free, trimmed to 40 MiB: 64 are left."""
    steps = [*alloc("a", p=192), *free("a", "p"), ("sync", "a"), ("trim", 40 * MIB)]
    found = predict(steps)
    assert found.reserved("trim", Trim) == 64 * MIB


@pytest.mark.parametrize("step", [("host", 500), ("query", "a"), ("sync", "b")], ids=str)
def test_trim_takes_only_what_the_host_has_synchronised_with(step: tuple[Any, ...]) -> None:
    """A free that is long over, queried or not, keeps its memory in the pool."""
    steps = [*alloc("a", p=256), ("kernel", "a", 20), *free("a", "p"), step, ("trim", 0)]
    assert predict(steps).reserved("trim", Trim) == 256 * MIB


def test_synchronising_a_later_stream_releases() -> None:
    """The host waits for b, which comes after a's free through an event: it has seen the free."""
    steps = [*alloc("a", p=64), *free("a", "p"), ("record", "e", "a"), ("wait", "e", "b")]
    found = predict([*steps, ("sync", "b")], release_threshold=0)
    assert found.reserved("b", SyncStream) == 0


def test_part_of_a_chunk_is_not_released() -> None:
    """16 MiB live and 40 freed of two chunks: the second goes."""
    steps = [*alloc("a", p=16, q=40), *free("a", "q"), ("sync", "a")]
    assert predict(steps, release_threshold=0).reserved("a", SyncStream) == CHUNK
