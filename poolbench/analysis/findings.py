"""The traces of one case to the row of the table.

Pure.  Traces hold integer nanoseconds, findings microseconds.  What each figure means is written in
`poolbench.columns`; here is how it is come by where that leaves a choice:

- Medians pool all timed repetitions that ended ok, each with its iterations after the first (with
  the only one, if there is one).
- Counts and host times of single calls come from the traced run, whatever its status: what was
  never issued does not count.
- High marks and the number of latches that the watchdog opened are the largest of any run, traced
  or timed; corrupt bytes are the sum over all runs.  These are questions of "did it ever".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from poolbench.analysis.detail import Traced, examine
from poolbench.analysis.split import PARTS, IterationSplit
from poolbench.analysis.statistics import iqr_us, max_us, median_us, min_us
from poolbench.analysis.verdict import failure_of, reason_of, status_of, traced_of
from poolbench.domain import OUTCOMES, AttributeSet, Baseline, Outcome, Pass, Status
from poolbench.findings import CaseResult, Findings, InsertedWait
from poolbench.plan.plan import Plan
from poolbench.plan.steps import (
    BUSY_STEPS,
    Alloc,
    Check,
    Free,
    Step,
    SyncDevice,
    SyncEvent,
    SyncStream,
)
from poolbench.results.environment import Floors
from poolbench.trace import NONE, StepTrace, Trace

_SYNCS = (SyncStream, SyncEvent, SyncDevice)


def find(
    plan: Plan,
    traces: Sequence[Trace],
    *,
    floors: Floors,
    set_aside: Collection[int] = (),
    examined: Traced | None = None,
) -> CaseResult:
    """Everything that the traces of one case (timed, traced and control, no warm-ups) show.

    `set_aside` are timed blocks whose times do not count.  `examined` is what `detail.examine`
    found in the traced run, if that is known already.
    """
    status = status_of(traces)
    failure = failure_of(plan, traces) if status is not Status.OK else None
    traced = traced_of(traces)
    is_pool = isinstance(plan.case.row, AttributeSet)
    has_run = any(trace.status not in (Status.SKIPPED, Status.UNSUPPORTED) for trace in traces)
    waits: tuple[InsertedWait, ...] = ()
    if traced is not None and traced.steps is not None:
        if examined is None:
            examined = examine(plan, traced, event_floor_ns=floors.event_pair_ns)
        waits = inserted_waits(
            plan, traced.steps, examined.splits, event_floor_ns=floors.event_pair_ns
        )
    return CaseResult(
        case=plan.case,
        release_threshold=plan.release_threshold if is_pool else None,
        status=status,
        reason=reason_of(plan, traces, status, failure),
        findings=_findings(plan, traces, traced, waits, set_aside, examined) if has_run else None,
        samples_us=samples_us(traces, Pass.TIMED, set_aside),
        control_us=samples_us(traces, Pass.CONTROL, set_aside),
        waits=waits,
        failure=failure,
        detail=examined.detail if examined is not None else None,
    )


def samples_us(
    traces: Sequence[Trace], measured: Pass, set_aside: Collection[int]
) -> tuple[float | None, ...]:
    """By block, from the first on."""
    found: dict[int, float | None] = {}
    for trace in traces:
        if trace.measured is measured:
            is_good = trace.status is Status.OK and trace.repetition not in set_aside
            found[trace.repetition] = median_us(_steady(trace.makespan_ns)) if is_good else None
    return tuple(found.get(block) for block in range(1, max(found, default=0) + 1))


def rows_of(plan: Plan, steps: StepTrace, kinds: tuple[type[Step], ...]) -> npt.NDArray[np.int64]:
    """Rows of steps of these kinds that were issued, in order."""
    if not plan.n_steps:
        return np.empty(0, dtype=np.int64)
    is_kind = np.array([isinstance(step, kinds) for step in plan.steps], dtype=bool)
    n_iterations = -(-len(steps.host_begin_ns) // plan.n_steps)
    mask = np.tile(is_kind, n_iterations)[: len(steps.host_begin_ns)]
    return np.flatnonzero(mask & (steps.host_begin_ns != NONE))


def inserted_waits(
    plan: Plan, steps: StepTrace, splits: Sequence[IterationSplit], *, event_floor_ns: int
) -> tuple[InsertedWait, ...]:
    """The allocations that the driver made wait, with what they waited for."""
    internal = np.flatnonzero(steps.outcome == OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY))
    on_path: dict[int, int] = {}
    for split in splits:
        on_path |= split.waits
    return tuple(
        _inserted_wait(plan, steps, int(row), event_floor_ns, on_path.get(int(row), 0))
        for row in internal
    )


def _inserted_wait(
    plan: Plan, steps: StepTrace, row: int, floor_ns: int, on_path_ns: int
) -> InsertedWait:
    iteration, step = divmod(row, plan.n_steps)
    alloc = plan.steps[step]
    assert isinstance(alloc, Alloc)
    begin, end = int(steps.device_begin_ns[row]), int(steps.device_end_ns[row])
    free_of, free_line, free_stream = "", 0, ""
    free_row = int(steps.waited_for[row])
    if free_row != NONE:
        free_step = free_row % plan.n_steps
        freed = plan.steps[free_step]
        assert isinstance(freed, Free)
        free_of = plan.buffers[freed.buffer].name
        free_line = plan.place(free_step).line
        free_stream = plan.streams[freed.stream].name
    wait_us = max(0, end - begin - floor_ns) / 1000 if begin != NONE else 0.0
    return InsertedWait(
        allocation=plan.names[step],
        line=plan.place(step).line,
        iteration=iteration,
        stream=plan.streams[alloc.stream].name,
        free_of=free_of,
        free_line=free_line,
        free_stream=free_stream,
        wait_us=wait_us,
        on_path_us=min(wait_us, on_path_ns / 1000),
    )


def _steady(values: npt.NDArray[np.int64]) -> list[int]:
    """Iterations after the first, or the only one."""
    return [int(value) for value in (values[1:] if len(values) > 1 else values)]


def _findings(
    plan: Plan,
    traces: Sequence[Trace],
    traced: Trace | None,
    waits: tuple[InsertedWait, ...],
    set_aside: Collection[int],
    examined: Traced | None,
) -> Findings:
    timed = [
        trace
        for trace in traces
        if trace.measured is Pass.TIMED
        and trace.status is Status.OK
        and trace.repetition not in set_aside
    ]
    makespans = [value for trace in timed for value in _steady(trace.makespan_ns)]
    colds = [int(trace.makespan_ns[0]) for trace in timed if len(trace.makespan_ns) > 1]
    is_pool = isinstance(plan.case.row, AttributeSet)
    has_graphs = is_pool and bool(plan.graphs)
    steps = traced.steps if traced is not None else None
    counts = dict.fromkeys(OUTCOMES, 0)
    allocs: list[int] = []
    frees: list[int] = []
    syncs: list[int] = []
    if steps is not None:
        counts = count_outcomes(steps)
        syncs = _host_ns(plan, steps, _SYNCS)
        if plan.case.row is not Baseline.PREALLOCATED:
            allocs = _host_ns(plan, steps, (Alloc,))
            frees = _host_ns(plan, steps, (Free,))
    makespan = median_us(makespans)
    return Findings(
        repeats=len(timed),
        makespan_us_median=makespan,
        makespan_us_min=min_us(makespans),
        makespan_us_iqr=iqr_us(makespans),
        makespan_cold_us_median=median_us(colds),
        host_us_median=median_us([ns for trace in timed for ns in _steady(trace.host_ns)]),
        alloc_host_us_median=median_us(allocs),
        alloc_host_us_max=max_us(allocs),
        free_host_us_median=median_us(frees),
        sync_host_us_median=median_us(syncs),
        sync_host_us_max=max_us(syncs),
        n_allocs=len(allocs),
        n_inserted_waits=len(waits),
        inserted_wait_us_total=sum(wait.wait_us for wait in waits),
        n_same_stream=counts[Outcome.SAME_STREAM],
        n_host_ordered=counts[Outcome.HOST_ORDERED],
        n_event_ordered=counts[Outcome.EVENT_ORDERED],
        n_opportunistic=counts[Outcome.OPPORTUNISTIC],
        n_slack=counts[Outcome.SLACK],
        n_remapped=counts[Outcome.REMAPPED],
        n_grown=counts[Outcome.GROWN],
        n_internal_dependency=counts[Outcome.INTERNAL_DEPENDENCY],
        n_out_of_memory=_n_out_of_memory(traces, traced),
        reserved_high_bytes=max(one.reserved_high for one in traces) if is_pool else None,
        used_high_bytes=max(one.used_high for one in traces) if is_pool else None,
        overlap=_overlap(plan, traced),
        tracing_ratio=_tracing_ratio(traced, makespan),
        n_latch_timeouts=max(sum(one.by_watchdog for one in trace.latches) for trace in traces),
        n_corrupt_bytes=_n_corrupt(plan, traces),
        graph_reserved_high_bytes=max(one.graph_reserved_high for one in traces)
        if has_graphs
        else None,
        graph_used_high_bytes=max(one.graph_used_high for one in traces) if has_graphs else None,
        asked_high_bytes=examined.detail.asked_high_bytes if examined is not None else None,
        **_of_traced(traced, examined),
    )


def _of_traced(traced: Trace | None, examined: Traced | None) -> dict[str, float]:
    """`path_<part>_us` and `lost_overlap_us`: means of the steady iterations of a traced run that
    ended ok."""
    if traced is None or traced.status is not Status.OK or examined is None:
        return {}
    found: dict[str, float] = {}
    if examined.detail.pairs:
        found["lost_overlap_us"] = sum(pair.lost_us for pair in examined.detail.pairs)
    steady = examined.splits[1:] or examined.splits
    if not steady:
        return found
    return found | {
        f"path_{part}_us": sum(split.parts[part] for split in steady) / len(steady) / 1000
        for part in PARTS
    }


def count_outcomes(steps: StepTrace) -> dict[Outcome, int]:
    return {
        outcome: int(np.count_nonzero(steps.outcome == code))
        for code, outcome in enumerate(OUTCOMES)
    }


def _host_ns(plan: Plan, steps: StepTrace, kinds: tuple[type[Step], ...]) -> list[int]:
    rows = rows_of(plan, steps, kinds)
    rows = rows[steps.host_end_ns[rows] != NONE]
    spans: list[int] = (steps.host_end_ns[rows] - steps.host_begin_ns[rows]).tolist()
    return spans


def _n_out_of_memory(traces: Sequence[Trace], traced: Trace | None) -> int:
    """Failed calls of the traced run; without one, the most of any timed run."""
    if traced is not None and traced.steps is not None:
        return max(traced.n_out_of_memory, int(traced.steps.n_failures.sum()))
    return max(trace.n_out_of_memory for trace in traces)


def _overlap(plan: Plan, traced: Trace | None) -> float | None:
    """Steady iterations of a traced run that ended ok; a run cut short has no makespan."""
    if traced is None or traced.steps is None or traced.status is not Status.OK:
        return None
    steps = traced.steps
    makespan = sum(_steady(traced.makespan_ns))
    first_row = plan.n_steps if len(traced.makespan_ns) > 1 else 0
    rows = rows_of(plan, steps, BUSY_STEPS)
    rows = rows[(rows >= first_row) & (steps.device_begin_ns[rows] != NONE)]
    busy = int((steps.device_end_ns[rows] - steps.device_begin_ns[rows]).sum())
    return busy / makespan if makespan > 0 else None


def _tracing_ratio(traced: Trace | None, makespan: float | None) -> float | None:
    if traced is None or traced.status is not Status.OK or not makespan:
        return None
    disturbed = median_us(_steady(traced.makespan_ns))
    return disturbed / makespan if disturbed is not None else None


def _n_corrupt(plan: Plan, traces: Sequence[Trace]) -> int | None:
    if not any(isinstance(step, Check) for step in plan.steps):
        return None
    return sum(n_bytes for trace in traces for n_bytes in trace.n_corrupt.values())
