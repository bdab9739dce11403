"""Rows of a run, or two runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.analysis.comparison import REASONS, Comparison, Pair, Verdict
from poolbench.columns import BY_KEY, Unit
from poolbench.domain import row_name
from poolbench.render.console import line, prose, terms
from poolbench.render.grid import lines_of
from poolbench.results.facts import source, title
from poolbench.results.numbers import (
    ABSENT,
    Scale,
    count_scale,
    ratio_scale,
    size_scale,
    time_scale,
)
from poolbench.results.table import Block, Table, TableColumn, TableRow, axes_text


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
        for row in lines_of(_table(comparison), console.width):
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
        ("makespan", "faster, slower or same, by medians and interquartile ranges"),
        ("ratio", "makespan over the one compared with; low and high: half an IQR off each"),
    ]
    entries += [(reason.value, text) for reason, text in REASONS.items() if reason in reasons]
    line(console)
    terms(console, entries, style="bold")


def _table(comparison: Comparison) -> Table:
    pairs = comparison.pairs
    judgements = [pair.judgement for pair in pairs]
    ratios = ratio_scale(
        value
        for judgement in judgements
        for value in (judgement.ratio, judgement.low, judgement.high)
    )
    columns = [
        _column("attribute_set", ("row",), group=-1),
        _column("verdict", ("makespan",), group=0),
        _column("reason", ("because",), group=0),
        _column("ratio", ("ratio",), group=1, is_number=True),
        _column("low", ("low",), group=1, is_number=True),
        _column("high", ("high",), group=1, is_number=True),
    ]
    cells = [
        [
            row_name(pair.second.case.row),
            pair.judgement.verdict.value,
            pair.judgement.reason.value if pair.judgement.reason else "",
            ratios.text(pair.judgement.ratio),
            ratios.text(pair.judgement.low),
            ratios.text(pair.judgement.high),
        ]
        for pair in pairs
    ]
    if all(judgement.verdict is not Verdict.UNDECIDED for judgement in judgements):
        columns.pop(2)
        for row in cells:
            row.pop(2)
    columns.append(_column("statuses", ("status",), group=2))
    for row, pair in zip(cells, pairs, strict=True):
        row.append(_statuses(pair, is_within=comparison.is_within))
    _add_quantities(comparison, columns, cells)
    blocks: dict[str, list[TableRow]] = {}
    for row, pair in zip(cells, pairs, strict=True):
        title_ = _block_title(pair, is_within=comparison.is_within)
        blocks.setdefault(title_, []).append(TableRow(status="", cells=tuple(row)))
    return Table(
        columns=tuple(columns),
        blocks=tuple(Block(title=name, rows=tuple(rows)) for name, rows in blocks.items()),
    )


def _column(
    key: str, header: tuple[str, ...], *, group: int, is_number: bool = False, unit: str = ""
) -> TableColumn:
    return TableColumn(key=key, header=header, unit=unit, is_number=is_number, group=group)


def _block_title(pair: Pair, *, is_within: bool) -> str:
    axes = axes_text(pair.first.case)
    if not is_within:
        return axes
    base = f"against {row_name(pair.first.case.row)}"
    return f"{base}, {axes}" if axes else base


def _statuses(pair: Pair, *, is_within: bool) -> str:
    first, second = pair.first.status.value, pair.second.status.value
    return second if is_within or first == second else f"{first} → {second}"


def _add_quantities(
    comparison: Comparison, columns: list[TableColumn], cells: list[list[str]]
) -> None:
    """The columns that are compared: the second's value within a run, both between two runs."""
    quantities = [pair.quantities for pair in comparison.pairs]
    for at, quantity in enumerate(quantities[0]):
        key = quantity.key
        found = [row[at] for row in quantities]
        scale = _scale(key, [value for one in found for value in (one.first, one.second)])
        name = BY_KEY[key].title
        sides = (("second", name),) if comparison.is_within else (("first", "A"), ("second", "B"))
        for side, letter in sides:
            header = (letter,) if comparison.is_within else (name, letter)
            columns.append(
                _column(f"{key}:{side}", header, group=at + 3, is_number=True, unit=scale.unit)
            )
            for row, one in zip(cells, found, strict=True):
                value = one.first if side == "first" else one.second
                row.append(ABSENT if value is None else scale.text(value))


def _scale(key: str, values: Sequence[float | None]) -> Scale:
    match BY_KEY[key].unit:
        case Unit.MICROSECONDS:
            return time_scale(values)
        case Unit.BYTES:
            return size_scale(values)
        case _:
            return count_scale()
