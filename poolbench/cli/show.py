"""`poolbench show`: a run that is there already, as a whole or looked at closely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.cli.options import FilterOption, ResultsArgument, RowsOption
from poolbench.errors import BadUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolbench.findings import CaseResult
    from poolbench.render.details import Part, View
    from poolbench.results.record import RunRecord


def show(
    directory: ResultsArgument,
    calls: Annotated[
        bool, typer.Option("--calls", help="Host time by kind of call; calls that blocked.")
    ] = False,
    streams: Annotated[
        bool, typer.Option("--streams", help="What ran together, and what could have.")
    ] = False,
    memory: Annotated[
        bool, typer.Option("--memory", help="Peaks, waste, and what failed allocations met.")
    ] = False,
    iterations: Annotated[
        bool, typer.Option("--iterations", help="The makespan of each iteration.")
    ] = False,
    timeline: Annotated[
        bool,
        typer.Option(
            "--timeline",
            help="Streams over time: who waited for whom. Without --attributes: 111 and 110.",
        ),
    ] = False,
    steps: Annotated[bool, typer.Option("--steps", help="Every step of the traced runs.")] = False,
    allocations: Annotated[
        bool,
        typer.Option("--allocations", help="Every allocation: how served, whose block, what cost."),
    ] = False,
    attributes: RowsOption = None,
    filters: FilterOption = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=V1,V2",
            help="With --steps, --allocations: only such, as outcome=internal_dependency.",
        ),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Which one. Timeline: the second, if there is one."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="T", help="The timeline's begin, as 100us.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="T", help="The timeline's end, as 1.5ms.")
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One table, however wide; do not fold it.")
    ] = False,
) -> None:
    """Show the results of a run again, or look closely at them.

    Without a view: the page that `run` printed. Views show the row with everything on, unless
    --attributes names rows.
    """
    from poolbench.cli.parsing import read_filters, read_time
    from poolbench.render.details import Part, View
    from poolbench.results.step_tables import read_where

    chosen = {
        View.CALLS: calls,
        View.STREAMS: streams,
        View.MEMORY: memory,
        View.ITERATIONS: iterations,
        View.TIMELINE: timeline,
        View.STEPS: steps,
        View.ALLOCATIONS: allocations,
    }
    views = [view for view, is_on in chosen.items() if is_on]
    wanted = read_filters(filters or [])
    begin, end = read_time("--from", from_), read_time("--to", to)
    if end is not None and end <= (begin or 0.0):
        raise BadUsage(f"--to {to} is not after --from {from_ or '0us'}")
    part = Part(
        iteration=iteration,
        from_us=begin,
        to_us=end,
        where=read_where(where or []),
    )
    if views:
        _views(directory, views, attributes, wanted, part, is_wide=wide)
    else:
        _page(directory, attributes, wanted, is_wide=wide)


def _page(
    directory: ResultsArgument,
    attributes: list[str] | None,
    wanted: Callable[[CaseResult], bool],
    *,
    is_wide: bool,
) -> None:
    from poolbench.analysis.answer import answer
    from poolbench.render.console import for_data, line
    from poolbench.render.run import print_legend, print_run
    from poolbench.results.store import read, runs_in

    console = for_data()
    records: list[RunRecord] = []
    for path in runs_in(directory):
        if records:
            line(console)
        record = _only(read(path), attributes, wanted)
        records.append(record)
        print_run(console, record, sentences=answer(record), directory=path, is_wide=is_wide)
    print_legend(console, records)


def _only(
    record: RunRecord, attributes: list[str] | None, wanted: Callable[[CaseResult], bool]
) -> RunRecord:
    """The record with these cases alone, as if no others had been asked for."""
    from dataclasses import replace

    kept = tuple(one for one in _of_rows(record.cases, attributes) if wanted(one))
    if len(kept) == len(record.cases):
        return record
    return replace(record, cases=kept, n_planned=len(kept))


def _of_rows(
    results: tuple[CaseResult, ...], attributes: list[str] | None
) -> tuple[CaseResult, ...]:
    from poolbench.plan.cases import select_rows

    if not attributes:
        return results
    rows = set(select_rows(attributes))
    return tuple(one for one in results if one.case.row in rows)


def _views(
    directory: ResultsArgument,
    views: list[View],
    attributes: list[str] | None,
    wanted: Callable[[CaseResult], bool],
    part: Part,
    *,
    is_wide: bool,
) -> None:
    from poolbench.render.console import for_data, line
    from poolbench.render.details import View, print_views
    from poolbench.results.chosen import default_rows, pair_of_internal
    from poolbench.results.kept import open_all

    console = for_data()
    for index, run in enumerate(open_all(directory)):
        if index:
            line(console)
        record = _only(run.record, None, wanted)
        if attributes:
            chosen = _of_rows(record.cases, attributes)
        elif views == [View.TIMELINE]:
            chosen = pair_of_internal(record)
        else:
            chosen = default_rows(record)
        print_views(
            console,
            run,
            views=views,
            results=chosen,
            part=part,
            is_wide=is_wide,
        )
