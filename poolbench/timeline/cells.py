"""A timeline in characters: so many columns for so many microseconds.

Pure.  Each cell shows what filled most of its time; something that is shorter than a cell is drawn
thin, but it is drawn.  Everything can be told without colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from poolbench.timeline.values import Kind, Lane, Level, Timeline

GLYPHS: dict[Kind, str] = {
    Kind.KERNEL: "█",
    Kind.COPY: "▓",
    Kind.MEMSET: "▒",
    Kind.CALLBACK: "▚",
    Kind.GRAPH: "▙",
    Kind.INSERTED_WAIT: "×",
    Kind.EXPLICIT_WAIT: "·",
    Kind.HELD: "-",
    Kind.GROWTH: "G",
    Kind.BLOCKED: "B",
    Kind.FAILED: "F",
    Kind.CALL: "▪",
}
THIN: dict[Kind, str] = {
    Kind.KERNEL: "▌",
    Kind.COPY: "▌",
    Kind.MEMSET: "▌",
    Kind.CALLBACK: "▌",
    Kind.GRAPH: "▌",
    Kind.CALL: ".",
}
"""What fills less than half of its cell; a wait, growth or failure looks the same at any length."""
_FOREMOST = (Kind.FAILED, Kind.GROWTH, Kind.INSERTED_WAIT)
"""Rare and worth seeing: these win their cell however short they are."""
EIGHTHS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """`width` cells from `begin_us` to `end_us`."""

    begin_us: float
    end_us: float
    width: int

    def cell(self, at_us: float) -> float:
        span = self.end_us - self.begin_us
        return (at_us - self.begin_us) / span * self.width if span > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`mark` is the number of a wait that begins here."""

    text: str
    kind: Kind | None


def cells(lane: Lane, axis: Axis, marks: dict[int, str]) -> list[Cell]:
    """`marks`: row of an allocation that waited -> the character that names it."""
    filled: list[dict[Kind, float]] = [{} for _ in range(axis.width)]
    named: dict[int, str] = {}
    for span in lane.spans:
        low, high = axis.cell(span.begin_us), axis.cell(span.end_us)
        if high < 0 or low >= axis.width or (high <= 0 and low < 0):
            continue
        first = min(axis.width - 1, max(0, math.floor(low)))
        last = min(axis.width - 1, max(first, math.ceil(high) - 1))
        for at in range(first, last + 1):
            part = max(1e-6, min(high, at + 1) - max(low, at))
            filled[at][span.kind] = filled[at].get(span.kind, 0.0) + part
        if span.row in marks and span.kind is Kind.INSERTED_WAIT:
            named[first] = marks[span.row]
    found = [_cell(one) for one in filled]
    for at, mark in named.items():
        found[at] = Cell(text=mark, kind=Kind.INSERTED_WAIT)
    return found


def _cell(parts: dict[Kind, float]) -> Cell:
    if not parts:
        return Cell(text=" ", kind=None)
    kind = next((one for one in _FOREMOST if one in parts), None)
    if kind is None:
        kind = max(parts, key=lambda one: parts[one])
    is_thin = parts[kind] < 0.5 and kind in THIN
    return Cell(text=THIN[kind] if is_thin else GLYPHS[kind], kind=kind)


def ticks(axis: Axis, *, unit: str, divisor: float) -> tuple[str, str]:
    """The line of marks and the line of numbers below it."""
    span = axis.end_us - axis.begin_us
    if span <= 0 or axis.width < 8:
        return "", ""
    step = _round_step(span / divisor / max(1, axis.width // 14)) * divisor
    marks, numbers = ["─"] * axis.width, [" "] * axis.width
    at = math.ceil(axis.begin_us / step - 1e-9) * step
    free_from = 0
    while at <= axis.end_us + 1e-9:
        cell = min(axis.width - 1, round(axis.cell(at)))
        text = _number(at / divisor) + (f" {unit}" if free_from == 0 else "")
        if cell >= free_from:
            marks[cell] = "┬"
            start = max(free_from, min(cell, axis.width - len(text)))
            numbers[start : start + len(text)] = text
            free_from = start + len(text) + 1
        at += step
    return "".join(marks), "".join(numbers).rstrip()


def _round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... that is no less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _number(value: float) -> str:
    return f"{value:.6g}"


def strip(levels: Sequence[Level], axis: Axis, key: str, top: int) -> str:
    """Reserved or used over time, in eighths of `top`: the highest of each cell."""
    if not top:
        return " " * axis.width
    highs = [0] * axis.width
    for at, level in enumerate(levels):
        until = levels[at + 1].at_us if at + 1 < len(levels) else axis.end_us
        low = max(0, math.floor(axis.cell(level.at_us)))
        high = min(axis.width, max(low + 1, math.ceil(axis.cell(until))))
        for cell in range(low, high):
            highs[cell] = max(highs[cell], getattr(level, key))
    return "".join(EIGHTHS[min(8, math.ceil(8 * high / top))] for high in highs)


def marks_of(timelines: Sequence[Timeline], axis: Axis, most: int) -> dict[tuple[str, int], str]:
    """The longest waits that can be seen, numbered as they come: (case, row) -> `1` to `9`."""
    seen = [
        (timeline.key, link)
        for timeline in timelines
        for link in timeline.links
        if link.begin_us < axis.end_us and link.begin_us + link.wait_us > axis.begin_us
    ]
    longest = sorted(seen, key=lambda one: -one[1].wait_us)[:most]
    kept = {(key, link.row) for key, link in longest}
    ordered = [(key, link.row) for key, link in seen if (key, link.row) in kept]
    return {where: str(number) for number, where in enumerate(ordered, 1)}
