"""Results and records written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from poolbench.domain import AttributeSet, BackendKind, Case, Status
from poolbench.findings import CaseResult, Failure, Findings, InsertedWait
from poolbench.results.environment import ClockState, Environment, Floors
from poolbench.results.record import RunRecord
from tests.analysis.hand_made import MIB, ROWS

_PLAIN = Findings(
    repeats=5,
    makespan_us_median=100.0,
    makespan_us_min=99.0,
    makespan_us_iqr=1.0,
    makespan_cold_us_median=None,
    host_us_median=50.0,
    alloc_host_us_median=2.0,
    alloc_host_us_max=74.0,
    free_host_us_median=2.0,
    sync_host_us_median=None,
    sync_host_us_max=None,
    n_allocs=2,
    n_inserted_waits=0,
    inserted_wait_us_total=0.0,
    n_same_stream=0,
    n_host_ordered=0,
    n_event_ordered=0,
    n_opportunistic=0,
    n_slack=0,
    n_remapped=0,
    n_grown=2,
    n_internal_dependency=0,
    n_out_of_memory=0,
    reserved_high_bytes=64 * MIB,
    used_high_bytes=64 * MIB,
    overlap=1.0,
    tracing_ratio=1.0,
    n_latch_timeouts=0,
    n_corrupt_bytes=None,
)

FAILURE = Failure(
    allocation="y", line=17, iteration=0, asked=64 * MIB, reserved=64 * MIB, used=64 * MIB
)


def wait_of(free_of: str = "a", free_line: int = 14, wait_us: float = 480.0) -> InsertedWait:
    return InsertedWait(
        allocation="y",
        line=17,
        iteration=0,
        stream="b",
        free_of=free_of,
        free_line=free_line,
        free_stream="a",
        wait_us=wait_us,
    )


def result_of(
    row: str,
    makespan_us: float | None = 100.0,
    iqr_us: float | None = 1.0,
    *,
    axes: tuple[tuple[str, str], ...] = (),
    status: Status = Status.OK,
    reason: str = "",
    waits: tuple[InsertedWait, ...] = (),
    failure: Failure | None = None,
    has_findings: bool = True,
    **changed: Any,
) -> CaseResult:
    """`changed` are fields of `Findings`; those of inserted waits follow from `waits`."""
    findings = replace(
        _PLAIN,
        makespan_us_median=makespan_us,
        makespan_us_iqr=iqr_us,
        n_inserted_waits=len(waits),
        n_internal_dependency=len(waits),
        inserted_wait_us_total=sum(wait.wait_us for wait in waits),
    )
    return CaseResult(
        case=Case(scenario="hand-made", row=ROWS[row], axes=axes),
        release_threshold=0 if isinstance(ROWS[row], AttributeSet) else None,
        status=status,
        reason=reason,
        findings=replace(findings, **changed) if has_findings else None,
        waits=waits,
        failure=failure,
    )


def record_of(
    results: list[CaseResult], *, backend: BackendKind = BackendKind.CUDA, **changed: Any
) -> RunRecord:
    environment = Environment(
        backend=backend.value,
        device="NVIDIA H200",
        driver="580.159.04",
        cuda="13.0",
        compute_capability="9.0",
        n_multiprocessors=132,
        memory_total=139 * 2**30,
        clocks=ClockState(),
        floors=Floors(),
        platform="Linux",
        python="3.12",
        packages=(),
    )
    record = RunRecord(
        scenario="hand-made",
        question="?",
        known="",
        backend=backend,
        backend_reason="",
        command=(),
        seed=1,
        started="2026-12-01T00:00:00Z",
        version="0.1",
        repeats=5,
        warmup=1,
        axes=(),
        n_planned=len(results),
        before=environment,
        after=environment,
        cases=tuple(results),
    )
    return replace(record, **changed)
