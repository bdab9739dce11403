"""Plans with little in them."""

from __future__ import annotations

from poolbench.domain import Case, Issue, OnOom, StreamKind, StreamPriority
from poolbench.plan.plan import BufferSpec, Plan, StepPlace, StreamSpec
from poolbench.plan.steps import Alloc, Free, Step, SyncDevice


def plan_of(case: Case, steps: tuple[Step, ...], names: tuple[str, ...]) -> Plan:
    """A plan with one stream `a` and one buffer `x`; step k stands in line 10 + k."""
    return Plan(
        case=case,
        steps=steps,
        origin=tuple(range(len(steps))),
        names=names,
        places=tuple(
            StepPlace(line=10 + k, column=3, kind="", label="") for k in range(len(steps))
        ),
        streams=(
            StreamSpec(name="a", kind=StreamKind.NON_BLOCKING, priority=StreamPriority.NORMAL),
        ),
        buffers=(BufferSpec(name="x", size=4096, alloc_step=0, free_step=1),),
        events=(),
        kernels=(),
        n_iterations=2,
        max_size=0,
        release_threshold=0,
        prime=0,
        leave_free=None,
        on_oom=OnOom.FAIL,
        issue=Issue.LIVE,
        pace_ns=0,
        latch_limit_ns=10**8,
    )


def empty_plan(case: Case) -> Plan:
    return plan_of(case, (), ())


def small_plan(case: Case) -> Plan:
    """Allocate, free, synchronise."""
    steps = (Alloc(stream=0, buffer=0, size=4096), Free(stream=0, buffer=0), SyncDevice())
    return plan_of(case, steps, ("x", "x", ""))
