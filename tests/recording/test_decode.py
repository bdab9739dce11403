"""Rows to steps: what is kept, in which order, on which stream."""

from __future__ import annotations

import pytest

from poolbench.domain import MemoryKind, StreamKind
from poolbench.errors import BadUsage
from poolbench.recording.raw import MemoryCode, What
from poolbench.scenario.workload import check
from tests.recording.tape import MIB, A, B, Read, Tape

OUT_OF_MEMORY, NOT_READY = 2, 600


def test_a_program_of_two_streams() -> None:
    """Allocations, kernels, copies, events and frees, in the order of the calls."""
    tape = Tape()
    tape.alloc(0x1000, 3 * MIB)
    tape.copy(2 * MIB, MemoryCode.PINNED, MemoryCode.DEVICE)
    tape.kernel(7000, name="gemm", blocks=132)
    tape.call(What.RECORD, stream=A, a=0xE)
    tape.call(What.WAIT, stream=B, a=0xE)
    tape.kernel(3000, B)
    tape.free(0x1000, B)
    tape.call(What.SYNC_STREAM, stream=B)
    tape.call(What.SYNC_EVENT, a=0xE)
    tape.call(What.QUERY_EVENT, a=0xE, result=NOT_READY)
    tape.call(What.QUERY_STREAM, stream=A)
    tape.call(What.TRIM, a=5 * MIB)
    tape.call(What.SYNC_DEVICE)
    read = tape.decode()
    assert read.ops == [
        "alloc", "memcpy", "kernel", "record", "wait", "kernel", "free", "sync_stream",
        "sync_event", "query_event", "query_stream", "trim", "sync_device",
    ]  # fmt: skip
    assert read.column("stream")[:7] == [0, 0, 0, 0, 1, 1, 1]
    assert read.column("size")[0] == 3 * MIB
    assert read.column("size")[11] == 5 * MIB
    assert [read.column(name)[2] for name in ("duration_ns", "blocks", "threads")] == [
        7000, 132, 128,
    ]  # fmt: skip
    assert read.built.workload.names[read.column("name")[2]] == "gemm"
    assert read.built.kinds == (StreamKind.NON_BLOCKING,) * 2
    assert not read.lost
    assert not read.guessed
    check(read.built.workload)


def test_records_come_in_any_order() -> None:
    """CUPTI delivers work when it likes: the steps are those of the calls."""
    tape = Tape()
    for address in range(0x1000, 0x1000 + 40 * 16, 16):
        tape.alloc(address)
        tape.kernel(address, B)
        tape.free(address, B)
    straight = tape.decode()
    for seed in range(5):
        shuffled = Read(tape.recording(shuffled=seed))
        for name in straight.built.workload.columns:
            assert shuffled.column(name) == straight.column(name)


def test_calls_of_several_threads_are_in_the_order_in_which_they_began() -> None:
    """Although they are taken down when they end."""
    tape = Tape()
    start = tape.now
    late = {"begin": start + 100, "end": start + 50_000, "thread": 2}
    tape.call(What.SYNC_STREAM, stream=B, **late)
    tape.call(What.SYNC_STREAM, stream=A, begin=start, end=start + 10)
    tape.kernel(stream=A, begin=start + 200, end=start + 300)
    read = tape.decode()
    assert read.ops == ["sync_stream", "sync_stream", "kernel"]
    assert read.column("stream") == [0, 1, 0]
    assert any("2 threads made calls" in note for note in read.fidelity.notes)


def test_an_address_goes_from_one_thread_to_another() -> None:
    """The allocation began before the free that made room for it, and ended after it began."""
    tape = Tape()
    tape.alloc(0x1000, begin=0, end=100)
    tape.alloc(0x1000, begin=200, end=900, thread=2)
    tape.free(0x1000, begin=300, end=400)
    tape.free(0x1000, begin=1000, end=1100, thread=2)
    read = tape.decode()
    assert read.ops == ["alloc", "free", "alloc", "free"]
    assert read.column("buffer") == [0, 0, 1, 1]
    assert not read.lost


def test_correlation_tells_which_work_is_whose() -> None:
    """Of two kernels the one that ran first may belong to the later call."""
    tape = Tape()
    first = tape.call(What.LAUNCH, stream=A)
    second = tape.call(What.LAUNCH, stream=B)
    tape.ran(What.KERNEL_RAN, second, 5_000_000, 5_000_100, a=1, b=32, c=tape.text("second"))
    tape.ran(What.KERNEL_RAN, first, 9_000_000, 9_000_900, a=1, b=32, c=tape.text("first"))
    read = tape.decode()
    assert read.column("duration_ns") == [900, 100]
    assert [read.built.workload.names[name] for name in read.column("name")] == ["first", "second"]


