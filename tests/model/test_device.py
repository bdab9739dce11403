"""What the model's device does: kernels, copies, and what stands in memory.

The bounds leave room around what was measured on an H200, so that a profile may be refined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import (
    CopyKind,
    MemoryKind,
    Outcome,
    Pass,
    StreamPriority,
)
from poolbench.plan.plan import BufferSpec, Plan
from poolbench.plan.steps import (
    Alloc,
    Callback,
    Check,
    Compute,
    Fill,
    Grid,
    Launch,
    Memcpy,
    Memset,
    Spin,
    Step,
    Touch,
)
from tests.analysis.hand_made import MIB
from tests.cuda.plans import make_plan, row
from tests.model.predicted import CHUNK, predict, predict_plan

Steps = list[tuple[Any, ...]]
US = 1000


def spin(stream: int, us: int, grid: Grid | None = None) -> Launch:
    return Launch(stream=stream, work=Spin(duration_ns=us * US), grid=grid or Grid(blocks=1))


def spans(plan: Plan) -> list[tuple[float, float]]:
    """(begin, end) of every step in microseconds."""
    steps = predict_plan(plan).steps
    begins, ends = steps.device_begin_ns / US, steps.device_end_ns / US
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


# --- kernels --------------------------------------------------------------------------------


def device_buffers(*sizes: int) -> list[BufferSpec]:
    return [
        BufferSpec(name=f"d{index}", size=size, memory=MemoryKind.DEVICE)
        for index, size in enumerate(sizes)
    ]


def one_kernel_us(step: Step, *sizes: int) -> float:
    ((begin, end),) = spans(make_plan([step], row=row("111"), lasting=device_buffers(*sizes)))
    return end - begin


def test_spin_takes_its_time() -> None:
    """Exactly what the scenario says."""
    assert one_kernel_us(spin(0, 123)) == pytest.approx(123)


def test_touch_goes_by_bytes_and_share() -> None:
    """256 MiB read and 256 written at 3 to 5 TB/s; a quarter of the device takes four times."""
    work = Touch(reads=(0,), writes=(1,))
    sizes = (256 * MIB, 256 * MIB)
    full = one_kernel_us(Launch(stream=0, work=work, grid=Grid(share=1.0)), *sizes)
    assert 107 <= full <= 180
    quarter = one_kernel_us(Launch(stream=0, work=work, grid=Grid(share=0.25)), *sizes)
    assert quarter == pytest.approx(4 * full, rel=0.05)


def test_compute_goes_by_operations_and_share() -> None:
    """1e9 operations at 45 to 62 TFLOP/s."""
    work = Compute(flops=1_000_000_000)
    full = one_kernel_us(Launch(stream=0, work=work, grid=Grid(share=1.0)))
    assert 16 <= full <= 23
    half = one_kernel_us(Launch(stream=0, work=work, grid=Grid(share=0.5)))
    assert half == pytest.approx(2 * full, rel=0.05)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.25, 0.75)])
def test_shares_that_fit_run_side_by_side(shares: tuple[float, float]) -> None:
    """Two halves of the device are one device."""
    plan = make_plan(
        [spin(index, 300, Grid(share=share)) for index, share in enumerate(shares)], row=row("111")
    )
    first, second = spans(plan)
    assert second[0] < first[0] + 50


def test_shares_that_do_not_fit_run_one_after_the_other() -> None:
    """The whole device twice is one after the other; of two thirds the second is over as late."""
    plan = make_plan([spin(index, 300, Grid(share=1.0)) for index in range(2)], row=row("111"))
    first, second = spans(plan)
    assert second[0] >= first[1]
    plan = make_plan([spin(index, 300, Grid(share=2 / 3)) for index in range(2)], row=row("111"))
    first, second = spans(plan)
    assert second[1] >= first[1] + 290


def test_device_takes_so_many_threads() -> None:
    """132 x 2048 threads run at once, one block more waits for room."""
    full = Grid(blocks=264, threads=1024)
    plan = make_plan(
        [spin(0, 300, full), spin(1, 300, Grid(blocks=1, threads=1024))], row=row("111")
    )
    first, second = spans(plan)
    assert second[0] >= first[1]
    some = Grid(blocks=263, threads=1024)
    plan = make_plan(
        [spin(0, 300, some), spin(1, 300, Grid(blocks=1, threads=1024))], row=row("111")
    )
    first, second = spans(plan)
    assert second[0] < first[1]


def test_high_priority_goes_first_when_there_is_a_queue() -> None:
    """Three kernels wait for the whole device: the one of the high-priority stream is next."""
    whole = Grid(share=1.0)
    steps = [spin(0, 500, whole), spin(1, 100, whole), spin(2, 100, whole)]
    plan = make_plan(steps, row=row("111"), n_streams=3)
    high = replace(plan.streams[2], priority=StreamPriority.HIGH)
    _, normal, first = spans(replace(plan, streams=(*plan.streams[:2], high)))
    assert first[1] <= normal[0]
    _, normal, first = spans(plan)
    assert normal[1] <= first[0]


def test_kernels_of_a_stream_follow_each_other_closely() -> None:
    """Between two kernels that were queued in time lie one to two microseconds."""
    first, second = spans(make_plan([spin(0, 200), spin(0, 200)], row=row("111")))
    assert 0.8 <= second[0] - first[1] <= 2.5


# --- copies ---------------------------------------------------------------------------------


def copy(stream: int, kind: CopyKind, dst: int, src: int, size: int, **more: bool) -> Memcpy:
    return Memcpy(stream=stream, kind=kind, dst=dst, src=src, size=size, **more)


SIZE = 256 * MIB
BUFFERS = [
    BufferSpec(name="d", size=SIZE, memory=MemoryKind.DEVICE),
    BufferSpec(name="e", size=SIZE, memory=MemoryKind.DEVICE),
    BufferSpec(name="h", size=SIZE, memory=MemoryKind.PINNED),
    BufferSpec(name="p", size=SIZE, memory=MemoryKind.PAGEABLE),
]


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (copy(0, CopyKind.H2D, 0, 2, SIZE), 55.3),
        (copy(0, CopyKind.D2H, 2, 0, SIZE), 55.1),
        (copy(0, CopyKind.D2D, 0, 1, SIZE), 1800),
        (Memset(stream=0, buffer=0, value=0, size=SIZE), 4100),
    ],
    ids=["h2d", "d2h", "d2d", "memset"],
)
def test_copies_have_their_measured_rates(step: Step, rate: float) -> None:
    """Bytes per nanosecond, that is GB/s."""
    ((begin, end),) = spans(make_plan([step], row=row("111"), lasting=BUFFERS))
    assert SIZE / ((end - begin) * US) == pytest.approx(rate, rel=0.15)


def test_pageable_copy_keeps_the_host() -> None:
    """29 to 37 ms for 256 MiB; a pinned copy returns at once."""
    pageable = make_plan(
        [copy(0, CopyKind.H2D, 0, 3, SIZE, is_pageable=True)], row=row("111"), lasting=BUFFERS
    )
    pinned = make_plan([copy(0, CopyKind.H2D, 0, 2, SIZE)], row=row("111"), lasting=BUFFERS)
    took = [
        (found.steps.host_end_ns[0] - found.steps.host_begin_ns[0]) / US
        for found in map(predict_plan, (pageable, pinned))
    ]
    assert 25_000 < took[0] < 45_000
    assert took[1] < 20


def test_copies_of_one_direction_queue_and_of_two_do_not() -> None:
    """One engine each way, first come, first served."""
    same = make_plan(
        [copy(0, CopyKind.H2D, 0, 2, SIZE), copy(1, CopyKind.H2D, 1, 2, SIZE)],
        row=row("111"),
        lasting=BUFFERS,
    )
    first, second = spans(same)
    assert second[1] - first[1] > 4000
    both = make_plan(
        [copy(0, CopyKind.H2D, 0, 2, SIZE), copy(1, CopyKind.D2H, 2, 1, SIZE)],
        row=row("111"),
        lasting=BUFFERS,
    )
    first, second = spans(both)
    assert abs(second[1] - first[1]) < 500


# --- what stands in memory ------------------------------------------------------------------


def test_memory_in_use_twice_is_found_corrupt() -> None:
    """A free on another stream without order lets a third write into what is still checked."""
    whole = 64 * MIB
    found = predict(
        [
            ("alloc", "x", "a", whole),
            ("fill", "x", "a"),
            ("kernel", "a", 500),
            ("free", "x", "b"),
            ("host", 100),
            ("alloc", "y", "b", whole),
            ("fill", "y", "b"),
            ("kernel", "b", 600),
        ]
    )
    assert found.address("x") == found.address("y")
    plan = found.plan
    check = Check(stream=0, buffer=0, seed=1, size=whole)
    racing = replace(
        plan,
        steps=(*plan.steps, check),
        origin=(*plan.origin, 0),
        names=(*plan.names, "x"),
    )
    trace = ModelBackend().run(racing, measured=Pass.TIMED, repetition=0)
    assert trace.n_corrupt == {len(plan.steps): whole}


def test_ordered_use_is_not_corrupt() -> None:
    """Every check is in the trace, with nothing to report."""
    steps: Steps = [
        ("alloc", "x", "a", MIB),
        ("fill", "x", "a"),
        ("check", "x", "a"),
        ("free", "x", "a"),
    ]
    found = predict(steps, iterations=2)
    assert found.trace.n_corrupt == {2: 0, 6: 0}
    assert isinstance(found.plan.steps[1], Fill)


@pytest.mark.parametrize(
    ("kind", "n_chunks", "least", "most"),
    [
        (CopyKind.D2H, 1, 1_000, 1_400),
        (CopyKind.D2H, 2, 2_000, 2_400),
        (CopyKind.D2H, 8, 4_500, 5_500),
        (CopyKind.H2D, 2, 0, 500),
    ],
)
def test_growth_waits_for_a_copy_to_the_host(
    kind: CopyKind, n_chunks: int, least: float, most: float
) -> None:
    """256 MiB to the host take 4.9 ms; growing the pool meanwhile waits 1 ms for each chunk, until
    the copy is over.  A copy to the device is not in the way."""
    dst, src = (3, 1) if kind is CopyKind.D2H else (1, 3)
    plan = make_plan(
        [copy(0, kind, dst, src, SIZE), Alloc(stream=1, buffer=0, size=n_chunks * CHUNK)],
        row=row("111"),
        lasting=BUFFERS,
    )
    steps = predict_plan(plan).steps
    took = (steps.host_end_ns[1] - steps.host_begin_ns[1]) / US
    assert least <= took <= most


# --- host functions -------------------------------------------------------------------------


def test_a_host_function_keeps_its_stream_and_not_the_host() -> None:
    """What is behind it starts after it; the call returns at once; other streams go on."""
    plan = make_plan(
        [Callback(stream=0, duration_ns=300 * US), spin(0, 10), spin(1, 10)], row=row("111")
    )
    steps = predict_plan(plan).steps
    function, behind, beside = spans(plan)
    assert function[1] - function[0] >= 300
    assert behind[0] >= function[1]
    assert beside[1] < function[1]
    assert steps.host_end_ns[0] - steps.host_begin_ns[0] < 20 * US


def test_host_functions_of_two_streams_take_turns() -> None:
    """One thread calls them all."""
    steps = [Callback(stream=index, duration_ns=200 * US) for index in range(2)]
    first, second = spans(make_plan(steps, row=row("111")))
    assert max(first[1], second[1]) - min(first[0], second[0]) >= 400


def test_a_free_behind_a_host_function_is_pending_until_it_returns() -> None:
    """To the pool it is work like any other."""
    found = predict(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("callback", "a", 400),
            ("free", "x", "a"),
            ("alloc", "y", "b", 64 * MIB),
            ("free", "y", "b"),
        ],
        max_size=64 * MIB,
    )
    assert found.outcome("y") is Outcome.INTERNAL_DEPENDENCY
    assert found.device_us("y") >= 350
