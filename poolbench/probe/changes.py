"""Two probes, side by side: which rules differ.

Pure.  Times are no rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poolbench.domain import COMBINATIONS
from poolbench.probe.documented import Reuse, Waiting
from poolbench.probe.questions import CALLS, LAYOUT, REUSE
from poolbench.probe.record import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`rows`: the combinations of the first table that differ so; empty elsewhere."""

    title: str
    rows: tuple[str, ...]
    before: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """`n_uncompared`: answers that one of the two does not have."""

    found: tuple[Change, ...]
    n_compared: int
    n_uncompared: int


def changes(before: Probe, now: Probe) -> Changes:
    pairs = list(_pairs(before, now))
    known = [pair for pair in pairs if pair[2] and pair[3]]
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for title, row, old, new in known:
        if old != new:
            grouped.setdefault((title, old, new), []).append(row)
    return Changes(
        found=tuple(
            Change(title=title, rows=tuple(row for row in rows if row), before=old, now=new)
            for (title, old, new), rows in grouped.items()
        ),
        n_compared=len(known),
        n_uncompared=len(pairs) - len(known),
    )


def _pairs(before: Probe, now: Probe) -> Iterator[tuple[str, str, str, str]]:
    """(title, row, answer before, answer now); an empty answer is none."""
    cells = [
        {(one.question, one.row): one.answer for one in probe.cells} for probe in (before, now)
    ]
    for question in REUSE:
        for row in COMBINATIONS:
            key = question.scenario, row.name
            old, new = (_known(answers.get(key), Reuse.UNKNOWN) for answers in cells)
            yield question.title, row.name, old, new
    calls = [{one.question: one.answer for one in probe.calls} for probe in (before, now)]
    for call in CALLS:
        old, new = (_known(answers.get(call.key), Waiting.UNKNOWN) for answers in calls)
        yield call.title, "", old, new
    laid = [{one.question: one.text for one in probe.layout} for probe in (before, now)]
    for layout in LAYOUT:
        if layout.is_rule:
            old, new = (answers.get(layout.key, "") for answers in laid)
            yield layout.title, "", old, new


def _known(answer: Reuse | Waiting | None, unknown: Reuse | Waiting) -> str:
    return "" if answer is None or answer is unknown else answer.value
