"""A comparison as a table of texts.

Pure.  Within a run each row stands beside what it is compared with; between two runs a count or a
size that is equal is written once, one that is not as `first → second`.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.analysis.comparison import Comparison, Judgement, Pair, Quantity
from poolbench.columns import BY_KEY, Unit
from poolbench.domain import row_name
from poolbench.findings import CaseResult
from poolbench.results.layout import Columns, scale_of
from poolbench.results.numbers import (
    ABSENT,
    ratio_scale,
)
from poolbench.results.table import Table, axes_text


def comparison_table(comparison: Comparison) -> Table:
    return _within(comparison) if comparison.is_within else _between(comparison)


def _within(comparison: Comparison) -> Table:
    """A row for each case; ratio, range and verdict against each of the rows compared with."""
    results = comparison.first.cases
    bases = list(dict.fromkeys(row_name(pair.first.case.row) for pair in comparison.pairs))
    pairs = {(pair.second.case, row_name(pair.first.case.row)): pair for pair in comparison.pairs}
    own = {pair.second.case: pair.quantities for pair in comparison.pairs}
    own |= {
        pair.first.case: tuple(_as_second(one) for one in pair.quantities)
        for pair in comparison.pairs
        if pair.first.case not in own
    }
    shown = [result for result in results if result.case in own]
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(shown[k].case.row))
    _mark_predictions(found, comparison)
    found.add(0, ("status",), lambda k: shown[k].status.value)
    _add_own(found, [own[result.case] for result in shown], at=0, group=0)
    for at, base in enumerate(bases):
        judged = [_judgement(pairs.get((result.case, base))) for result in shown]
        _add_judgement(found, judged, group=at + 1, against=("over", base))
    for at in range(1, len(comparison.pairs[0].quantities) if comparison.pairs else 0):
        _add_own(found, [own[result.case] for result in shown], at=at, group=len(bases) + at)
    return found.table([axes_text(result.case) for result in shown])


def _mark_predictions(found: Columns, comparison: Comparison) -> None:
    """A row copied out of the table still says who made it."""
    kinds = dict.fromkeys((comparison.first.backend.value, comparison.second.backend.value))
    if comparison.first.is_predicted or comparison.second.is_predicted:
        found.add(-1, ("by",), lambda _: ", ".join(kinds))


def _as_second(one: Quantity) -> Quantity:
    return Quantity(key=one.key, first=None, second=one.first, ratio=None)


def _judgement(pair: Pair | None) -> Judgement | None:
    return None if pair is None else pair.judgement


def _between(comparison: Comparison) -> Table:
    """A row for each pair: A is the first run, B the second."""
    pairs = comparison.pairs
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(pairs[k].second.case.row))
    _mark_predictions(found, comparison)
    found.add(0, ("status",), lambda k: _statuses(pairs[k].first, pairs[k].second))
    _add_judgement(found, [pair.judgement for pair in pairs], group=1, against=("B", "over A"))
    for at in range(len(pairs[0].quantities) if pairs else 0):
        _add_both(found, [pair.quantities[at] for pair in pairs], group=at + 2)
    return found.table([axes_text(pair.second.case) for pair in pairs])


def _statuses(first: CaseResult, second: CaseResult) -> str:
    if first.status is second.status:
        return first.status.value
    return f"{first.status} → {second.status}"


def _add_judgement(
    found: Columns,
    judged: Sequence[Judgement | None],
    *,
    group: int,
    against: tuple[str, ...],
) -> None:
    known = [judgement for judgement in judged if judgement is not None]
    scale = ratio_scale(value for one in known for value in (one.ratio, one.low, one.high))

    def ratio(k: int) -> str:
        one = judged[k]
        return ABSENT if one is None else scale.text(one.ratio)

    def span(k: int) -> str:
        one = judged[k]
        if one is None or one.low is None or one.high is None:
            return ABSENT
        return f"{scale.text(one.low)}..{scale.text(one.high)}"

    def verdict(k: int) -> str:
        one = judged[k]
        if one is None:
            return ABSENT
        more = f" + {one.n_more}" if one.n_more else ""
        return f"{one.verdict}, {one.reason}{more}" if one.reason else one.verdict.value

    found.add(group, against, ratio, scale=scale)
    if any(one.low != one.high for one in known):
        found.add(group, ("range",), span, scale=scale)
    found.add(group, ("verdict",), verdict)


def _add_own(found: Columns, rows: Sequence[Sequence[Quantity]], *, at: int, group: int) -> None:
    if not rows:
        return
    key = rows[0][at].key
    scale = scale_of(key, [row[at].second for row in rows])
    found.add(group, (BY_KEY[key].title,), lambda k: scale.text(rows[k][at].second), scale=scale)


def _add_both(found: Columns, quantities: Sequence[Quantity], *, group: int) -> None:
    key = quantities[0].key
    name = BY_KEY[key].title
    scale = scale_of(key, [value for one in quantities for value in (one.first, one.second)])
    if BY_KEY[key].unit is Unit.MICROSECONDS:
        found.add(group, (name, "A"), lambda k: scale.text(quantities[k].first), scale=scale)
        found.add(group, ("B",), lambda k: scale.text(quantities[k].second), scale=scale)
        return

    def both(k: int) -> str:
        one = quantities[k]
        first, second = scale.text(one.first), scale.text(one.second)
        return first if one.first == one.second else f"{first} → {second}"

    found.add(group, (name,), both, scale=scale)
