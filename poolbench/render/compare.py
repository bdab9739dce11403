"""Rows of a run, or two runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.analysis.comparison import REASONS, Comparison, Pair
from poolbench.analysis.factorial import factorial_sentences
from poolbench.analysis.summary import Summary, dimensions, pivot, summarise
from poolbench.domain import row_name
from poolbench.errors import BadUsage
from poolbench.render.console import line, prose, terms
from poolbench.render.grid import lines_of
from poolbench.results.compared import comparison_table
from poolbench.results.effects import effects_table, pivot_table
from poolbench.results.facts import source, title
from poolbench.results.record import RunRecord


def print_comparison(console: Console, comparison: Comparison) -> None:
    first, second = comparison.first, comparison.second
    if comparison.is_within:
        line(console, Text(title(first), style="bold"))
    else:
        name = first.scenario
        if second.scenario != name:
            name = f"{name} and {second.scenario}"
        line(console, Text(name, style="bold"))
        terms(
            console,
            [
                ("A", f"{source(first)}, {first.started}"),
                ("B", f"{source(second)}, {second.started}"),
            ],
            style="bold",
        )
    for mismatch in comparison.mismatches:
        text = f"Not the same {mismatch.what}: A {mismatch.first}, B {mismatch.second}"
        prose(console, text, indent="  ", style="bold red" if mismatch.is_fatal else "yellow")
    line(console)
    if comparison.pairs:
        for row in lines_of(comparison_table(comparison), console.width):
            line(console, row)
        print_summary(console, comparison)
    else:
        line(console, "Nothing to compare: no two results belong together.")
    _print_unpaired(console, comparison)


def _print_unpaired(console: Console, comparison: Comparison) -> None:
    for letter, cases in (("A", comparison.only_first), ("B", comparison.only_second)):
        if cases:
            names = ", ".join(case.key for case in cases[:8])
            more = f" and {len(cases) - 8} more" if len(cases) > 8 else ""
            prose(console, f"Only in {letter}: {names}{more}", indent="  ", style="yellow")


def print_summary(console: Console, comparison: Comparison) -> None:
    """One line for each row compared with: the geometric mean, and verdicts counted."""
    groups: dict[str, list[Pair]] = {}
    for pair in comparison.pairs:
        base = row_name(pair.first.case.row) if comparison.is_within else "A"
        groups.setdefault(base, []).append(pair)
    for base, pairs in groups.items():
        prose(console, f"  {summary_text(summarise(pairs), base)}", indent="    ")


def summary_text(found: Summary, base: str) -> str:
    counts = ", ".join(f"{n} {verdict}" for verdict, n in found.counts.items() if n)
    reasons = ", ".join(f"{reason} {n}" for reason, n in found.reasons.items())
    mean = "" if found.geomean is None else f"geometric mean {found.geomean:.3f} ({found.n_ratios})"
    parts = [part for part in (mean, counts + (f" ({reasons})" if reasons else "")) if part]
    return f"over {base}: {'; '.join(parts)}"


def print_effects(console: Console, record: RunRecord) -> None:
    """The eight combinations as a factorial experiment, where all of them are there."""
    table = effects_table(record)
    if table is None:
        return
    line(console)
    text = "What each attribute changes, all else equal (on over off; waits, memory: on less off)"
    line(console, Text(text, style="bold"))
    for row in lines_of(table, console.width):
        line(console, row)
    for sentence in factorial_sentences(record):
        prose(console, f"• {sentence}", indent="  ")


def print_pivot(
    console: Console, pairs: Sequence[Pair], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Ratios laid out by what the user chose; says what was averaged over.  Raises `BadUsage`."""
    known = dict.fromkeys(name for pair in pairs for name in dimensions(pair.second.case))
    for name in (*rows, *columns):
        if any(name not in dimensions(pair.second.case) for pair in pairs):
            raise BadUsage(f"not every case has a {name}", hint=f"there are: {', '.join(known)}")
    found = pivot(pairs, rows, columns)
    bases = dict.fromkeys(row_name(pair.first.case.row) for pair in pairs)
    what = "B over A" if all(pair.first.case.row == pair.second.case.row for pair in pairs) else ""
    line(console, Text(f"Makespan over {what or ' and '.join(bases)}", style="bold"))
    for text in lines_of(pivot_table(found, rows), console.width):
        line(console, text)
    if found.hidden:
        prose(console, f"Averaged (geometric mean) over: {', '.join(found.hidden)}", indent="  ")


def print_comparison_legend(console: Console, comparisons: Sequence[Comparison]) -> None:
    reasons = {
        pair.judgement.reason
        for comparison in comparisons
        for pair in comparison.pairs
        if pair.judgement.reason is not None
    }
    entries = [
        ("over", "ratio of the makespans: below 1 is faster than what it is compared with"),
        ("range", "where that ratio lies, the error rate of 5 % shared by all rows"),
        ("verdict", "faster, slower or same where the range decides; + n: blocks that might"),
    ]
    entries += [(reason.value, text) for reason, text in REASONS.items() if reason in reasons]
    line(console)
    terms(console, entries, style="bold")
