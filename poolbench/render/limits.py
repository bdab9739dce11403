"""The smallest pools of a scenario, row by row."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from poolbench.domain import row_name
from poolbench.limits import STEP, Limit, Limits
from poolbench.render.console import line, prose
from poolbench.render.grid import lines_of
from poolbench.results.facts import environment_title
from poolbench.results.layout import Columns
from poolbench.results.numbers import count_scale, size_scale
from poolbench.results.record import PREDICTED
from poolbench.results.table import Table, axes_text
from poolbench.units import format_size


def print_limits(console: Console, limits: Limits, *, directory: str) -> None:
    line(console, Text(f"{limits.scenario}: {environment_title(limits.environment)}", style="bold"))
    line(console)
    if not limits.found:
        line(console, "No row with a pool was asked for.")
        return
    for text in lines_of(limits_table(limits), console.width):
        line(console, text)
    line(console)
    for sentence in sentences(limits):
        prose(console, f"• {sentence}", indent="  ")
    for found in limits.found:
        if found.reason:
            prose(console, f"• {found.case.key}: {found.reason}", indent="  ")
    runs = "run" if limits.repeats == 1 else "runs"
    prose(
        console,
        f"Limits in steps of {format_size(STEP)}, each tried in {limits.repeats} {runs}; the "
        f"next smaller one is not enough. Kept in {directory}.",
        style="dim",
    )


def limits_table(limits: Limits) -> Table:
    rows = limits.found
    scale = size_scale(
        value for one in rows for value in (one.unlimited, one.no_failure, one.no_wait)
    )
    found = Columns()
    found.add(-1, ("row",), lambda k: row_name(rows[k].case.row))
    if limits.is_predicted:
        found.add(-1, ("by",), lambda _: "model")
    found.add_numbers(0, ("reserved", "no limit"), [one.unlimited for one in rows], scale)
    found.add_numbers(1, ("smallest limit", "no failure"), [one.no_failure for one in rows], scale)
    found.add_numbers(1, ("no failure", "and no wait"), [one.no_wait for one in rows], scale)
    found.add_numbers(2, ("runs",), [one.n_runs for one in rows], count_scale())
    return found.table([axes_text(one.case) for one in rows])


def sentences(limits: Limits) -> list[str]:
    """Which rows make do with least, block by block; `Predicted` where nothing was measured."""
    blocks: dict[str, list[Limit]] = {}
    for one in limits.found:
        if one.no_failure is not None:
            blocks.setdefault(axes_text(one.case), []).append(one)
    told = []
    for axes, rows in blocks.items():
        lead = f"With {axes}: " if axes else ""
        least = min(one.no_failure or 0 for one in rows)
        most = max(one.no_failure or 0 for one in rows)
        if least == most:
            text = f"{lead}every row needs {format_size(least)} to run without a failure"
        else:
            names = " ".join(row_name(one.case.row) for one in rows if one.no_failure == least)
            text = (
                f"{lead}{names} run without a failure in {format_size(least)}, the others need up "
                f"to {format_size(most)}"
            )
        waiting = [one for one in rows if one.no_wait and one.no_wait > (one.no_failure or 0)]
        if waiting:
            most = max(one.no_wait or 0 for one in waiting)
            names = " ".join(row_name(one.case.row) for one in waiting)
            text += f"; for {names} not to wait either takes {format_size(most)}"
        told.append(f"{text}.")
    if told and limits.is_predicted:
        told[0] = f"{PREDICTED} {told[0]}"
    return told
