"""One run as the terminal shows it: title, question, table, answer, expectations, circumstances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from poolbench.domain import Status, row_name
from poolbench.findings import CaseResult, ExpectationResult
from poolbench.render.console import line, prose, terms
from poolbench.render.grid import lines_of
from poolbench.results.facts import circumstances, title
from poolbench.results.legend import legend
from poolbench.results.record import RunRecord
from poolbench.results.table import axes_text, build_table

MAX_FAILED = 12
"""Failed expectations that are shown one by one; run.json has all of them."""


def print_run(
    console: Console,
    record: RunRecord,
    *,
    sentences: Sequence[str],
    directory: Path,
    is_wide: bool,
) -> None:
    """Everything about a run but the legend, which is printed once for all runs; `sentences` are
    its answer."""
    line(console, Text(title(record), style="bold"))
    if record.question:
        prose(console, record.question, style="italic")
    line(console)
    if record.cases:
        for text in lines_of(build_table(record), None if is_wide else console.width):
            line(console, text)
        line(console)
    for sentence in (*sentences, *_reasons(record, sentences)):
        prose(console, f"• {sentence}", indent="  ")
    _print_expectations(console, record)
    line(console)
    terms(console, [*circumstances(record), ("results", str(directory))], style="dim")


def print_legend(console: Console, records: Sequence[RunRecord]) -> None:
    shown = [record for record in records if record.cases]
    if not shown:
        return
    line(console)
    terms(console, legend(shown, [build_table(record) for record in shown]), style="bold")


def _reasons(record: RunRecord, told: Sequence[str]) -> list[str]:
    """Why rows have no times, as far as the answer has not told; a failed allocation is a result
    and not a gap."""
    reasons: dict[str, list[CaseResult]] = {}
    for result in record.cases:
        if result.reason and result.status not in (Status.OK, Status.OUT_OF_MEMORY):
            reasons.setdefault(result.reason, []).append(result)
    return [
        f"{results[0].status}: {reason} ({case_names(results)})"
        for reason, results in reasons.items()
        if not any(reason in sentence for sentence in told)
    ]


def case_names(results: Sequence[CaseResult]) -> str:
    """`000 010, pool.max_size = 64MiB; 3 cases more`: which cases, at a reasonable length."""
    blocks: dict[str, list[str]] = {}
    for result in results:
        blocks.setdefault(axes_text(result.case), []).append(row_name(result.case.row))
    texts = [" ".join(rows) + (f" with {axes}" if axes else "") for axes, rows in blocks.items()]
    if len(texts) <= 2:
        return "; ".join(texts)
    n_more = sum(len(rows) for rows in list(blocks.values())[1:])
    return f"{texts[0]}; and {n_more} cases more"


def _print_expectations(console: Console, record: RunRecord) -> None:
    claims = [(result, claim) for result in record.cases for claim in result.expectations]
    if not claims:
        return
    failed = [(result, claim) for result, claim in claims if not claim.is_met]
    if not failed:
        line(console, Text(f"✓ expectations: all {len(claims)} met", style="green"))
        return
    text = f"✗ expectations: {len(failed)} of {len(claims)} not met"
    line(console, Text(text, style="bold red"))
    for result, claim in failed[:MAX_FAILED]:
        prose(console, _failed_text(result, claim), first="  ", indent="    ")
    if len(failed) > MAX_FAILED:
        line(console, f"  {len(failed) - MAX_FAILED} more are in run.json")


def _failed_text(result: CaseResult, claim: ExpectationResult) -> str:
    axes = axes_text(result.case)
    where = f"{row_name(result.case.row)}{f' with {axes}' if axes else ''}"
    return f"line {claim.line}, row {where}: {claim.claim}; found {claim.found}"
