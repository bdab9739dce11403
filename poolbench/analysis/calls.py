"""How long the host was in the driver, by kind of call.

Pure.  Allocations are told apart by what they cost: a block that was there, memory that had to be
mapped, or a failure.  A call *blocked* if it returned only when work of the device was over: a
synchronisation (explicit, or one that the call implies) that found something to wait for, a failed
allocation that the program retried behind a synchronisation, or a call during which the watchdog
had to open a latch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from poolbench.analysis.causes import Ahead, Iteration
from poolbench.analysis.statistics import max_us, median_us, percentile_us
from poolbench.domain import OUTCOMES, Baseline, OnOom, Outcome
from poolbench.findings import CallTimes
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, LatchOpening, StepTrace


class CallKind(StrEnum):
    """In the order in which they are shown."""

    HIT = "alloc, from the pool"
    GROWTH = "alloc, memory mapped"
    FAILED = "alloc, failed"
    PLAIN_ALLOC = "cuMemAlloc"
    FREE = "free"
    PLAIN_FREE = "cuMemFree"
    SYNC = "sync"
    QUERY = "query"
    LAUNCH = "launch"
    COPY = "copy, memset"
    CALLBACK = "host function"
    GRAPH = "graph launch"
    EVENT = "event record, wait"
    OTHER = "other"


_MAPPED = frozenset(OUTCOMES.index(one) for one in (Outcome.GROWN, Outcome.REMAPPED))
_BY_STEP: dict[type, CallKind] = {
    st.SyncStream: CallKind.SYNC,
    st.SyncEvent: CallKind.SYNC,
    st.SyncDevice: CallKind.SYNC,
    st.QueryStream: CallKind.QUERY,
    st.QueryEvent: CallKind.QUERY,
    st.Launch: CallKind.LAUNCH,
    st.Fill: CallKind.LAUNCH,
    st.Check: CallKind.LAUNCH,
    st.Hold: CallKind.LAUNCH,
    st.Memcpy: CallKind.COPY,
    st.Memset: CallKind.COPY,
    st.Callback: CallKind.CALLBACK,
    st.LaunchGraph: CallKind.GRAPH,
    st.Record: CallKind.EVENT,
    st.Wait: CallKind.EVENT,
}
_NO_CALL = (st.HostWork, st.Sample, st.Release)


def call_times(
    plan: Plan,
    ahead: Ahead,
    steps: StepTrace,
    latches: tuple[LatchOpening, ...],
    blocked_at: npt.NDArray[np.bool_],
) -> tuple[CallTimes, ...]:
    """Each kind that occurs: the first iteration apart where there are several, then the others.

    `blocked_at` are the `blocked_rows`.
    """
    n_iterations = len(steps.host_begin_ns) // plan.n_steps if plan.n_steps else 0
    spans: dict[tuple[bool, CallKind], list[int]] = {}
    blocked: dict[tuple[bool, CallKind], int] = {}
    for iteration in range(n_iterations):
        at = Iteration(plan, ahead, steps, latches, iteration)
        is_first = iteration == 0 and n_iterations > 1
        for index, step in enumerate(plan.steps):
            begin, end = at.host_begin[index], at.host_end[index]
            kind = _kind_of(plan, at, index, step)
            if kind is None or NONE in (begin, end):
                continue
            spans.setdefault((is_first, kind), []).append(end - begin)
            if blocked_at[at.first + index]:
                blocked[is_first, kind] = blocked.get((is_first, kind), 0) + 1
    order = list(CallKind)
    keys = sorted(spans, key=lambda key: (not key[0], order.index(key[1])))
    return tuple(_times(key, spans[key], blocked.get(key, 0)) for key in keys)


def blocked_rows(
    plan: Plan, ahead: Ahead, steps: StepTrace, latches: tuple[LatchOpening, ...]
) -> npt.NDArray[np.bool_]:
    """By row: whether the host's call returned only when work of the device was over."""
    found = np.zeros(len(steps.host_begin_ns), dtype=np.bool_)
    n_iterations = len(found) // plan.n_steps if plan.n_steps else 0
    for iteration in range(n_iterations):
        at = Iteration(plan, ahead, steps, latches, iteration)
        for index in range(plan.n_steps):
            if NONE not in (at.host_begin[index], at.host_end[index]):
                found[at.first + index] = _has_blocked(plan, at, index, latches)
    return found


def _kind_of(plan: Plan, at: Iteration, index: int, step: st.Step) -> CallKind | None:
    if isinstance(step, _NO_CALL):
        return None
    if not isinstance(step, st.Alloc | st.Free):
        return _BY_STEP.get(type(step), CallKind.OTHER)
    is_alloc = isinstance(step, st.Alloc)
    match plan.case.row:
        case Baseline.PREALLOCATED:
            return None
        case Baseline.CUDAMALLOC:
            return CallKind.PLAIN_ALLOC if is_alloc else CallKind.PLAIN_FREE
    if not is_alloc:
        return CallKind.FREE
    if at.n_failures[index]:
        return CallKind.FAILED
    return CallKind.GROWTH if at.outcome[index] in _MAPPED else CallKind.HIT


def _has_blocked(plan: Plan, at: Iteration, index: int, latches: tuple[LatchOpening, ...]) -> bool:
    begin, end = at.host_begin[index], at.host_end[index]
    if at.n_failures[index] and plan.on_oom is not OnOom.FAIL:
        return True
    if at.awaited_by(index, until=end) != NONE:
        return True
    return any(one.by_watchdog and begin <= one.opened_ns <= end for one in latches)


def _times(key: tuple[bool, CallKind], spans: Sequence[int], n_blocked: int) -> CallTimes:
    is_first, kind = key
    return CallTimes(
        kind=kind.value,
        is_first_iteration=is_first,
        n=len(spans),
        median_us=median_us(spans) or 0.0,
        p95_us=percentile_us(spans, 95) or 0.0,
        p99_us=percentile_us(spans, 99) or 0.0,
        max_us=max_us(spans) or 0.0,
        total_us=sum(spans) / 1000,
        n_blocked=n_blocked,
    )
