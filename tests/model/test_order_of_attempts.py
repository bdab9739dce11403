"""Whose block an allocation gets: what was measured on an H200, driver 580, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.domain import Outcome, StreamKind
from tests.analysis.hand_made import MIB, stream
from tests.model.predicted import CHUNK, predict

BITS = [f"{index:03b}" for index in range(8)]
BLOCK = 64 * MIB

GROWN, EVENT, OPPORTUNISTIC = Outcome.GROWN, Outcome.EVENT_ORDERED, Outcome.OPPORTUNISTIC
INTERNAL, HOST, SAME = Outcome.INTERNAL_DEPENDENCY, Outcome.HOST_ORDERED, Outcome.SAME_STREAM
OOM = Outcome.OUT_OF_MEMORY

Steps = list[tuple[Any, ...]]


def used_by_a(us: int = 500) -> Steps:
    """Stream a takes a block, works on it and frees it; the host does not wait."""
    return [("alloc", "x", "a", BLOCK), ("kernel", "a", us), ("free", "x", "a")]


Y = ("alloc", "y", "b", BLOCK)


@pytest.mark.parametrize("bits", BITS)
def test_own_block_is_reused_whatever_the_attributes(bits: str) -> None:
    """A stream gets back what it freed itself, pending or not, with any attributes."""
    found = predict([*used_by_a(), ("alloc", "y", "a", BLOCK)], row=bits)
    assert found.outcome("y") is SAME
    assert found.address("y") == found.address("x")
    assert found.waited_for("y") == "x"


@pytest.mark.parametrize("bits", BITS)
def test_event_ordered_free_needs_follow(bits: str) -> None:
    """A block whose free the stream comes after is reused with `follow`, else the pool grows."""
    found = predict([*used_by_a(), ("record", "e", "a"), ("wait", "e", "b"), Y], row=bits)
    assert found.outcome("y") is (EVENT if bits[0] == "1" else GROWN)


@pytest.mark.parametrize("bits", BITS)
def test_completed_free_needs_opportunistic(bits: str) -> None:
    """A block whose free is over at the host's call is reused with `opportunistic`."""
    found = predict([*used_by_a(50), ("host", 500), Y], row=bits)
    assert found.outcome("y") is (OPPORTUNISTIC if bits[1] == "1" else GROWN)


@pytest.mark.parametrize("bits", BITS)
def test_pending_free_with_room_to_grow(bits: str) -> None:
    """As long as the pool can grow, nothing makes a stream wait for a pending free."""
    found = predict([*used_by_a(), Y], row=bits)
    assert found.outcome("y") is GROWN


@pytest.mark.parametrize("bits", BITS)
def test_pending_free_of_a_full_pool_needs_internal(bits: str) -> None:
    """At the pool's maximum a pending block is reused with `internal`, else memory is out."""
    found = predict([*used_by_a(), Y], row=bits, max_size=BLOCK)
    assert found.outcome("y") is (INTERNAL if bits[2] == "1" else OOM)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("step", [("sync", "a"), ("sync", "device"), ("sync_event", "e")])
def test_host_known_free_needs_no_attribute(bits: str, step: tuple[str, str]) -> None:
    """Once the host has synchronised with a free its block is anybody's."""
    found = predict([*used_by_a(), ("record", "e", "a"), step, Y], row=bits)
    assert found.outcome("y") is HOST
    assert found.waited_for("y") == "x"


@pytest.mark.parametrize(
    ("between", "row"), [([("query", "a")], "101"), ([("sync", "b")], "101")], ids=str
)
def test_query_and_other_streams_tell_the_host_nothing(between: Steps, row: str) -> None:
    """A query that answers "done", or synchronising another stream, does not make a free known."""
    found = predict([*used_by_a(20), ("host", 200), *between, Y], row=row)
    assert found.outcome("y") is GROWN


def test_event_before_the_free_tells_the_host_nothing() -> None:
    """The host must synchronise with an event recorded after the free."""
    steps = [("alloc", "x", "a", BLOCK), ("kernel", "a", 50), ("record", "e", "a")]
    found = predict([*steps, ("free", "x", "a"), ("sync_event", "e"), Y], row="000")
    assert found.outcome("y") is GROWN


def test_event_before_the_free_orders_nothing() -> None:
    """An event recorded before the free does not let the other stream follow it."""
    steps = [("alloc", "x", "a", BLOCK), ("kernel", "a", 500), ("record", "e", "a")]
    found = predict([*steps, ("free", "x", "a"), ("wait", "e", "b"), Y])
    assert found.outcome("y") is GROWN


def test_following_is_transitive() -> None:
    """From a over c to b through two events."""
    steps = [("record", "e", "a"), ("wait", "e", "c"), ("record", "f", "c"), ("wait", "f", "b")]
    assert predict([*used_by_a(), *steps, Y], row="100").outcome("y") is EVENT


