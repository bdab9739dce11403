"""Views of the traced runs: calls of the host, streams, memory, iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.text import Text

from poolbench.findings import CaseResult
from poolbench.render.console import line, prose
from poolbench.render.grid import lines_of
from poolbench.render.timeline import print_timelines
from poolbench.results import details
from poolbench.results.facts import floors_text, title
from poolbench.results.kept import Kept
from poolbench.results.record import RunRecord
from poolbench.results.step_tables import (
    Line,
    Where,
    allocations_table,
    lines_of_case,
    steps_table,
)
from poolbench.results.table import Table


class View(StrEnum):
    """What `show` can look at closely."""

    CALLS = "calls"
    STREAMS = "streams"
    MEMORY = "memory"
    ITERATIONS = "iterations"
    STEPS = "steps"
    ALLOCATIONS = "allocations"
    TIMELINE = "timeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of the traced runs is looked at.

    iteration
        `None` is the second, which pays for growth no more; in tables of steps all of them.
    from_us, to_us
        of a timeline, from the iteration's first call.
    where
        which steps, in tables of steps.
    """

    iteration: int | None = None
    from_us: float | None = None
    to_us: float | None = None
    where: Where = ()


def print_views(
    console: Console,
    run: Kept,
    *,
    views: Sequence[View],
    results: Sequence[CaseResult],
    part: Part,
    is_wide: bool,
) -> None:
    """`results` are the cases that are looked at."""
    line(console, Text(title(run.record), style="bold"))
    width = None if is_wide else console.width
    for view in views:
        line(console)
        if view is View.TIMELINE:
            _print_timeline(console, run, results, part)
            continue
        for head, table, missing in _tables(view, run, results, part):
            line(console, Text(head, style="bold"))
            for text in lines_of(table, width) if table is not None else [Text(missing)]:
                line(console, text)
        for note in _notes(view, run.record):
            prose(console, note, style="dim")


def _print_timeline(console: Console, run: Kept, results: Sequence[CaseResult], part: Part) -> None:
    found = [run.timeline(result, part.iteration) for result in results]
    timelines = [one for one in found if one is not None]
    n_traced = sum(result.case.key in run.steps for result in run.record.cases)
    print_timelines(
        console,
        timelines,
        from_us=part.from_us,
        to_us=part.to_us,
        n_others=n_traced - len(timelines),
    )


def _lines(run: Kept, results: Sequence[CaseResult], part: Part) -> list[Line]:
    return [
        line
        for result in results
        if result.case.key in run.steps
        for line in lines_of_case(
            result, run.steps[result.case.key], iteration=part.iteration, where=part.where
        )
    ]


def _tables(
    view: View, run: Kept, results: Sequence[CaseResult], part: Part
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
            table = details.iterations_table(results, run.makespans_us)
            text = "Makespan, iteration by iteration (timed pass)"
            return [(text, table, "every run has one iteration")]
        case View.STEPS:
            lines = _lines(run, results, part)
            table = steps_table(lines, run.record.before.floors)
            return [("Steps (traced pass)", table, "no step is like that")]
        case View.ALLOCATIONS:
            lines = _lines(run, results, part)
            table = allocations_table(lines, run.record.before.floors)
            return [("Allocations (traced pass)", table, "no allocation is like that")]
        case View.TIMELINE:
            return []


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
        case View.STEPS:
            return ["<: no more than the floor of such a step; it may be nothing at all."]
        case View.ALLOCATIONS | View.TIMELINE:
            return []
        case View.ITERATIONS:
            return ["The first iteration pays for growth; tables show the others."]
