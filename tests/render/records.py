"""Records with fixed figures, for everything that shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from poolbench.domain import (
    COMBINATIONS,
    PRESETS,
    AttributeSet,
    BackendKind,
    Baseline,
    Case,
    Row,
    Status,
)
from poolbench.findings import CaseResult, ExpectationResult, Failure, Findings, InsertedWait
from poolbench.results.environment import ClockState, Environment, Floors
from poolbench.results.record import RunRecord

MIB = 2**20
ROWS: tuple[Row, ...] = (Baseline.PREALLOCATED, Baseline.CUDAMALLOC, *COMBINATIONS)
BY_NAME: dict[str, AttributeSet] = {row.name: row for row in (*COMBINATIONS, *PRESETS)}
QUESTION = (
    "Stream a frees the pool's only block while it still works on it; stream b asks for a block "
    "at once, and nothing orders b after a. What does b get, and what does it pay?"
)

FINDINGS = Findings(
    repeats=5,
    makespan_us_median=1046.25,
    makespan_us_min=1044.5,
    makespan_us_iqr=2.125,
    makespan_cold_us_median=None,
    host_us_median=61.5,
    alloc_host_us_median=2.5,
    alloc_host_us_max=12.75,
    free_host_us_median=2.25,
    sync_host_us_median=None,
    sync_host_us_max=None,
    n_allocs=2,
    n_inserted_waits=1,
    inserted_wait_us_total=498.5,
    n_same_stream=0,
    n_host_ordered=1,
    n_event_ordered=0,
    n_opportunistic=0,
    n_slack=0,
    n_remapped=0,
    n_grown=0,
    n_internal_dependency=1,
    n_out_of_memory=0,
    reserved_high_bytes=32 * MIB,
    used_high_bytes=32 * MIB,
    overlap=1.0,
    tracing_ratio=1.0234,
    n_latch_timeouts=0,
    n_corrupt_bytes=0,
)
NO_POOL: dict[str, Any] = {
    "n_inserted_waits": 0,
    "inserted_wait_us_total": 0.0,
    "n_host_ordered": 0,
    "n_internal_dependency": 0,
    "reserved_high_bytes": None,
    "used_high_bytes": None,
}
WAIT = InsertedWait(
    allocation="y",
    line=35,
    iteration=0,
    stream="b",
    free_of="x",
    free_line=33,
    free_stream="a",
    wait_us=498.5,
)
FAILURE = Failure(
    allocation="y", line=35, iteration=0, asked=32 * MIB, reserved=32 * MIB, used=32 * MIB
)


def environment(backend: BackendKind) -> Environment:
    is_measured = backend.is_measured
    return Environment(
        backend=backend.value,
        device="NVIDIA H200" if is_measured else "h200",
        driver="580.159.04" if is_measured else "",
        cuda="13.0" if is_measured else "",
        compute_capability="9.0",
        n_multiprocessors=132,
        memory_total=139 * 2**30,
        clocks=ClockState(sm_mhz=1980, memory_mhz=3201, temperature_c=34)
        if is_measured
        else ClockState(),
        floors=Floors(event_pair_ns=1536, clock_error_ns=140, host_call_ns=640),
        platform="Linux 6.8 x86_64",
        python="3.12.3",
        packages=(("cuda-python", "13.0.1"),),
    )


def result_of(
    row: Row,
    *,
    axes: tuple[tuple[str, str], ...] = (),
    status: Status = Status.OK,
    scenario: str = "hand-over",
    **changed: Any,
) -> CaseResult:
    """`changed` are fields of `Findings`."""
    is_out = status is Status.OUT_OF_MEMORY
    has_wait = changed.get("n_inserted_waits", FINDINGS.n_inserted_waits) > 0
    return CaseResult(
        case=Case(scenario=scenario, row=row, axes=axes),
        release_threshold=2**64 - 1 if isinstance(row, AttributeSet) else None,
        status=status,
        reason="y (line 35): out of memory" if is_out else "",
        findings=replace(FINDINGS, **changed),
        waits=(WAIT,) if has_wait else (),
        failure=FAILURE if is_out else None,
    )


def block(axes: tuple[tuple[str, str], ...] = ()) -> tuple[CaseResult, ...]:
    """The ten rows of the hand-over at its pool's maximum."""
    out: dict[str, Any] = {
        "status": Status.OUT_OF_MEMORY,
        "repeats": 0,
        "makespan_us_median": None,
        "makespan_us_min": None,
        "makespan_us_iqr": None,
        "n_inserted_waits": 0,
        "inserted_wait_us_total": 0.0,
        "n_internal_dependency": 0,
        "n_out_of_memory": 1,
        "overlap": None,
        "tracing_ratio": None,
    }
    ideal = NO_POOL | {
        "makespan_us_median": 523.375,
        "makespan_us_iqr": 1.25,
        "alloc_host_us_median": None,
        "alloc_host_us_max": None,
        "free_host_us_median": None,
        "overlap": 1.9716,
    }
    plain = NO_POOL | {
        "makespan_us_median": 1130.875,
        "makespan_us_iqr": 14.5,
        "alloc_host_us_median": 48.5,
        "alloc_host_us_max": 61.0,
        "free_host_us_median": 512.5,
    }
    found = [
        result_of(Baseline.PREALLOCATED, axes=axes, **ideal),
        result_of(Baseline.CUDAMALLOC, axes=axes, **plain),
    ]
    for at, row in enumerate(COMBINATIONS):
        changed = {"makespan_us_median": 1044.0 + at} if row.allow_internal_dependencies else out
        found.append(result_of(row, axes=axes, **changed))
    return tuple(found)


