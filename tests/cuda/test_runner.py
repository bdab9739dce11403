"""What the CUDA backend must get right on a real device; pools are capped, latches limited."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.domain import (
    OUTCOMES,
    Baseline,
    CopyKind,
    Issue,
    MemoryKind,
    OnOom,
    Outcome,
    Pass,
    Row,
    Status,
)
from poolbench.plan import steps as st
from poolbench.plan.plan import BufferSpec, KernelSource, Plan
from poolbench.trace import Trace
from tests.cuda.plans import MIB, make_plan, row

pytestmark = pytest.mark.gpu

BLOCK = 64 * MIB
ONE = st.Grid(blocks=1, threads=1)


@pytest.fixture(scope="module")
def backend() -> Iterator[CudaBackend]:
    backend = CudaBackend(time_limit_s=20)
    yield backend
    backend.close()


def spin(stream: int, us: float, *buffers: int) -> st.Launch:
    work = st.Spin(duration_ns=round(us * 1000))
    return st.Launch(stream=stream, work=work, grid=ONE, buffers=buffers)


def hand_over(row: Row, max_size: int, busy_us: float = 500) -> Plan:
    """B asks for a block that A, busy for a while, has freed."""
    steps = [
        st.Alloc(stream=0, buffer=0, size=BLOCK),
        spin(0, busy_us, 0),
        st.Free(stream=0, buffer=0),
        st.Alloc(stream=1, buffer=1, size=BLOCK),
        spin(1, 10, 1),
        st.Free(stream=1, buffer=1),
    ]
    return make_plan(steps, row=row, max_size=max_size)


def traced(backend: CudaBackend, plan: Plan) -> Trace:
    return backend.run(plan, measured=Pass.TRACED, repetition=0)


def outcome(trace: Trace, step: int) -> Outcome:
    assert trace.steps is not None
    return OUTCOMES[int(trace.steps.outcome[step])]


@pytest.mark.parametrize("bits", ["001", "011", "101", "111"])
def test_inserted_wait_is_as_long_as_the_busy_time_left(backend: CudaBackend, bits: str) -> None:
    """At the pool's maximum B's alloc waits for A's free, within 5 % or 15 us of the time left."""
    trace = traced(backend, hand_over(row(bits), BLOCK))
    steps = trace.steps
    assert trace.status is Status.OK
    assert steps is not None
    assert outcome(trace, 3) is Outcome.INTERNAL_DEPENDENCY
    assert steps.waited_for[3] == 2
    waited = steps.device_end_ns[3] - steps.device_begin_ns[3]
    left = steps.device_end_ns[1] - steps.device_begin_ns[3]
    assert abs(waited - left) < max(0.05 * left, 15_000)
    assert steps.device_begin_ns[4] > steps.device_end_ns[1]


@pytest.mark.parametrize("bits", ["000", "010", "100", "110"])
def test_without_internal_dependencies_the_pool_at_its_maximum_is_out_of_memory(
    backend: CudaBackend, bits: str
) -> None:
    """A pending block of another stream is out of reach with the attribute off."""
    trace = traced(backend, hand_over(row(bits), BLOCK))
    assert trace.status is Status.OUT_OF_MEMORY
    assert trace.failed_row == 3
    assert trace.n_out_of_memory == 1
    assert outcome(trace, 3) is Outcome.OUT_OF_MEMORY


@pytest.mark.parametrize("bits", ["000", "111"])
def test_with_room_to_grow_nobody_waits(backend: CudaBackend, bits: str) -> None:
    """Growth comes before an inserted wait, whatever the attributes say."""
    trace = traced(backend, hand_over(row(bits), 4 * BLOCK))
    assert trace.status is Status.OK
    assert outcome(trace, 3) is Outcome.GROWN
    assert trace.steps is not None
    assert trace.steps.device_end_ns[4] < trace.steps.device_end_ns[1]


def test_spin_is_exact_and_clocks_agree(backend: CudaBackend) -> None:
    """A spin of 100 us reads 100 us; no kernel starts before its launch was called."""
    steps: list[st.Step] = [spin(k % 2, 100) for k in range(50)]
    trace = traced(backend, make_plan(steps, row=row("111")))
    columns = trace.steps
    assert columns is not None
    lengths = columns.device_end_ns - columns.device_begin_ns
    assert np.median(lengths) == pytest.approx(100_000, abs=500)
    assert (columns.device_begin_ns - columns.host_begin_ns).min() > -1_000
    assert trace.makespan_ns[0] == pytest.approx(2_500_000, rel=0.1)


