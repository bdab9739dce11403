"""What traced runs tell beyond the row of the table, as tables of texts: `poolbench show --calls`
and its like.

Pure.  Each function gives `None` where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.domain import row_name
from poolbench.findings import CaseResult, Detail
from poolbench.results.layout import Columns
from poolbench.results.numbers import ABSENT, count_scale, ratio_scale, size_scale, time_scale
from poolbench.results.table import Table, axes_text

_COUNT = count_scale()


def _detailed(results: Sequence[CaseResult]) -> list[tuple[CaseResult, Detail]]:
    return [(one, one.detail) for one in results if one.detail is not None]


def calls_table(results: Sequence[CaseResult]) -> Table | None:
    """Host time by kind of call; the first iteration apart where there are several."""
    rows = [(result, call) for result, detail in _detailed(results) for call in detail.calls]
    if not rows:
        return None
    calls = [call for _, call in rows]
    has_first = any(call.is_first_iteration for call in calls)
    scale = time_scale(value for one in calls for value in (one.median_us, one.max_us))
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k][0].case.row))
    if has_first:
        found.add(
            -1, ("iterations",), lambda k: "first" if calls[k].is_first_iteration else "others"
        )
    found.add(-1, ("call",), lambda k: calls[k].kind)
    found.add_numbers(0, ("calls",), [one.n for one in calls], _COUNT)
    found.add_numbers(0, ("blocked",), [one.n_blocked for one in calls], _COUNT)
    for title, values in (
        ("median", [one.median_us for one in calls]),
        ("p95", [one.p95_us for one in calls]),
        ("p99", [one.p99_us for one in calls]),
        ("max", [one.max_us for one in calls]),
    ):
        found.add_numbers(1, (title,), values, scale)
    totals = [one.total_us for one in calls]
    found.add_numbers(2, ("total",), totals, time_scale(totals))
    return found.table([axes_text(result.case) for result, _ in rows])


def streams_table(results: Sequence[CaseResult]) -> Table | None:
    """Pairs of streams: running together, and what could have."""
    rows = [(result, pair) for result, detail in _detailed(results) for pair in detail.pairs]
    if not rows:
        return None
    pairs = [pair for _, pair in rows]
    scale = time_scale(value for one in pairs for value in (one.both_us, one.could_us))
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k][0].case.row))
    found.add(-1, ("streams",), lambda k: f"{pairs[k].first}, {pairs[k].second}")
    found.add_numbers(0, ("both", "busy"), [one.both_us for one in pairs], scale)
    found.add_numbers(0, ("could", "be"), [one.could_us for one in pairs], scale)
    found.add_numbers(0, ("lost", "overlap"), [one.lost_us for one in pairs], scale)
    return found.table([axes_text(result.case) for result, _ in rows])


def serialised_table(results: Sequence[CaseResult]) -> Table | None:
    """Steps that ran one after the other although nothing in the scenario orders them."""
    rows = [(result, one) for result, detail in _detailed(results) for one in detail.serialised]
    if not rows:
        return None
    pairs = [one for _, one in rows]
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k][0].case.row))
    found.add(0, ("ran first",), lambda k: _step_text(pairs[k].first, pairs[k].first_line))
    found.add(0, ("on",), lambda k: pairs[k].first_stream)
    found.add(
        1, ("ran only after it",), lambda k: _step_text(pairs[k].second, pairs[k].second_line)
    )
    found.add(1, ("on",), lambda k: pairs[k].second_stream)
    found.add(2, ("because of",), lambda k: pairs[k].cause)
    found.add_numbers(3, ("times",), [one.n for one in pairs], _COUNT)
    lost = [one.lost_us for one in pairs]
    found.add_numbers(3, ("lost",), lost, time_scale(lost))
    return found.table([axes_text(result.case) for result, _ in rows])


def _step_text(name: str, line: int) -> str:
    return f"{name} (line {line})"


def memory_table(results: Sequence[CaseResult]) -> Table | None:
    """High marks, and how much of what is reserved nobody asked for."""
    rows = [one for one in results if one.findings and one.findings.reserved_high_bytes is not None]
    if not rows:
        return None
    asked = [one.findings.asked_high_bytes if one.findings else None for one in rows]
    used = [one.findings.used_high_bytes if one.findings else None for one in rows]
    reserved = [one.findings.reserved_high_bytes if one.findings else None for one in rows]
    waste = [
        1 - own / held if own is not None and held else None
        for own, held in zip(asked, reserved, strict=True)
    ]
    scale = size_scale([*asked, *used, *reserved])
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k].case.row))
    found.add(0, ("status",), lambda k: rows[k].status.value)
    found.add_numbers(1, ("asked", "peak"), asked, scale)
    found.add_numbers(1, ("used", "peak"), used, scale)
    found.add_numbers(1, ("reserved", "peak"), reserved, scale)
    found.add_numbers(1, ("waste",), waste, ratio_scale(waste))
    return found.table([axes_text(result.case) for result in rows])


def failed_table(results: Sequence[CaseResult]) -> Table | None:
    """Allocations that failed, and what the pool had free at that moment."""
    rows = [(result, one) for result, detail in _detailed(results) for one in detail.failed]
    if not rows:
        return None
    failed = [one for _, one in rows]
    scale = size_scale(value for one in failed for value in (one.asked, one.free, one.usable_run))
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k][0].case.row))
    found.add(-1, ("allocation",), lambda k: _step_text(failed[k].allocation, failed[k].line))
    found.add_numbers(0, ("failed",), [one.n for one in failed], _COUNT)
    found.add_numbers(1, ("asked",), [one.asked for one in failed], scale)
    found.add_numbers(1, ("free", "in all"), [one.free for one in failed], scale)
    found.add_numbers(1, ("largest", "run"), [one.largest_run for one in failed], scale)
    found.add_numbers(1, ("run usable", "at once"), [one.usable_run for one in failed], scale)
    return found.table([axes_text(result.case) for result, _ in rows])


def iterations_table(
    results: Sequence[CaseResult], makespans_us: dict[str, list[tuple[float | None, ...]]]
) -> Table | None:
    """Makespan of each iteration: the median over timed runs, the smallest and the largest.

    `makespans_us`: key of a case -> by iteration, the makespans of its timed runs.
    """
    rows = [
        (result, iteration, [value for value in values if value is not None])
        for result in results
        for iteration, values in enumerate(makespans_us.get(result.case.key, []))
    ]
    if not rows or all(iteration == 0 for _, iteration, _ in rows):
        return None
    medians = [_median(values) for *_, values in rows]
    lows = [min(values, default=None) for *_, values in rows]
    highs = [max(values, default=None) for *_, values in rows]
    scale = time_scale([*lows, *highs])
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k][0].case.row))
    found.add(-1, ("iteration",), lambda k: str(rows[k][1]))
    found.add_numbers(0, ("makespan",), medians, scale)
    found.add_numbers(0, ("min",), lows, scale)
    found.add_numbers(0, ("max",), highs, scale)
    found.add(0, ("runs",), lambda k: str(len(rows[k][2])) if rows[k][2] else ABSENT)
    return found.table([axes_text(result.case) for result, *_ in rows])


def _median(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return (ordered[middle] + ordered[~middle]) / 2