def test_an_event_that_is_recorded_again_is_the_same_event() -> None:
    """The last record before a wait counts, in the program and in the replay."""
    tape = Tape()
    for stream in (A, B, A):
        tape.call(What.RECORD, stream=stream, a=0xE)
        tape.call(What.WAIT, stream=B, a=0xE)
    read = tape.decode()
    assert read.column("event") == [0] * 6


def test_an_event_of_before_the_recording() -> None:
    """Has no record: the wait is counted, and left out."""
    tape = Tape()
    tape.kernel()
    tape.call(What.WAIT, stream=A, a=0xE)
    tape.call(What.SYNC_EVENT, a=0xE)
    tape.call(What.QUERY_EVENT, a=0xE)
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert sum(read.lost.values()) == 3


def test_the_hosts_own_time_is_without_that_of_the_recorder() -> None:
    """From the end of our exit callback to the begin of the next call."""
    tape = Tape(call_ns=2000)
    tape.kernel(begin=10_000, end=12_000, exit_cost=3000)
    tape.kernel(begin=20_000, end=22_000)
    read = tape.decode(host=True)
    assert read.ops == ["kernel", "host", "kernel"]
    assert read.column("duration_ns")[1] == 20_000 - 12_000 - 3000
    assert read.decoded.recorded["overhead_ns"] == 3000


def test_a_call_that_waits_is_no_time_of_the_host() -> None:
    """What a synchronisation took, the replay finds out itself."""
    tape = Tape()
    tape.kernel(begin=0, end=1000)
    tape.call(What.SYNC_STREAM, stream=A, begin=1000, end=900_000)
    tape.kernel(begin=905_000, end=906_000)
    read = tape.decode(host=True)
    assert read.ops == ["kernel", "sync_stream", "host", "kernel"]
    assert read.column("duration_ns")[2] == 5000


def test_the_makespan_is_from_the_first_call_to_the_end_of_the_last_work() -> None:
    """What a replay is compared with."""
    tape = Tape()
    begin = tape.now
    tape.kernel(40_000)
    tape.kernel(90_000)
    end = tape.now + 500 + 90_000
    assert tape.decode().decoded.recorded["makespan_ns"] == end - begin


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        (MemoryCode.PINNED, MemoryCode.DEVICE, (MemoryKind.PINNED, MemoryKind.DEVICE)),
        (MemoryCode.PAGEABLE, MemoryCode.DEVICE, (MemoryKind.PAGEABLE, MemoryKind.DEVICE)),
        (MemoryCode.DEVICE, MemoryCode.PINNED, (MemoryKind.DEVICE, MemoryKind.PINNED)),
        (MemoryCode.DEVICE, MemoryCode.PAGEABLE, (MemoryKind.DEVICE, MemoryKind.PAGEABLE)),
        (MemoryCode.DEVICE, MemoryCode.DEVICE, (MemoryKind.DEVICE, MemoryKind.DEVICE)),
        (MemoryCode.DEVICE_STATIC, MemoryCode.ARRAY, (MemoryKind.DEVICE, MemoryKind.DEVICE)),
    ],
)
def test_copies_keep_their_kind(
    source: MemoryCode, target: MemoryCode, kinds: tuple[MemoryKind, MemoryKind]
) -> None:
    """And their pinning."""
    tape = Tape()
    tape.copy(12_345, source, target)
    read = tape.decode()
    buffers = [memory for _, _, memory in read.built.buffers]
    (buffer,), (origin,) = read.column("buffer"), read.column("source")
    assert (buffers[origin], buffers[buffer]) == kinds
    assert read.column("size") == [12_345]


def test_a_copy_that_waits_is_a_copy_and_a_wait() -> None:
    """On the default stream; from device to device it does not wait."""
    tape = Tape()
    tape.copy(99, MemoryCode.PAGEABLE, MemoryCode.DEVICE, 0, What.COPY_AND_WAIT)
    tape.copy(99, MemoryCode.DEVICE, MemoryCode.DEVICE, 0, What.COPY_AND_WAIT)
    read = tape.decode()
    assert read.ops == ["memcpy", "sync_stream", "memcpy"]
    assert read.built.kinds == (StreamKind.LEGACY_DEFAULT,)


def test_copies_that_cannot_be_replayed_are_counted() -> None:
    """From host to host, and between devices."""
    tape = Tape()
    tape.kernel()
    tape.copy(99, MemoryCode.PAGEABLE, MemoryCode.PINNED)
    peer = tape.call(What.COPY, stream=A)
    tape.ran(What.COPY_BETWEEN_DEVICES_RAN, peer, tape.now, tape.now + 5, a=99)
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert read.lost == {"copies from host to host": 1, "copies between devices": 1}