def test_fill_and_check_see_a_difference_and_only_a_real_one(backend: CudaBackend) -> None:
    """A check with the fill's own seed finds nothing; with another it counts the bytes."""
    for size in (1, 7, 4096, 3 * MIB + 5):
        steps = [
            st.Alloc(stream=0, buffer=0, size=size),
            st.Fill(stream=0, buffer=0, seed=7, size=size),
            st.Check(stream=0, buffer=0, seed=7, size=size),
            st.Free(stream=0, buffer=0),
        ]
        plan = make_plan(steps, row=row("111"), max_size=BLOCK)
        good = traced(backend, plan)
        assert good.status is Status.OK, good.reason
        assert dict(good.n_corrupt) == {2: 0}
        steps[2] = st.Check(stream=0, buffer=0, seed=8, size=size)
        bad = traced(backend, make_plan(steps, row=row("111"), max_size=BLOCK))
        assert bad.status is Status.CORRUPTED
        assert 0 < bad.n_corrupt[2] <= size


def test_sync_retry_gets_a_failed_allocation_through(backend: CudaBackend) -> None:
    """`on_oom: sync_retry` counts the failure and reuses the block once the host knows it free."""
    plan = hand_over(row("000"), BLOCK)
    plan = make_plan(plan.steps, row=row("000"), max_size=BLOCK, on_oom=OnOom.SYNC_RETRY)
    trace = traced(backend, plan)
    assert trace.status is Status.OK
    assert trace.n_out_of_memory == 1
    assert outcome(trace, 3) is Outcome.HOST_ORDERED
    assert trace.steps is not None
    assert trace.steps.n_failures[3] == 1


def held(row: Row) -> Plan:
    """A is held; B allocates, runs and frees meanwhile."""
    steps = [
        st.Hold(stream=0, ticket=1),
        spin(0, 10),
        st.Alloc(stream=1, buffer=0, size=BLOCK),
        spin(1, 10, 0),
        st.Free(stream=1, buffer=0),
        st.HostWork(duration_ns=2_000_000),
        st.Release(stream=0, ticket=1),
    ]
    return make_plan(steps, row=row, max_size=4 * BLOCK)


def test_growth_returns_and_runs_while_another_stream_is_held(backend: CudaBackend) -> None:
    """Pool growth does not wait for running work."""
    trace = traced(backend, held(row("111")))
    (latch,) = trace.latches
    assert trace.steps is not None
    assert not latch.by_watchdog
    assert trace.steps.host_end_ns[2] < latch.opened_ns
    assert trace.steps.device_end_ns[3] < latch.opened_ns < trace.steps.device_begin_ns[1]


def test_plain_free_waits_and_the_watchdog_ends_it(backend: CudaBackend) -> None:
    """`cuMemFree` waits for the held stream: a finding, not a hang."""
    trace = traced(backend, held(Baseline.CUDAMALLOC))
    assert trace.status is Status.OK
    (latch,) = trace.latches
    assert latch.by_watchdog
    assert trace.steps is not None
    assert trace.steps.host_begin_ns[4] < latch.opened_ns <= trace.steps.host_end_ns[4]


def test_preallocated_takes_no_allocation(backend: CudaBackend) -> None:
    """The ideal row runs the same kernels with no allocation call."""
    plan = hand_over(row("111"), BLOCK)
    plan = make_plan(plan.steps, row=Baseline.PREALLOCATED, slots=(BLOCK, BLOCK), slot_of=(0, 1))
    trace = traced(backend, plan)
    assert trace.status is Status.OK
    assert trace.steps is not None
    assert trace.steps.host_begin_ns[0] == -1
    assert trace.makespan_ns[0] == pytest.approx(505_000, rel=0.1)


def test_ahead_issues_everything_before_anything_runs(backend: CudaBackend) -> None:
    """Under `issue: ahead` no kernel begins before the last step was issued."""
    steps: list[st.Step] = [spin(k % 2, 20) for k in range(100)]
    trace = traced(backend, make_plan(steps, row=row("111"), issue=Issue.AHEAD))
    assert trace.status is Status.OK
    assert trace.steps is not None
    assert trace.steps.device_begin_ns.min() > trace.steps.host_end_ns.max()
    assert {latch.stream for latch in trace.latches} == {0, 1}
    assert trace.makespan_ns[0] == pytest.approx(1_050_000, rel=0.15)


def test_copies_are_bracketed_and_right(backend: CudaBackend) -> None:
    """A pinned 64 MiB copy to the device takes about the bus's time, device axis and host apart."""
    lasting = [BufferSpec(name="in", size=BLOCK, memory=MemoryKind.PINNED)]
    steps = [
        st.Alloc(stream=0, buffer=0, size=BLOCK),
        st.Memcpy(stream=0, kind=CopyKind.H2D, dst=0, src=1, size=BLOCK),
        st.Memset(stream=0, buffer=0, value=3, size=BLOCK),
        st.Memcpy(stream=0, kind=CopyKind.D2H, dst=1, src=0, size=BLOCK),
        st.Free(stream=0, buffer=0),
    ]
    trace = traced(backend, make_plan(steps, row=row("111"), lasting=lasting, max_size=BLOCK))
    assert trace.status is Status.OK, trace.reason
    assert trace.steps is not None
    span = trace.steps.device_end_ns - trace.steps.device_begin_ns
    assert 10 < BLOCK / span[1] < 70
    assert 10 < BLOCK / span[3] < 70
    assert BLOCK / span[2] > 500