@pytest.mark.parametrize(
    ("kinds", "is_ordered"),
    [
        ((StreamKind.LEGACY_DEFAULT, StreamKind.BLOCKING), True),
        ((StreamKind.BLOCKING, StreamKind.LEGACY_DEFAULT), True),
        ((StreamKind.LEGACY_DEFAULT, StreamKind.NON_BLOCKING), False),
        ((StreamKind.NON_BLOCKING, StreamKind.LEGACY_DEFAULT), False),
        ((StreamKind.PER_THREAD_DEFAULT, StreamKind.BLOCKING), False),
        ((StreamKind.BLOCKING, StreamKind.BLOCKING), False),
    ],
)
@pytest.mark.parametrize("follow", ["0", "1"])
def test_legacy_default_stream_orders_blocking_streams(
    kinds: tuple[StreamKind, StreamKind], is_ordered: bool, follow: str
) -> None:
    """Rule 3 holds between the legacy default stream and blocking ones, both ways."""
    streams = (stream("a", kinds[0]), stream("b", kinds[1]))
    found = predict([*used_by_a(), Y], row=f"{follow}00", streams=streams)
    assert found.outcome("y") is (EVENT if is_ordered and follow == "1" else GROWN)


@pytest.mark.parametrize("order", ["abc", "bca", "cba", "bac"])
def test_rule_6_asks_the_stream_that_used_the_pool_first(order: str) -> None:
    """Neither the order of creation counts, nor that of the frees, nor what is free first."""
    steps: Steps = [("alloc", f"of_{name}", name, CHUNK) for name in order]
    steps += [("kernel", name, us) for name, us in zip(order, (900, 600, 300), strict=True)]
    steps += [("free", f"of_{name}", name) for name in reversed(order)]
    streams = tuple(stream(name) for name in "abcd")
    found = predict(
        [*steps, ("alloc", "y", "d", CHUNK)], row="001", max_size=3 * CHUNK, streams=streams
    )
    assert found.outcome("y") is INTERNAL
    assert found.waited_for("y") == f"of_{order[0]}"


def test_rule_6_does_not_look_for_the_best_fit_among_streams() -> None:
    """64 MiB of the stream that is asked first are taken for 32, although 32 were pending."""
    found = predict(
        [
            ("alloc", "large", "a", 2 * CHUNK),
            ("alloc", "x", "b", CHUNK),
            ("kernel", "a", 900),
            ("kernel", "b", 300),
            ("free", "x", "b"),
            ("free", "large", "a"),
            ("alloc", "y", "c", CHUNK),
        ],
        row="001",
        max_size=3 * CHUNK,
    )
    assert found.outcome("y") is INTERNAL
    assert found.waited_for("y") == "large"


def test_rule_6_joins_pending_neighbours_of_one_stream() -> None:
    """Two pending blocks of a stream that are neighbours serve one of their size together."""
    frees = [("kernel", "a", 300), ("free", "x0", "a"), ("free", "x1", "a")]
    steps = [("alloc", "x0", "a", CHUNK), ("alloc", "x1", "a", CHUNK), *frees]
    found = predict([*steps, Y], row="001", max_size=2 * CHUNK)
    assert found.outcome("y") is INTERNAL
    assert found.waited_for("y") == "x1"


def test_rule_6_does_not_join_blocks_of_two_streams() -> None:
    """Neighbours that two streams freed are no block together, however much is pending."""
    steps: Steps = [("alloc", "x0", "a", CHUNK), ("alloc", "x1", "b", CHUNK)]
    steps += [("kernel", "a", 300), ("kernel", "b", 300), ("free", "x0", "a"), ("free", "x1", "b")]
    found = predict([*steps, ("alloc", "y", "c", 2 * CHUNK)], row="001", max_size=2 * CHUNK)
    assert found.outcome("y") is OOM


def test_out_of_memory_does_not_wait() -> None:
    """The failing call returns at once, although a pending free would have been enough."""
    found = predict([*used_by_a(5000), Y], row="110", max_size=BLOCK)
    assert found.outcome("y") is OOM
    assert found.host_us("y") < 20
    assert found.trace.n_out_of_memory == 1
    assert found.trace.failed_row == found.row("y")


def test_best_fit_then_the_one_freed_first() -> None:
    """Of several blocks that would do, the smallest; of equals, the one freed first."""
    names = ("large", "second", "first")
    sizes = {"large": 3 * CHUNK, "second": CHUNK, "first": CHUNK}
    steps: Steps = []
    for name in names:
        steps += [("alloc", name, "a", sizes[name]), ("alloc", f"{name}_wall", "a", CHUNK)]
    steps += [("free", name, "a") for name in ("large", "first", "second")]
    found = predict([*steps, ("alloc", "y", "a", CHUNK)])
    assert found.waited_for("y") == "first"
