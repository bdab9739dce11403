"""How a case ended, from how each of its runs ended.

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from poolbench.domain import Pass, Status
from poolbench.findings import Failure
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc
from poolbench.trace import NONE, Trace
from poolbench.units import format_size

SEVERITY = (
    Status.CORRUPTED,
    Status.ERROR,
    Status.TIMEOUT,
    Status.OUT_OF_MEMORY,
    Status.UNSUPPORTED,
    Status.SKIPPED,
    Status.OK,
)
"""The first of equally frequent statuses is the case's."""


def traced_of(traces: Sequence[Trace]) -> Trace | None:
    """The traced run that has steps; the first ok one if there are several."""
    traced = [trace for trace in traces if trace.steps is not None]
    return min(traced, key=lambda trace: trace.status is not Status.OK, default=None)


def status_of(traces: Sequence[Trace]) -> Status:
    """`ok` only if every run was.  Corruption outranks everything; then the traced run decides,
    then the most frequent fault."""
    faults = Counter(trace.status for trace in traces if trace.status is not Status.OK)
    if not traces:
        return Status.SKIPPED
    if not faults:
        return Status.OK
    if Status.CORRUPTED in faults:
        return Status.CORRUPTED
    traced = [trace for trace in traces if trace.measured is Pass.TRACED]
    for trace in traced:
        if trace.status is not Status.OK:
            return trace.status
    return min(faults, key=lambda status: (-faults[status], SEVERITY.index(status)))


def failure_of(plan: Plan, traces: Sequence[Trace]) -> Failure | None:
    """The allocation that ended the run: the traced one's, else the first run's that failed."""
    failed = [trace for trace in traces if trace.failed_row != NONE]
    if not failed or not plan.n_steps:
        return None
    trace = min(failed, key=lambda one: one.measured is not Pass.TRACED)
    row = trace.failed_row
    iteration, step = divmod(row, plan.n_steps)
    alloc = plan.steps[step]
    steps = trace.steps
    reserved, used = trace.reserved_end, trace.used_end
    if steps is not None:
        # The last reading up to the failure; a timed run has only the one at its end.
        read = [index for index in range(row, -1, -1) if steps.reserved[index] != NONE][:1]
        if read:
            reserved, used = int(steps.reserved[read[0]]), int(steps.used[read[0]])
    return Failure(
        allocation=plan.names[step],
        line=plan.place(step).line,
        iteration=iteration,
        asked=alloc.size if isinstance(alloc, Alloc) else 0,
        reserved=reserved,
        used=used,
    )


def describe_failure(failure: Failure) -> str:
    return (
        f"{failure.allocation} (line {failure.line}): asked {format_size(failure.asked)}, "
        f"reserved {format_size(failure.reserved)}, used {format_size(failure.used)}"
    )


def reason_of(plan: Plan, traces: Sequence[Trace], status: Status, failure: Failure | None) -> str:
    """Why the case is not `ok`, in one line; says so where the runs did not agree."""
    if status is Status.OK:
        return ""
    if not traces:
        return "not run"
    if status is Status.OUT_OF_MEMORY and failure is not None:
        reason = describe_failure(failure)
    elif status is Status.CORRUPTED:
        reason = _describe_corruption(plan, traces)
    else:
        reason = next((one.reason for one in traces if one.status is status and one.reason), "")
    return "; ".join(part for part in (reason, _disagreement(traces, status)) if part)


def _describe_corruption(plan: Plan, traces: Sequence[Trace]) -> str:
    for trace in sorted(traces, key=lambda one: one.measured is not Pass.TRACED):
        for row, n_bytes in sorted(trace.n_corrupt.items()):
            if n_bytes:
                step = row % plan.n_steps
                name, line = plan.names[step], plan.place(step).line
                return f"{name} (line {line}): {n_bytes} bytes differ from their fill"
    return next((one.reason for one in traces if one.status is Status.CORRUPTED), "")


def _disagreement(traces: Sequence[Trace], status: Status) -> str:
    """`2 of 5 repetitions`, the traced run named apart; empty where all runs agree."""
    counts = Counter(trace.status for trace in traces)
    if len(counts) == 1:
        return ""
    parts = []
    timed = [trace for trace in traces if trace.measured is Pass.TIMED]
    for kind in SEVERITY:
        n_timed = sum(trace.status is kind for trace in timed)
        if kind is not Status.OK and n_timed:
            what = "" if kind is status else f"{kind} "
            parts.append(f"{what}in {n_timed} of {len(timed)} repetitions")
    for trace in traces:
        if trace.measured is Pass.TRACED:
            what = "" if trace.status is status else f"{trace.status} "
            parts.append(f"{what}in the traced run")
    return ", ".join(parts)
