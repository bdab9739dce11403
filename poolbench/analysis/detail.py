"""Everything that one traced run tells beyond its row of the table, gathered once.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poolbench.analysis.calls import blocked_rows, call_times
from poolbench.analysis.causes import Ahead
from poolbench.analysis.concurrency import concurrency
from poolbench.analysis.memory import asked_high, failed_allocations
from poolbench.analysis.split import IterationSplit, split_iterations
from poolbench.domain import AttributeSet, Status
from poolbench.findings import Detail
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """`splits` are of the iterations that ended.

    blocked
        by row: the call returned only when work of the device was over.
    record_of
        by step of the plan: of a wait or a synchronisation with an event, the record that it waits
        for; -1 elsewhere.
    """

    splits: tuple[IterationSplit, ...]
    detail: Detail
    blocked: npt.NDArray[np.bool_]
    record_of: tuple[int, ...]


def examine(plan: Plan, trace: Trace, *, event_floor_ns: int) -> Traced:
    """`trace` has steps, with their outcomes."""
    steps = trace.steps
    if steps is None or not plan.n_steps:
        nothing = np.zeros(0, dtype=np.bool_)
        return Traced(splits=(), detail=Detail(), blocked=nothing, record_of=())
    ahead = Ahead(plan)
    ended = [k for k, makespan in enumerate(trace.makespan_ns.tolist()) if makespan != NONE]
    steady = [] if trace.status is not Status.OK else ended[1:] or ended
    pairs, serialised = concurrency(plan, ahead, steps, trace.latches, steady)
    blocked = blocked_rows(plan, ahead, steps, trace.latches)
    is_pool = isinstance(plan.case.row, AttributeSet)
    return Traced(
        splits=split_iterations(plan, trace),
        detail=Detail(
            calls=call_times(plan, ahead, steps, trace.latches, blocked),
            pairs=pairs,
            serialised=serialised,
            failed=failed_allocations(plan, steps, event_floor_ns=event_floor_ns),
            asked_high_bytes=asked_high(plan, steps) if is_pool else None,
        ),
        blocked=blocked,
        record_of=tuple(ahead.record_of),
    )
