"""What holds for every run of the model, on random plans; and that its trace explains itself."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import numpy as np
import pytest

from poolbench.analysis.outcomes import classify
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OUTCOMES, Outcome, Pass, Status
from poolbench.plan.plan import KernelSource, Plan
from poolbench.plan.steps import Alloc, Custom, Free, Grid, Launch
from poolbench.trace import NONE, StepTrace, Trace
from tests.analysis.hand_made import MIB, plan_of
from tests.analysis.random_plans import random_plan
from tests.cuda.plans import make_plan, row
from tests.model.predicted import CHUNK

SEEDS = range(60)
BACKEND = ModelBackend()


def traced(plan: Plan) -> tuple[Trace, StepTrace]:
    trace = BACKEND.run(plan, measured=Pass.TRACED, repetition=0)
    assert trace.steps is not None
    return trace, trace.steps


def rows_of(plan: Plan, steps: StepTrace, kind: type) -> Iterator[tuple[int, int]]:
    """(row, buffer) of what was issued."""
    for row_number, begin in enumerate(steps.host_begin_ns.tolist()):
        step = plan.steps[row_number % plan.n_steps]
        if isinstance(step, kind) and begin != NONE:
            assert isinstance(step, Alloc | Free)
            yield row_number, step.buffer


@pytest.mark.parametrize("seed", SEEDS)
def test_live_blocks_never_overlap(seed: int) -> None:
    """No byte belongs to two allocations between their calls and those of their frees."""
    plan = random_plan(seed)
    _, steps = traced(plan)
    live: dict[int, tuple[int, int]] = {}
    happened = sorted(
        [(at, buffer, True) for at, buffer in rows_of(plan, steps, Alloc)]
        + [(at, buffer, False) for at, buffer in rows_of(plan, steps, Free)]
    )
    for at, buffer, is_alloc in happened:
        if not is_alloc:
            live.pop(buffer, None)
        elif steps.address[at] != NONE:
            begin = int(steps.address[at])
            end = begin + plan.buffers[buffer].size
            assert all(end <= other[0] or other[1] <= begin for other in live.values())
            live[buffer] = (begin, end)


@pytest.mark.parametrize("seed", SEEDS)
def test_pool_figures_are_consistent(seed: int) -> None:
    """Used fits reserved, reserved is whole chunks within the limit, the marks are the peaks."""
    plan = random_plan(seed)
    trace, steps = traced(plan)
    seen = steps.reserved != NONE
    assert (steps.used[seen] <= steps.reserved[seen]).all()
    assert (steps.reserved[seen] % CHUNK == 0).all()
    if plan.max_size:
        assert steps.reserved.max() <= plan.max_size
    assert trace.used_high >= steps.used.max()
    assert trace.reserved_high >= steps.reserved.max()
    if trace.status is Status.OK:
        assert trace.used_end == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_time_goes_forward(seed: int) -> None:
    """Host calls in order, nothing on the device before its call, no step of a stream before the
    one ahead of it."""
    plan = random_plan(seed)
    _, steps = traced(plan)
    issued = steps.host_begin_ns != NONE
    begins, ends = steps.host_begin_ns[issued], steps.host_end_ns[issued]
    assert (ends >= begins).all()
    assert (begins[1:] >= ends[:-1]).all()
    there = steps.device_begin_ns != NONE
    assert (steps.device_end_ns[there] >= steps.device_begin_ns[there]).all()
    assert (steps.device_end_ns[there] >= steps.host_end_ns[there]).all()
    last: dict[int, int] = {}
    for at in np.flatnonzero(there):
        stream = getattr(plan.steps[at % plan.n_steps], "stream")  # noqa: B009
        assert steps.device_begin_ns[at] >= last.get(stream, 0)
        last[stream] = int(steps.device_end_ns[at])


@pytest.mark.parametrize("seed", range(0, 60, 7))
def test_same_plan_gives_the_same_trace(seed: int) -> None:
    """Whatever the repetition, and whatever ran in between."""
    plan = random_plan(seed)
    first, steps = traced(plan)
    traced(random_plan(seed + 1))
    second = BACKEND.run(plan, measured=Pass.TRACED, repetition=3)
    assert second.steps is not None
    for field in dataclasses.fields(StepTrace):
        assert np.array_equal(getattr(steps, field.name), getattr(second.steps, field.name))
    assert (first.makespan_ns == second.makespan_ns).all()
    assert first.latches == second.latches


@pytest.mark.parametrize("seed", range(20))
def test_makespan_covers_the_work(seed: int) -> None:
    """The end event comes after all that the device did in the iteration."""
    plan = random_plan(seed)
    trace, steps = traced(plan)
    for iteration, makespan in enumerate(trace.makespan_ns.tolist()):
        if makespan == NONE:
            continue
        rows = slice(iteration * plan.n_steps, (iteration + 1) * plan.n_steps)
        seen = steps.device_begin_ns[rows] != NONE
        if seen.any():
            first = steps.device_begin_ns[rows][seen].min()
            assert makespan >= steps.device_end_ns[rows][seen].max() - first


def test_reuse_is_explained_by_the_trace() -> None:
    """Classifying the model's traces by addresses and times finds what the model knows of itself,
    in 98 of 100 allocations of random plans, and the free with it."""
    floor = BACKEND.environment().floors.event_pair_ns
    n_allocs = n_other = n_other_free = 0
    for seed in range(150):
        plan = random_plan(seed)
        _, steps = traced(plan)
        found = classify(plan, steps, event_floor_ns=floor)
        issued = steps.outcome != NONE
        assert (issued == (found.outcome != NONE)).all()
        same = steps.outcome == found.outcome
        n_allocs += int(issued.sum())
        n_other += int((issued & ~same).sum())
        n_other_free += int((issued & same & (steps.waited_for != found.waited_for)).sum())
    assert n_allocs > 1500
    assert n_other <= 0.02 * n_allocs
    assert n_other_free <= 0.02 * n_allocs


@pytest.mark.parametrize("bits", ["000", "010", "100", "111"])
def test_no_wait_without_the_attribute(bits: str) -> None:
    """`internal_dependency` appears only where it is allowed, `opportunistic` likewise."""
    for seed in range(20):
        plan = random_plan(seed)
        case = dataclasses.replace(plan.case, row=row(bits))
        _, steps = traced(dataclasses.replace(plan, case=case))
        found = {OUTCOMES[code] for code in steps.outcome.tolist() if code != NONE}
        assert bits[2] == "1" or Outcome.INTERNAL_DEPENDENCY not in found
        assert bits[1] == "1" or Outcome.OPPORTUNISTIC not in found
        assert bits[0] == "1" or Outcome.EVENT_ORDERED not in found


def test_unknown_kernel_is_not_guessed() -> None:
    """A kernel of the scenario's own without a predicted time ends the run before it starts."""
    kernel = KernelSource(name="mine", entry="mine", text="", predicted_ns=None)
    launch = Launch(stream=0, work=Custom(kernel=0, arguments=()), grid=Grid(blocks=1))
    plan = make_plan([launch], row=row("111"), kernels=[kernel])
    trace = BACKEND.run(plan, measured=Pass.TIMED, repetition=0)
    assert trace.status in {Status.SKIPPED, Status.UNSUPPORTED}
    assert "mine" in trace.reason
    known = dataclasses.replace(kernel, predicted_ns=70_000)
    plan = dataclasses.replace(plan, kernels=(known,))
    trace = BACKEND.run(plan, measured=Pass.TIMED, repetition=0)
    assert 70_000 <= trace.makespan_ns[0] <= 90_000


def test_long_plans_are_quick() -> None:
    """A plan of 60 000 steps runs within a few seconds: nothing is searched one by one."""
    steps = []
    for index in range(12_000):
        on = "abc"[index % 3]
        size = (index * 7919 % 61 + 1) * MIB // 4
        steps += [("alloc", f"x{index}", on, size), ("kernel", on, 20), ("record", f"e{on}", on)]
        steps += [("wait", f"e{on}", "abc"[(index + 1) % 3]), ("free", f"x{index}", on)]
    plan = plan_of(steps)
    begun = time.process_time()
    trace = BACKEND.run(plan, measured=Pass.TIMED, repetition=0)
    assert trace.status is Status.OK
    assert time.process_time() - begun < 6
