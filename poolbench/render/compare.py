"""Rows of a run, or two runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.analysis.comparison import REASONS, Comparison
from poolbench.render.console import line, prose, terms
from poolbench.render.grid import lines_of
from poolbench.results.compared import comparison_table
from poolbench.results.facts import source, title


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
    else:
        line(console, "Nothing to compare: no two results belong together.")
    _print_unpaired(console, comparison)


def _print_unpaired(console: Console, comparison: Comparison) -> None:
    for letter, cases in (("A", comparison.only_first), ("B", comparison.only_second)):
        if cases:
            names = ", ".join(case.key for case in cases[:8])
            more = f" and {len(cases) - 8} more" if len(cases) > 8 else ""
            prose(console, f"Only in {letter}: {names}{more}", indent="  ", style="yellow")


def print_comparison_legend(console: Console, comparisons: Sequence[Comparison]) -> None:
    reasons = {
        pair.judgement.reason
        for comparison in comparisons
        for pair in comparison.pairs
        if pair.judgement.reason is not None
    }
    entries = [
        ("over", "ratio of the makespans: below 1 is faster than what it is compared with"),
        ("range", "of that ratio, if each median is off by half its interquartile range"),
        ("verdict", "faster, slower or same where medians and interquartile ranges decide"),
    ]
    entries += [(reason.value, text) for reason, text in REASONS.items() if reason in reasons]
    line(console)
    terms(console, entries, style="bold")