def record_of(
    cases: tuple[CaseResult, ...], backend: BackendKind = BackendKind.CUDA, **changed: Any
) -> RunRecord:
    is_measured = backend.is_measured
    record = RunRecord(
        scenario="hand-over",
        question=QUESTION,
        known="",
        backend=backend,
        backend_reason="as asked",
        command=("poolbench", "run", "hand-over"),
        seed=1,
        started="2026-12-01T14:25:30+00:00",
        version="0.1.0",
        repeats=5 if is_measured else 1,
        warmup=1 if is_measured else 0,
        axes=(),
        n_planned=len(cases),
        before=environment(backend),
        after=environment(backend),
        cases=cases,
    )
    return replace(record, **changed)


def hand_over(backend: BackendKind) -> RunRecord:
    """Ten rows, no axes; on the model without the spread that only repetitions give."""
    record = record_of(block(), backend)
    if backend.is_measured:
        return record
    return replace(
        record,
        cases=tuple(
            replace(
                one,
                findings=one.findings and replace(one.findings, makespan_us_iqr=None, repeats=1),
            )
            for one in record.cases
        ),
    )


def with_axes() -> RunRecord:
    """Two blocks."""
    name = "pool.max_size"
    cases = tuple(one for text in ("none", "32MiB") for one in block(((name, text),)))
    return record_of(cases, axes=((name, ("none", "32MiB")),))


def eventful() -> RunRecord:
    """Presets, iterations, synchronisations, cases without a result, failed expectations."""
    claims = (
        ExpectationResult(line=41, claim="status is ok", is_met=True, found="ok"),
        ExpectationResult(
            line=44, claim="n_grown in 0", is_met=False, found="3 [three], of 2 allocations"
        ),
    )
    cases = (
        result_of(BY_NAME["default"], makespan_cold_us_median=18_400.0, n_grown=3, n_remapped=1),
        replace(
            result_of(
                BY_NAME["pytorch"],
                makespan_us_median=15_250.5,
                makespan_us_iqr=250.25,
                makespan_cold_us_median=21_000.0,
                sync_host_us_median=410.0,
                sync_host_us_max=1200.0,
                n_latch_timeouts=2,
            ),
            expectations=claims,
        ),
        replace(
            result_of(BY_NAME["tensorflow-deterministic"], status=Status.TIMEOUT),
            reason="no answer within 60 s; worker killed; 4 runs were left out",
            findings=None,
            waits=(),
        ),
        result_of(BY_NAME["oneflow"], status=Status.CORRUPTED, n_corrupt_bytes=4096),
    )
    cases = tuple(
        replace(one, release_threshold=threshold)
        for one, threshold in zip(cases, (0, 2**64 - 1, 96 * MIB, 2**64 - 1), strict=True)
    )
    return record_of(cases, scenario="odd", n_planned=6, after=None, question="")
