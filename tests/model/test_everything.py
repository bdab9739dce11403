"""Random plans that use the whole language: the model runs them all, in order and to the end."""

from __future__ import annotations

import numpy as np
import pytest

from poolbench.analysis.outcomes import classify
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import AttributeSet, Issue, Pass, Status
from poolbench.plan.steps import Alloc, Check, Fill, Hold, Launch, Memcpy
from poolbench.trace import NONE, StepTrace
from tests.model.everything import plan_with_everything

BACKEND = ModelBackend()
SEEDS = range(120)


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_to_its_end(seed: int) -> None:
    """Every step is issued or left out by its row; what ran on the device has a beginning and an
    end, after its call; every hold is opened once."""
    plan = plan_with_everything(seed)
    trace = BACKEND.run(plan, measured=Pass.TRACED, repetition=0)
    steps = trace.steps
    assert steps is not None
    assert trace.status in {Status.OK, Status.OUT_OF_MEMORY, Status.CORRUPTED}
    issued = steps.host_begin_ns != NONE
    begins, ends = steps.host_begin_ns[issued], steps.host_end_ns[issued]
    assert (begins[1:] >= ends[:-1]).all()
    for at in np.flatnonzero(issued):
        if isinstance(plan.steps[at % plan.n_steps], Launch | Memcpy | Fill | Check):
            assert steps.host_begin_ns[at] <= steps.device_begin_ns[at] <= steps.device_end_ns[at]
    holds = [at for at in np.flatnonzero(issued) if isinstance(plan.steps[at % plan.n_steps], Hold)]
    opened = [latch.row for latch in trace.latches if latch.row != NONE]
    assert sorted(opened) == holds
    assert all(latch.closed_ns <= latch.opened_ns for latch in trace.latches)
    n_begun = len({at // plan.n_steps for at in np.flatnonzero(issued)})
    if plan.issue is Issue.AHEAD:
        assert len(trace.latches) - len(opened) == n_begun * len(plan.streams)
    if trace.status is not Status.OUT_OF_MEMORY:
        assert (trace.makespan_ns > 0).all()
        assert (trace.host_ns > 0).all()
    elif trace.failed_row != NONE:
        assert isinstance(plan.steps[trace.failed_row % plan.n_steps], Alloc)
        assert trace.failed_row == np.flatnonzero(issued).max()
        assert trace.n_out_of_memory == steps.n_failures.sum() >= 1
        assert trace.makespan_ns[n_begun - 1] == NONE


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_both_passes_allocate_alike(seed: int) -> None:
    """A traced run with `000` gets the memory that the timed run gets: only the clock differs."""
    plan = plan_with_everything(seed)
    timed, traced = (
        BACKEND.run(plan, measured=one, repetition=0) for one in (Pass.TIMED, Pass.TRACED)
    )
    row = plan.case.row
    if isinstance(row, AttributeSet) and not row.allow_opportunistic:
        assert timed.status == traced.status
        assert timed.reserved_high == traced.reserved_high
        assert timed.used_high == traced.used_high
        assert timed.failed_row == traced.failed_row
    elif not isinstance(row, AttributeSet):
        assert (timed.reserved_high, timed.used_end) == (0, 0)
    assert timed.steps is None


def test_traces_explain_themselves() -> None:
    """Of all allocations 98 in 100 are classified as the model served them."""
    n_allocs = n_other = 0
    for seed in SEEDS:
        plan = plan_with_everything(seed)
        trace = BACKEND.run(plan, measured=Pass.TRACED, repetition=0)
        steps = trace.steps
        assert isinstance(steps, StepTrace)
        floor = BACKEND.environment().floors.event_pair_ns
        found = classify(plan, steps, event_floor_ns=floor)
        assert ((steps.outcome != NONE) == (found.outcome != NONE)).all()
        n_allocs += int((steps.outcome != NONE).sum())
        n_other += int((steps.outcome != found.outcome).sum())
    assert n_allocs > 1000
    assert n_other <= 0.02 * n_allocs
