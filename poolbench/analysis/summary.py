"""Many pairs in a few figures: verdicts counted, the geometric mean of the ratios, a pivot.

Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poolbench.analysis.comparison import Pair, Reason, Verdict
from poolbench.domain import Case, row_name

_ORDER = (Verdict.SAME, Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED)
"""Undecided last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """`geomean` is over the `n_ratios` pairs that have one and ended ok on both sides."""

    counts: Mapping[Verdict, int]
    reasons: Mapping[Reason, int]
    geomean: float | None
    n_ratios: int


def summarise(pairs: Sequence[Pair]) -> Summary:
    counts = Counter(pair.judgement.verdict for pair in pairs)
    reasons = Counter(pair.judgement.reason for pair in pairs if pair.judgement.reason is not None)
    logs = [
        math.log(pair.judgement.ratio)
        for pair in pairs
        if pair.judgement.ratio and pair.judgement.reason is not Reason.NOT_OK
    ]
    return Summary(
        counts={verdict: counts[verdict] for verdict in _ORDER},
        reasons=dict(reasons),
        geomean=math.exp(sum(logs) / len(logs)) if logs else None,
        n_ratios=len(logs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`ratio` is the geometric mean of what falls together here, `verdict` theirs if all agree."""

    ratio: float | None
    verdict: Verdict | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot:
    """`hidden`: dimensions that vary and are in neither the rows nor the columns."""

    rows: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    cells: Mapping[tuple[tuple[str, ...], tuple[str, ...]], Cell]
    hidden: tuple[str, ...]


def dimensions(case: Case) -> dict[str, str]:
    """What a case can be picked or laid out by."""
    return {"scenario": case.scenario, "row": row_name(case.row), **dict(case.axes)}


def pivot(pairs: Sequence[Pair], rows: Sequence[str], columns: Sequence[str]) -> Pivot:
    """Raises `KeyError` for a dimension that no case has."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Pair]] = {}
    values: dict[str, set[str]] = {}
    for pair in pairs:
        has = dimensions(pair.second.case)
        for name, value in has.items():
            values.setdefault(name, set()).add(value)
        key = tuple(has[name] for name in rows), tuple(has[name] for name in columns)
        found.setdefault(key, []).append(pair)
    return Pivot(
        rows=tuple(dict.fromkeys(row for row, _ in found)),
        columns=tuple(dict.fromkeys(column for _, column in found)),
        cells={key: _cell(group) for key, group in found.items()},
        hidden=tuple(
            name
            for name, seen in values.items()
            if len(seen) > 1 and name not in rows and name not in columns
        ),
    )


def _cell(pairs: Sequence[Pair]) -> Cell:
    verdicts = {pair.judgement.verdict for pair in pairs}
    return Cell(
        ratio=summarise(pairs).geomean,
        verdict=verdicts.pop() if len(verdicts) == 1 else None,
        n=len(pairs),
    )
