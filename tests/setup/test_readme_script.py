"""`make readme`: the README's tables are made of results, and of nothing else."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from poolbench.domain import COMBINATIONS, BackendKind, Baseline, Case, Row, Status
from poolbench.findings import CaseResult, Findings
from poolbench.results.environment import ClockState, Environment, Floors
from poolbench.results.record import RunRecord

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import readme  # noqa: E402


def findings(**found: float | None) -> Findings:
    nothing = {
        field.name: 0 if field.type in ("int", "float") else None
        for field in dataclasses.fields(Findings)
    }
    return Findings(**{**nothing, **found})  # type: ignore[arg-type]


def result(row: Row, status: Status, found: Findings) -> CaseResult:
    case = Case(scenario="hand-over", row=row)
    return CaseResult(case=case, release_threshold=None, status=status, reason="", findings=found)


def record(backend: BackendKind) -> RunRecord:
    environment = Environment(
        backend=backend.value,
        device="NVIDIA H200",
        driver="580.159.04",
        cuda="13.0",
        compute_capability="9.0",
        n_multiprocessors=132,
        memory_total=2**37,
        clocks=ClockState(),
        floors=Floors(),
        platform="Linux",
        python="3.12",
        packages=(),
    )
    waited = findings(
        repeats=5,
        makespan_us_median=1043.25,
        makespan_us_iqr=3.0,
        n_inserted_waits=1,
        inserted_wait_us_total=498.5,
        reserved_high_bytes=32 * 2**20,
    )
    return RunRecord(
        scenario="hand-over",
        question="",
        known="",
        backend=backend,
        backend_reason="",
        command=(),
        seed=0,
        started="",
        version="",
        repeats=5,
        warmup=1,
        axes=(),
        n_planned=2,
        before=environment,
        after=environment,
        cases=(
            result(COMBINATIONS[7], Status.OK, waited),
            result(Baseline.PREALLOCATED, Status.OK, findings(makespan_us_median=540.0)),
        ),
    )


def test_table_shows_the_record() -> None:
    """Each case is a row, in the record's order, with device and driver below."""
    lines = readme.table(record(BackendKind.CUDA)).splitlines()
    assert lines[2] == "| 111 | ok | 1,043.2 | 3.0 |  | 1 | 498.5 | 0 | 32 |"
    assert lines[3] == "| preallocated | ok | 540.0 |  |  |  |  | 0 |  |"
    assert "NVIDIA H200, driver 580.159.04, 5 repetitions" in "\n".join(lines[4:])


def test_only_what_is_marked_is_replaced() -> None:
    """Text around the marks stays, and filling twice changes nothing more."""
    text = "before\n<!-- table: results/x -->\nold\n<!-- end -->\nafter\n"
    once = readme.filled(text, lambda directory: f"table of {directory}")
    assert once == (
        "before\n<!-- table: results/x -->\n\ntable of results/x\n\n<!-- end -->\nafter\n"
    )
    assert readme.filled(once, lambda directory: f"table of {directory}") == once


def test_predictions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the README is never the model's."""
    monkeypatch.setattr(readme, "read", lambda _: record(BackendKind.MODEL))
    with pytest.raises(SystemExit, match="predictions, not measurements"):
        readme.measured("results/x")


def test_marks_of_the_readme_are_whole() -> None:
    """Every mark in README.md opens a table that ends, and names a directory under results/."""
    text = readme.README.read_text()
    found = [match[2] for match in readme.MARKED.finditer(text)]
    assert found
    assert len(found) == text.count("<!-- table:") == text.count("<!-- end -->")
    assert all(name.startswith("results/") for name in found)


def test_readme_is_current() -> None:
    """Where the results are there, the README shows what they hold."""
    text = readme.README.read_text()
    if not all((ROOT / match[2]).is_dir() for match in readme.MARKED.finditer(text)):
        pytest.skip("no results for this README yet")
    assert readme.filled(text, readme.measured) == text