def test_memory_kernels_reach_a_fair_part_of_the_bandwidth(backend: CudaBackend) -> None:
    """A `stream` kernel over 1 GiB moves at more than half of what a plain copy does."""
    size = 1024 * MIB
    grid = st.Grid(share=1.0)
    steps = [
        st.Alloc(stream=0, buffer=0, size=size),
        st.Alloc(stream=0, buffer=1, size=size),
        *[
            st.Launch(stream=0, work=st.Touch(reads=(0,), writes=(1,)), grid=grid, buffers=(0, 1))
            for _ in range(5)
        ],
        st.Launch(stream=0, work=st.Compute(flops=10**11), grid=grid),
        st.Free(stream=0, buffer=0),
        st.Free(stream=0, buffer=1),
    ]
    trace = traced(backend, make_plan(steps, row=row("111"), max_size=4 * size))
    assert trace.status is Status.OK, trace.reason
    assert trace.steps is not None
    span = trace.steps.device_end_ns - trace.steps.device_begin_ns
    print("touch GB/s", 2 * size / span[4:7], "compute TFLOP/s", 1e11 / span[7] / 1e3)
    assert 2 * size / span[6] > 2000


def test_a_kernel_that_writes_out_of_bounds_costs_one_case(backend: CudaBackend) -> None:
    """A sticky error is a status with a reason; the next run works in a fresh worker."""
    bad = KernelSource(
        name="bad",
        entry="bad",
        text='extern "C" __global__ void bad(int *p) { p[1ull << 40] = 1; }',
        predicted_ns=None,
    )
    steps = [
        st.Alloc(stream=0, buffer=0, size=MIB),
        st.Launch(
            stream=0,
            work=st.Custom(kernel=0, arguments=(0,)),
            grid=st.Grid(blocks=1, threads=1),
            buffers=(0,),
        ),
        st.Free(stream=0, buffer=0),
    ]
    trace = traced(backend, make_plan(steps, row=row("111"), kernels=[bad], max_size=BLOCK))
    assert trace.status is Status.ERROR
    assert "ILLEGAL_ADDRESS" in trace.reason
    assert traced(backend, hand_over(row("111"), BLOCK)).status is Status.OK


def test_a_kernel_that_does_not_compile_shows_the_log(backend: CudaBackend) -> None:
    """NVRTC's log is the reason."""
    bad = KernelSource(name="bad", entry="bad", text="void bad( { }", predicted_ns=None)
    trace = traced(backend, make_plan([spin(0, 1)], row=row("111"), kernels=[bad]))
    assert trace.status is Status.ERROR
    assert "error" in trace.reason
    assert "bad.cu" in trace.reason


def test_a_run_over_the_time_limit_is_killed() -> None:
    """A hang costs its case; the next run gets a fresh worker."""
    backend = CudaBackend(time_limit_s=3)
    try:
        slow = make_plan([spin(0, 8_000_000)], row=row("111"))
        assert traced(backend, slow).status is Status.TIMEOUT
        assert traced(backend, hand_over(row("111"), BLOCK)).status is Status.OK
    finally:
        backend.close()


def test_iterations_share_the_pool(backend: CudaBackend) -> None:
    """Growth is paid in the first iteration only."""
    plan = hand_over(row("111"), 4 * BLOCK, busy_us=50)
    plan = make_plan(plan.steps, row=row("111"), max_size=4 * BLOCK, n_iterations=3)
    trace = traced(backend, plan)
    assert trace.steps is not None
    kinds = [OUTCOMES[int(code)] for code in trace.steps.outcome if code >= 0]
    assert kinds[:2] == [Outcome.GROWN, Outcome.GROWN]
    assert Outcome.GROWN not in kinds[2:]
    assert trace.makespan_ns.shape == (3,)
    assert (trace.makespan_ns > 0).all()


def test_more_launches_than_the_queue_holds_are_let_go(backend: CudaBackend) -> None:
    """Behind a held stream the host blocks at some 1020 launches; the watchdog frees it."""
    steps: list[st.Step] = [st.Hold(stream=0, ticket=1)]
    steps += [spin(0, 1) for _ in range(1500)]
    steps += [st.Release(stream=0, ticket=1)]
    trace = traced(backend, make_plan(steps, row=row("111")))
    assert trace.status is Status.OK
    assert trace.latches[0].by_watchdog
