"""Views of the traced runs: calls of the host, streams, memory, iterations."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from poolbench.analysis.blocks import blocks_of
from poolbench.findings import CaseResult
from poolbench.render.console import line, prose
from poolbench.render.grid import lines_of
from poolbench.results import details
from poolbench.results.facts import floors_text, title
from poolbench.results.record import RunRecord
from poolbench.results.samples import read_makespans
from poolbench.results.table import Table


class View(StrEnum):
    """What `show` can look at closely."""

    CALLS = "calls"
    STREAMS = "streams"
    MEMORY = "memory"
    ITERATIONS = "iterations"


def print_views(
    console: Console,
    record: RunRecord,
    *,
    directory: Path,
    views: Sequence[View],
    results: Sequence[CaseResult],
    is_wide: bool,
) -> None:
    """`results` are the cases that are looked at."""
    line(console, Text(title(record), style="bold"))
    width = None if is_wide else console.width
    for view in views:
        line(console)
        for head, table, missing in _tables(view, directory, results):
            line(console, Text(head, style="bold"))
            for text in lines_of(table, width) if table is not None else [Text(missing)]:
                line(console, text)
        for note in _notes(view, record):
            prose(console, note, style="dim")


def default_rows(record: RunRecord) -> tuple[CaseResult, ...]:
    """Of each block the row with everything on: what is looked at unless rows are named."""
    found = [block.default_like or next(iter(block.results), None) for block in blocks_of(record)]
    return tuple(one for one in found if one is not None)


def _tables(
    view: View, directory: Path, results: Sequence[CaseResult]
) -> list[tuple[str, Table | None, str]]:
    """(heading, table, what is said instead of it)."""
    nothing = "nothing is kept of it: not traced, or by an older poolbench"
    match view:
        case View.CALLS:
            text = "Host time by kind of call (traced pass)"
            return [(text, details.calls_table(results), nothing)]
        case View.STREAMS:
            found = [
                (
                    "Streams that had work running together (traced pass, mean of an iteration)",
                    details.streams_table(results),
                    "fewer than two streams have work",
                )
            ]
            serialised = details.serialised_table(results)
            if serialised is not None:
                text = "Steps that ran one after the other though nothing in the scenario says so"
                found.append((text, serialised, ""))
            return found
        case View.MEMORY:
            found = [("Memory, at its peaks", details.memory_table(results), "no row has a pool")]
            failed = details.failed_table(results)
            if failed is not None:
                text = "Allocations that failed, and what the pool had free then (traced pass)"
                found.append((text, failed, ""))
            return found
        case View.ITERATIONS:
            table = details.iterations_table(results, read_makespans(directory))
            text = "Makespan, iteration by iteration (timed pass)"
            return [(text, table, "every run has one iteration")]


def _notes(view: View, record: RunRecord) -> list[str]:
    match view:
        case View.CALLS:
            text = "blocked: the call returned only when work of the device was over."
            floors = "" if record.is_predicted else f" Floors: {floors_text(record.before)}."
            return [text + floors]
        case View.STREAMS:
            return [
                "could be: were every step to start as soon as the scenario lets it; lost overlap "
                "is what is missing of that."
            ]
        case View.MEMORY:
            return [
                "waste: share of what is reserved that nobody asked for. Runs are of addresses "
                "that the run has seen; usable at once: without waiting for another stream."
            ]
        case View.ITERATIONS:
            return ["The first iteration pays for growth; tables show the others."]
