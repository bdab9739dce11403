"""The cases of a run, block by block (one block for each combination of axis values).

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from poolbench.analysis.statistics import Measured
from poolbench.domain import AttributeSet, Baseline, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord
from poolbench.units import UnitError, parse_duration, parse_size

Axes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    axes: Axes
    results: tuple[CaseResult, ...]

    @property
    def pools(self) -> tuple[CaseResult, ...]:
        return tuple(one for one in self.results if isinstance(one.case.row, AttributeSet))

    def baseline(self, row: Baseline) -> CaseResult | None:
        return next((one for one in self.results if one.case.row is row), None)

    @property
    def default_like(self) -> CaseResult | None:
        """The row with all three attributes on: `111`, else `default`, else the first such."""
        rows = {
            one.case.row.name: one
            for one in self.pools
            if isinstance(one.case.row, AttributeSet) and one.case.row.bits == "111"
        }
        return rows.get("111") or rows.get("default") or next(iter(rows.values()), None)


def blocks_of(record: RunRecord) -> tuple[Block, ...]:
    return group(record.cases)


def group(results: Iterable[CaseResult]) -> tuple[Block, ...]:
    groups: dict[Axes, list[CaseResult]] = {}
    for result in results:
        groups.setdefault(result.case.axes, []).append(result)
    return tuple(Block(axes=axes, results=tuple(found)) for axes, found in groups.items())


def makespan_of(result: CaseResult, *, is_exact: bool) -> Measured | None:
    """The makespan with its noise; `None` where no timed repetition ended ok."""
    findings = result.findings
    if findings is None or findings.makespan_us_median is None:
        return None
    return Measured(
        median=findings.makespan_us_median,
        iqr=findings.makespan_us_iqr,
        repeats=findings.repeats,
        is_exact=is_exact,
    )


def rows_text(results: Sequence[CaseResult]) -> str:
    """`row 111`, `rows 001 011 101 111`: each name once, in the order of the table."""
    names = list(dict.fromkeys(row_name(one.case.row) for one in results))
    return f"row{'s' if len(names) > 1 else ''} {' '.join(names)}"


def where_text(blocks: Sequence[Block], chosen: Sequence[Block]) -> str:
    """Which axis values single out the chosen blocks; empty where all blocks are chosen.

    `only where pool.max_size is 128MiB or less`, if single axes decide; else how many they are.
    """
    if not chosen or len(chosen) == len(blocks):
        return ""
    inside = {block.axes for block in chosen}
    values = [list(dict.fromkeys(column)) for column in _columns(block.axes for block in blocks)]
    hits = [set(column) for column in _columns(inside)]
    n_picked = sum(
        all(text in hit for (_, text), hit in zip(block.axes, hits, strict=True))
        for block in blocks
    )
    if n_picked != len(inside):
        return f"only in {len(chosen)} of {len(blocks)} combinations of axis values"
    parts = [
        f"{name} is {_values_text(known, [value for value in known if value in hit])}"
        for (name, _), known, hit in zip(blocks[0].axes, values, hits, strict=True)
        if len(hit) < len(known)
    ]
    return f"only where {' and '.join(parts)}"


def _columns(axes: Iterable[Axes]) -> list[list[str]]:
    """The values of each axis, over all combinations."""
    return [[text for _, text in column] for column in zip(*axes, strict=True)]


def _values_text(values: Sequence[str], hit: Sequence[str]) -> str:
    """`128MiB or less` where the values have an order and the hits are one end of it."""
    orders = [(order, value) for value in values if (order := order_of(value)) is not None]
    if len(orders) == len(values) and len(hit) > 1:
        ordered = [value for _, value in sorted(orders)]
        if set(ordered[: len(hit)]) == set(hit):
            return f"{ordered[len(hit) - 1]} or less"
        if set(ordered[-len(hit) :]) == set(hit):
            return f"{ordered[-len(hit)]} or more"
    *most, last = hit
    return f"{', '.join(most)} or {last}" if most else last


def order_of(text: str) -> float | None:
    """A number to sort an axis value by; `none` and `max` are without limit."""
    if text in ("none", "max"):
        return float("inf")
    for parse in (float, parse_size, parse_duration):
        try:
            return float(parse(text))
        except (ValueError, UnitError):
            continue
    return None
