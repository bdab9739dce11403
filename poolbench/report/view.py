"""What stands on the page, run by run: texts and tables, nothing about their looks."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from poolbench.analysis.advice import Advice, advise
from poolbench.analysis.answer import answer
from poolbench.export.csv import to_csv
from poolbench.report.charts import by_row, over_axes
from poolbench.results import details
from poolbench.results.environment import Environment
from poolbench.results.facts import circumstances, source
from poolbench.results.files import read_text
from poolbench.results.kept import Kept
from poolbench.results.legend import legend
from poolbench.results.record import RunRecord
from poolbench.results.samples import SAMPLES
from poolbench.results.table import Table, build_table

MAX_CLAIMS = 20
"""Failed expectations that are listed one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """`note` stands below the table."""

    caption: str
    table: Table
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run; `name` is unique on the page and fit for an anchor."""

    name: str
    record: RunRecord
    source: str
    sentences: tuple[str, ...]
    advice: tuple[Advice, ...]
    results: TableView
    details: tuple[TableView, ...]
    legend: tuple[tuple[str, str], ...]
    circumstances: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    n_claims: int
    failed_claims: tuple[str, ...]
    charts: tuple[tuple[str, dict[str, Any]], ...]
    samples_csv: str


def run_views(runs: Sequence[Kept]) -> tuple[RunView, ...]:
    names: dict[str, int] = {}
    found = []
    for run in runs:
        n = names[run.record.scenario] = names.get(run.record.scenario, 0) + 1
        found.append(_view(run, run.record.scenario + (f"-{n}" if n > 1 else "")))
    return tuple(found)


def cases_csv(runs: Sequence[Kept]) -> str:
    return to_csv([run.record for run in runs])


def _view(run: Kept, name: str) -> RunView:
    record = run.record
    table = build_table(record)
    claims = [(one, claim) for one in record.cases for claim in one.expectations]
    failed = [
        f"line {claim.line}, {one.case.key}: {claim.claim}; found {claim.found}"
        for one, claim in claims
        if not claim.is_met
    ]
    over = over_axes(record)
    charts = [("Makespan by row, with the interval of the median", by_row(record))]
    if over is not None:
        charts.append(("Makespan over the axis, a line for each row", over))
    return RunView(
        name=name,
        record=record,
        source=source(record),
        sentences=answer(record),
        advice=advise(record),
        results=TableView(caption="Every case", table=table),
        details=_details(record),
        legend=legend([record], [table]),
        circumstances=circumstances(record),
        environment=_environment(record.before),
        n_claims=len(claims),
        failed_claims=tuple(failed[:MAX_CLAIMS]),
        charts=tuple(charts),
        samples_csv=_samples(run),
    )


def _details(record: RunRecord) -> tuple[TableView, ...]:
    found = (
        (
            "Host time by kind of call",
            details.calls_table(record.cases),
            "blocked: the call returned only when work of the device was over.",
        ),
        (
            "Streams that had work running together",
            details.streams_table(record.cases),
            "could be: were every step to start as soon as the scenario lets it.",
        ),
        (
            "Steps that ran one after the other though nothing in the scenario says so",
            details.serialised_table(record.cases),
            "",
        ),
        (
            "Memory, at its peaks",
            details.memory_table(record.cases),
            "waste: share of what is reserved that nobody asked for.",
        ),
        (
            "Allocations that failed, and what the pool had free then",
            details.failed_table(record.cases),
            "",
        ),
    )
    return tuple(
        TableView(caption=caption, table=table, note=note)
        for caption, table, note in found
        if table is not None
    )


def _environment(where: Environment) -> tuple[tuple[str, str], ...]:
    packages = ", ".join(f"{name} {version}" for name, version in where.packages)
    facts = (
        ("compute capability", where.compute_capability),
        ("platform", where.platform),
        ("Python", where.python),
        ("packages", packages),
    )
    return tuple((name, text) for name, text in facts if text)


def _samples(run: Kept) -> str:
    if run.directory is None or not (run.directory / SAMPLES).is_file():
        return ""
    return read_text(run.directory / SAMPLES)


def n_rows(text: str) -> int:
    """Lines of a CSV without its header."""
    return max(0, sum(1 for _ in csv.reader(io.StringIO(text))) - 1)
