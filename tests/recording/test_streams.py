"""Handles to streams: kinds, default streams, handles that come again, captures; and pools."""

from __future__ import annotations

import pytest

from poolbench.domain import StreamKind
from poolbench.recording.pools import Pools, PoolSettings
from poolbench.recording.raw import What
from tests.recording.tape import A, B, Read, Tape

LEGACY, PER_THREAD = 1, 2
MAX = 2**64 - 1


def kinds_of(tape: Tape) -> tuple[StreamKind, ...]:
    return tape.decode().built.kinds


@pytest.mark.parametrize(
    ("flags", "kind"), [(0, StreamKind.BLOCKING), (1, StreamKind.NON_BLOCKING)]
)
def test_flags_tell_the_kind(flags: int, kind: StreamKind) -> None:
    """`CU_STREAM_DEFAULT` blocks, `CU_STREAM_NON_BLOCKING` does not."""
    tape = Tape()
    tape.stream(A, flags)
    tape.kernel()
    assert kinds_of(tape) == (kind,)


def test_a_stream_that_nobody_saw_being_made() -> None:
    """Is taken as non-blocking, and counted once."""
    tape = Tape()
    tape.kernel(stream=0xC0)
    tape.kernel(stream=0xC0)
    read = tape.decode()
    assert read.built.kinds == (StreamKind.NON_BLOCKING,)
    assert read.guessed == {"streams whose creation was not seen: taken as non-blocking": 1}


def test_the_legacy_stream_has_two_handles() -> None:
    """0 and `CU_STREAM_LEGACY`, in any context."""
    tape = Tape()
    tape.kernel(stream=0)
    tape.kernel(stream=LEGACY)
    tape.kernel(stream=LEGACY, is_per_thread=1)
    read = tape.decode()
    assert read.built.kinds == (StreamKind.LEGACY_DEFAULT,)
    assert read.built.workload.streams == ("default",)


def test_the_per_thread_stream_has_two_handles_too() -> None:
    """0 in a `_ptsz` call, and `CU_STREAM_PER_THREAD`; each further thread has another one."""
    tape = Tape()
    tape.kernel(stream=0, is_per_thread=1)
    tape.kernel(stream=PER_THREAD)
    tape.kernel(stream=0, is_per_thread=1, thread=2)
    read = tape.decode()
    assert read.column("stream") == [0, 0, 1]
    assert read.built.kinds == (StreamKind.PER_THREAD_DEFAULT, StreamKind.BLOCKING)
    assert read.guessed == {"default streams of further threads: taken as blocking ones": 1}


def test_a_handle_that_comes_again_is_another_stream() -> None:
    """After it was destroyed; its kind may differ."""
    tape = Tape()
    tape.stream(A, 1)
    tape.kernel()
    tape.call(What.STREAM_DESTROY, stream=A)
    tape.stream(A, 0)
    tape.kernel()
    read = tape.decode()
    assert read.column("stream") == [0, 1]
    assert read.built.kinds == (StreamKind.NON_BLOCKING, StreamKind.BLOCKING)


def test_what_is_captured_is_no_work() -> None:
    """Nor on streams that join the capture through an event; after it they work again."""
    tape = Tape()
    tape.call(What.CAPTURE_BEGIN, stream=A)
    tape.call(What.LAUNCH, stream=A)
    tape.alloc(0x1000)
    tape.call(What.RECORD, stream=A, a=0xE)
    tape.call(What.WAIT, stream=B, a=0xE)
    tape.call(What.LAUNCH, stream=B)
    tape.call(What.CAPTURE_END, stream=A)
    tape.kernel(stream=B)
    tape.call(What.WAIT, stream=B, a=0xE)
    read = tape.decode()
    assert read.ops == ["kernel"]
    assert read.lost == {
        "calls that were captured into graphs": 6 - 1,
        "waits for events that the file does not record": 1,
    }


def graph_program(*, nodes: bool) -> Read:
    tape = Tape()
    launch = tape.call(What.GRAPH_LAUNCH, stream=A)
    at = tape.now
    if nodes:
        tape.ran(What.KERNEL_RAN, launch, at + 100, at + 200, graph=3, a=4, b=32)
        tape.ran(What.KERNEL_RAN, launch, at + 250, at + 900, graph=3, a=9, b=32)
    else:
        tape.ran(What.GRAPH_RAN, launch, at + 100, at + 900, graph=3)
    tape.kernel(7)
    return tape.decode()


def test_a_launched_graph_is_a_kernel_for_as_long_as_it_ran() -> None:
    """Whether CUPTI tells of the whole or of its nodes; those are counted."""
    whole = graph_program(nodes=False)
    assert whole.ops == ["kernel", "kernel"]
    assert whole.column("duration_ns") == [800, 7]
    assert not whole.lost
    parts = graph_program(nodes=True)
    assert parts.column("duration_ns") == [800, 7]
    assert parts.column("blocks")[0] == 9
    assert parts.lost == {"kernels inside graphs, as kernels of their own": 2}
    assert sum(parts.guessed.values()) == 1


# --- pools ----------------------------------------------------------------------------------


def test_the_drivers_defaults() -> None:
    """Everything on, threshold 0."""
    assert Pools().settings() == PoolSettings()


def test_settings_of_the_devices_pool() -> None:
    """Allocations without a pool are from it, once it is known which one that is."""
    pools = Pools()
    pools.default_is(0x50)
    for attribute, value in ((1, 0), (2, 1), (3, 0), (4, -1)):
        pools.set(0x50, attribute, value)
    pools.used(0)
    assert pools.settings() == PoolSettings(bits="010", release_threshold=MAX)


def test_settings_of_the_pool_that_is_used_most() -> None:
    """And how many there are; a handle that comes again is a new pool."""
    pools = Pools()
    pools.created(0x10, 4096)
    pools.set(0x10, 2, 0)
    pools.created(0x10, 8192)
    pools.created(0x20, 0)
    for pool in (0x10, 0x20, 0x10):
        pools.used(pool)
    assert pools.settings() == PoolSettings(max_size=8192, n_pools=2, is_own=True)


def test_a_pool_that_was_chosen_for_the_device() -> None:
    """`cuDeviceSetMemPool` wins."""
    pools = Pools()
    pools.default_is(0x50)
    pools.created(0x10, 4096)
    pools.chosen(0x10)
    pools.used(0)
    assert pools.settings().max_size == 4096


def test_a_threshold_that_only_cupti_knows() -> None:
    """Where nobody saw it being set."""
    pools = Pools()
    pools.used(0)
    assert pools.settings(seen_threshold=77).release_threshold == 77


def test_pool_calls_reach_the_settings() -> None:
    """From rows, before the recorded part too; a failing call changes nothing."""
    tape = Tape()
    tape.call(What.POOL_CREATE, a=2**30, c=0x10)
    tape.call(What.POOL_SET, a=4, b=-1, c=0x10)
    tape.call(What.POOL_SET, a=3, b=0, c=0x10)
    tape.call(What.POOL_SET, a=1, b=0, c=0x10, result=1)
    tape.mark(begins=True)
    tape.alloc(0x1000, c=0x10)
    tape.mark(begins=False)
    pool = tape.decode().decoded.pool
    assert (pool.bits, pool.max_size, pool.release_threshold) == ("110", 2**30, MAX)