def test_what_cannot_be_replayed_is_counted() -> None:
    """Host functions, waits for values, memory that is no pool's."""
    tape = Tape()
    tape.kernel()
    tape.call(What.HOST_FUNCTION, stream=A)
    tape.call(What.MEMORY_OPERATION, stream=A)
    tape.call(What.OTHER_ALLOC)
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert sorted(read.lost.values()) == [1, 1, 1]


def test_a_failing_call_is_no_step() -> None:
    """A failed allocation is counted as that: its address means nothing."""
    tape = Tape()
    tape.alloc(0x1000)
    tape.alloc(0x1000, result=OUT_OF_MEMORY)
    tape.alloc(0, result=1)
    tape.call(What.RECORD, stream=A, a=0xE, result=400)
    tape.free(0x1000)
    read = tape.decode()
    assert read.ops == ["alloc", "free"]
    assert read.lost == {
        "allocations that failed (out of memory): whether they fail here, the run shows": 1,
        "allocations that failed (error 1): whether they fail here, the run shows": 1,
        "calls that failed (error 400)": 1,
    }


def test_dropped_records_are_said() -> None:
    """A launch without a kernel is counted; so is what CUPTI and the recorder dropped."""
    tape = Tape()
    tape.kernel()
    tape.call(What.LAUNCH, stream=A)
    tape.about = {"n_dropped": 17, "n_refused": 3, "n_faults": 2, "faults": ["oh"]}
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert read.lost == {
        "calls without a record of the work that they issued": 1,
        "records that CUPTI dropped": 17,
        "events that the recording had no room for": 3,
    }
    assert "2 faults of the recorder; the first: oh" in read.fidelity.notes


def test_a_program_that_was_killed() -> None:
    """What there is counts; that the end is missing is said."""
    tape = Tape()
    tape.kernel()
    tape.about = {}
    assert any("without its exit handlers" in note for note in tape.decode().fidelity.notes)


def test_nothing_recorded() -> None:
    """Is an error that says so, and of other processes."""
    tape = Tape()
    with pytest.raises(BadUsage, match="no CUDA calls"):
        tape.decode()
    tape.n_others = 3
    with pytest.raises(BadUsage, match="3 others are not recorded"):
        tape.decode()


def test_other_devices_are_left_out() -> None:
    """The one with the most work is the program's."""
    tape = Tape()
    for _ in range(3):
        tape.kernel()
    elsewhere = tape.call(What.LAUNCH, stream=B, context=2)
    tape.ran(What.KERNEL_RAN, elsewhere, tape.now, tape.now + 10, device=1, context=2, a=1, b=1)
    tape.alloc(0x1000, stream=B, context=2)
    read = tape.decode()
    assert read.ops == ["kernel"] * 3
    assert read.lost == {"calls for other devices": 2, "work on other devices": 1}


def test_work_without_a_call_stands_where_it_ran() -> None:
    """On a stream of its own if CUPTI's number is not known."""
    tape = Tape()
    at = tape.now
    tape.kernel(stream=A, begin=at + 1000, end=at + 1500)
    tape.ran(What.KERNEL_RAN, 9999, at + 5000, at + 5700, a=1, b=32, stream_id=13)
    tape.kernel(stream=A, begin=at + 9000, end=at + 9500)
    read = tape.decode()
    assert read.column("duration_ns") == [5000, 700, 5000]
    assert read.column("stream") == [0, 1, 0]
    assert read.guessed == {"work without a call: put where it ran": 1}


def test_work_is_matched_by_order_where_no_number_fits() -> None:
    """As many launches as kernels on a stream: the first is the first's."""
    tape = Tape()
    tape.rows.append([What.STREAM_ID, 0, 1, A, 0, 1, 13, *[0] * 7])
    for number in range(3):
        tape.call(What.LAUNCH, stream=A, correlation=100 + number)
        tape.ran(
            What.KERNEL_RAN, 500 - number, tape.now + number, tape.now + number + 10 * (number + 1),
            a=1, b=32, stream_id=13,
        )  # fmt: skip
    read = tape.decode()
    assert read.column("duration_ns") == [10, 20, 30]
    assert read.guessed == {"work that is matched to its call by the order on its stream": 3}


def test_work_is_not_matched_by_order_where_some_is_missing() -> None:
    """A wrong match would be worse than none."""
    tape = Tape()
    tape.rows.append([What.STREAM_ID, 0, 1, A, 0, 1, 13, *[0] * 7])
    for number in range(3):
        tape.call(What.LAUNCH, stream=A, correlation=100 + number)
    tape.ran(What.KERNEL_RAN, 500, tape.now, tape.now + 10, a=1, b=32, stream_id=13)
    read = tape.decode()
    assert read.lost == {"calls without a record of the work that they issued": 3}
    assert read.guessed == {"work without a call: put where it ran": 1}
    assert read.ops == ["kernel"]
