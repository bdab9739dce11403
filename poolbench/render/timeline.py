"""Timelines in the terminal: streams over one axis, the host below, then the pool's memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.render.console import line, prose, terms
from poolbench.results.numbers import time_scale
from poolbench.timeline.cells import GLYPHS, Axis, Cell, cells, marks_of, strip, ticks
from poolbench.timeline.values import MEANING, Kind, Timeline
from poolbench.units import format_size

MAX_MARKS = 9
MAX_FAILURES = 3
_LABEL = 16
"""Lane names longer than this are cut."""
_STYLES: dict[Kind, str] = {
    Kind.KERNEL: "green",
    Kind.COPY: "cyan",
    Kind.MEMSET: "blue",
    Kind.CALLBACK: "yellow",
    Kind.GRAPH: "green",
    Kind.INSERTED_WAIT: "bold red",
    Kind.EXPLICIT_WAIT: "yellow",
    Kind.HELD: "dim",
    Kind.GROWTH: "magenta",
    Kind.BLOCKED: "yellow",
    Kind.FAILED: "bold red",
    Kind.CALL: "dim",
}


def print_timelines(
    console: Console,
    timelines: Sequence[Timeline],
    *,
    from_us: float | None,
    to_us: float | None,
    n_others: int,
) -> None:
    """All on the same scale.  `n_others` cases are not shown."""
    if not timelines:
        line(console, "No traced run to show: not traced, another iteration, or other rows.")
        return
    end = max(timeline.end_us for timeline in timelines) if to_us is None else to_us
    begin = from_us or 0.0
    names = [lane.name for timeline in timelines for lane in timeline.lanes]
    label = min(_LABEL, max(len(name) for name in [*names, "reserved"]))
    axis = Axis(begin_us=begin, end_us=max(end, begin + 1e-3), width=console.width - label - 2)
    marks = marks_of(timelines, axis, MAX_MARKS)
    for at, timeline in enumerate(timelines):
        if at:
            line(console)
        _print_one(console, timeline, axis, label, marks)
    line(console)
    print_key(console, [kind for kind in Kind if any(kind in one.kinds for one in timelines)])
    if n_others:
        cases = "case is" if n_others == 1 else "cases are"
        text = f"{n_others} more {cases} there: --attributes, --filter."
        prose(console, text, style="dim")


def _print_one(
    console: Console,
    timeline: Timeline,
    axis: Axis,
    label: int,
    marks: dict[tuple[str, int], str],
) -> None:
    line(console, Text(timeline.title, style="bold cyan"))
    own = {row: mark for (key, row), mark in marks.items() if key == timeline.key}
    for lane in timeline.lanes:
        line(console, _lane_text(lane.name, cells(lane, axis, own), label))
    _print_axis(console, axis, label)
    top = max((level.reserved for level in timeline.levels), default=0)
    if top:
        for key in ("reserved", "used"):
            peak = max(getattr(level, key) for level in timeline.levels)
            drawn = strip(timeline.levels, axis, key, top).rstrip()
            line(console, _strip_text(key, drawn, label, axis, f"{format_size(peak)} at most"))
    for link in timeline.links:
        if link.row in own:
            prose(console, f"{own[link.row]} {link.text()}", indent="  ")
    n_more = len(timeline.links) - len(own)
    if n_more > 0:
        line(console, f"  and {n_more} more inserted waits: --where outcome=internal_dependency")
    for failure in timeline.failures[:MAX_FAILURES]:
        what = "out of memory" if failure.is_final else "failed, then got through"
        at = f"{failure.at_us:.0f} us"
        line(console, f"F {failure.name} (line {failure.line}) {what}, at {at}")
    if len(timeline.failures) > MAX_FAILURES:
        line(console, f"  and {len(timeline.failures) - MAX_FAILURES} more failed allocations")


def _lane_text(name: str, found: Sequence[Cell], label: int) -> Text:
    text = Text(f"{name[:label]:<{label}} │")
    for cell in found:
        text.append(cell.text, style=_STYLES[cell.kind] if cell.kind is not None else "")
    text.rstrip()
    return text


def _print_axis(console: Console, axis: Axis, label: int) -> None:
    scale = time_scale([axis.end_us])
    marks, numbers = ticks(axis, unit=scale.unit, divisor=scale.divisor)
    line(console, Text(f"{'':<{label}} └{marks}", style="dim"))
    line(console, Text(f"{'':<{label}}  {numbers}", style="dim"))


def _strip_text(key: str, drawn: str, label: int, axis: Axis, peak: str) -> Text:
    """The peak stands behind the strip where there is room, else below it."""
    text = Text(f"{key:<{label}} │")
    text.append(drawn, style="blue" if key == "reserved" else "green")
    if len(drawn) + len(peak) + 1 <= axis.width:
        text.append(f" {peak}", style="dim")
    return text


def print_key(console: Console, kinds: Sequence[Kind]) -> None:
    """Of what occurs only."""
    entries = [(GLYPHS[kind], f"{kind.value}: {MEANING[kind]}") for kind in kinds]
    if Kind.INSERTED_WAIT in kinds:
        entries.append(("1..9", "an inserted wait that is told below its timeline"))
    terms(console, entries, style="bold")
