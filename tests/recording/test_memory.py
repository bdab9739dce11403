"""Allocations: of pools and plain ones, of before the recorded part, at addresses that return."""

from __future__ import annotations

import pytest

from poolbench.recording.memory import Plain
from poolbench.recording.raw import What
from tests.recording.tape import MIB, A, B, Tape


def plain_program() -> Tape:
    tape = Tape()
    tape.call(What.PLAIN_ALLOC, a=0x1000, b=MIB)
    tape.kernel(stream=B)
    tape.call(What.PLAIN_FREE, a=0x1000)
    return tape


def test_plain_allocations_are_as_if_from_a_pool() -> None:
    """Where there are no others: on the stream of the next work, with threshold max."""
    read = plain_program().decode()
    assert read.ops == ["alloc", "kernel", "free"]
    assert read.column("stream") == [0, 0, 0]
    assert read.guessed == {"plain allocations (cuMemAlloc), as if they came from a pool": 1}
    assert read.decoded.pool.release_threshold == 2**64 - 1
    assert any("1 frees were cuMemFree" in note for note in read.fidelity.notes)


def test_plain_allocations_beside_a_pool_are_left_out() -> None:
    """They are no business of the pool; a count tells."""
    tape = plain_program()
    tape.alloc(0x9000)
    read = tape.decode()
    assert read.ops == ["kernel", "alloc"]
    assert read.lost == {
        "plain allocations (cuMemAlloc), which are no business of a pool": 1,
        "frees of plain allocations": 1,
    }


@pytest.mark.parametrize(
    ("plain", "ops"),
    [
        (Plain.POOL, ["alloc", "kernel", "free", "alloc"]),
        (Plain.DROP, ["kernel", "alloc"]),
    ],
)
def test_one_may_say_what_becomes_of_plain_allocations(plain: Plain, ops: list[str]) -> None:
    """Whatever else the program does."""
    tape = plain_program()
    tape.alloc(0x9000)
    assert tape.decode(plain=plain).ops == ops


def test_cumemfree_of_a_stream_ordered_allocation() -> None:
    """Is allowed; the free goes to the stream of the allocation."""
    tape = Tape()
    tape.alloc(0x1000, stream=B)
    tape.call(What.PLAIN_FREE, a=0x1000)
    read = tape.decode()
    assert read.ops == ["alloc", "free"]
    assert read.column("stream") == [0, 0]


def test_a_stream_ordered_free_of_a_plain_allocation() -> None:
    """Goes with the allocation."""
    tape = Tape()
    tape.alloc(0x9000)
    tape.call(What.PLAIN_ALLOC, a=0x1000, b=MIB)
    tape.free(0x1000)
    read = tape.decode()
    assert read.ops == ["alloc"]
    assert read.lost["frees of plain allocations"] == 1


def test_only_the_marked_part_is_replayed() -> None:
    """From the first mark to the last, with what lies between two iterations."""
    tape = Tape()
    tape.kernel(111)
    for number in (1, 2):
        tape.mark(begins=True, number=number)
        tape.kernel(222)
        tape.mark(begins=False, number=number)
        tape.kernel(333)
    read = tape.decode()
    assert read.column("duration_ns") == [222, 333, 222]
    assert read.decoded.recorded["n_iterations"] == 2


def test_an_iteration_that_does_not_end() -> None:
    """Goes on to the end of the program, which is said."""
    tape = Tape()
    tape.kernel(111)
    tape.mark(begins=True)
    tape.kernel(222)
    read = tape.decode()
    assert read.column("duration_ns") == [222]
    assert "the program ended inside the last iteration" in read.fidelity.notes


def test_what_is_live_before_the_recorded_part_is_allocated_at_its_start() -> None:
    """On its stream, so that its free in the recorded part has something to free."""
    tape = Tape()
    tape.alloc(0x1000, 5 * MIB, stream=B)
    tape.alloc(0x2000, 6 * MIB)
    tape.free(0x2000)
    tape.kernel(111)
    tape.mark(begins=True)
    tape.alloc(0x2000, 7 * MIB)
    tape.free(0x1000, B)
    tape.mark(begins=False)
    read = tape.decode()
    assert read.ops == ["alloc", "alloc", "free"]
    assert read.column("size")[:2] == [5 * MIB, 7 * MIB]
    assert read.column("buffer") == [0, 1, 0]
    assert not read.lost
    (text,) = read.guessed
    assert "live when the recorded part begins" in text


def test_plain_allocations_live_before_the_recorded_part() -> None:
    """Likewise, if they are kept; else their frees are known for what they are."""
    tape = plain_program()
    tape.rows.pop()
    tape.mark(begins=True)
    tape.kernel(stream=B)
    tape.call(What.PLAIN_FREE, a=0x1000)
    tape.mark(begins=False)
    assert tape.decode().ops == ["alloc", "kernel", "free"]
    dropped = tape.decode(plain=Plain.DROP)
    assert dropped.ops == ["kernel"]
    assert dropped.lost == {"frees of plain allocations": 1}


def test_a_free_without_an_allocation_is_counted() -> None:
    """The recorder was not there when it was allocated."""
    tape = Tape()
    tape.kernel()
    tape.free(0x1000)
    tape.call(What.PLAIN_FREE, a=0x2000)
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert sum(read.lost.values()) == 2


def test_addresses_that_return_are_counted() -> None:
    """How often the program got memory back is a fact to compare a replay with."""
    tape = Tape()
    for address in (0x1000, 0x1000, 0x2000, 0x1000):
        tape.alloc(address)
        tape.free(address)
    recorded = tape.decode().decoded.recorded
    assert (recorded["n_allocs"], recorded["n_addresses"]) == (4, 2)


def test_the_pools_state_is_that_of_the_recorded_part() -> None:
    """At its begin, and the most of it; other pools and sizes that are none do not count."""
    tape = Tape()
    tape.pool(999 * MIB, 999 * MIB)
    tape.mark(begins=True)
    tape.now += 1
    tape.pool(64 * MIB, 8 * MIB, threshold=2**63 - 1)
    tape.pool(2**50, 8 * MIB)
    tape.pool(500 * MIB, 500 * MIB, pool=8)
    tape.alloc(0x1000)
    tape.pool(128 * MIB, 16 * MIB, threshold=2**63 - 1)
    tape.pool(96 * MIB, 12 * MIB, threshold=2**63 - 1)
    tape.mark(begins=False)
    tape.pool(888 * MIB, 888 * MIB)
    decoded = tape.decode().decoded
    assert decoded.state.reserved_at_begin == 64 * MIB
    assert decoded.recorded["reserved_high"] == 128 * MIB
    assert decoded.recorded["used_high"] == 16 * MIB
    assert decoded.pool.release_threshold == 2**63 - 1


def test_allocations_on_the_two_streams_keep_them() -> None:
    """A free may be on another stream than the allocation."""
    tape = Tape()
    tape.alloc(0x1000, stream=A)
    tape.free(0x1000, stream=B)
    assert tape.decode().column("stream") == [0, 1]
