"""`advise`, `open`, `export` and `compare`: results that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poolbench.cli.options import ResultsArgument
from poolbench.errors import BadUsage, ExitCode


def advise(directory: ResultsArgument) -> None:
    """Say which attribute set to use, and what would do more.

    Each sentence rests on figures of the run; what it does not decide, it says.
    """
    from poolbench.analysis.advice import advise as advice_on
    from poolbench.render.advice import print_advice
    from poolbench.render.console import for_data, line
    from poolbench.results.store import read, runs_in

    console = for_data()
    for index, path in enumerate(runs_in(directory)):
        if index:
            line(console)
        record = read(path)
        print_advice(console, record, advice_on(record))


def export(
    directory: ResultsArgument,
    file: Annotated[
        Path,
        typer.Argument(
            help="Written by its ending: .html, .csv, .json, .md, .svg, .png, "
            ".perfetto.json, .nvbench.json, .bench.txt."
        ),
    ],
) -> None:
    """Write results for spreadsheets, reports and other tools.

    .nvbench.json is for `nvbench-compare-robust`, .bench.txt for Go's `benchstat`, .perfetto.json
    for ui.perfetto.dev.

    A file of this name is replaced.
    """
    from poolbench.export.write import export as write
    from poolbench.export.write import writer_for
    from poolbench.results.kept import open_all

    writer_for(file)
    runs = open_all(directory)
    write(runs, file)
    n_cases = sum(len(run.record.cases) for run in runs)
    typer.echo(f"{file}: {n_cases} cases of {len(runs)} scenarios", err=True)


def open_report(directory: ResultsArgument) -> None:
    """Write the HTML report to a temporary place and open it.

    Prints where it is. Without a browser on this machine, that is all.
    """
    import tempfile
    import webbrowser

    from poolbench.report.write import write
    from poolbench.results.kept import open_all

    runs = open_all(directory)
    path = Path(tempfile.mkdtemp(prefix="poolbench-")) / f"{directory.resolve().name}.html"
    write(runs, path)
    typer.echo(path)
    if not webbrowser.open(path.as_uri()):
        typer.echo("there is no browser here to open it with", err=True)


def compare(
    directory: ResultsArgument,
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER", help="A second run, case by case.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="ROW",
            help="Within a run: the row compared with. Default: preallocated and 111.",
        ),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="KEY", help="Lay the ratios out: these down, ..."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--col", metavar="KEY", help="... these across: row, scenario, or an axis."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter", metavar="KEY=V1,V2", help="Only such cases: row, status, an axis."
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="X%",
            help="Ratios this close to 1 are the same. Default: 2% within a run, 5% between two.",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="GROUND[:X%]",
            help="Exit with 1 for: slower, oom, wait, more-memory. slower: only where the whole "
            "interval is above the threshold.",
        ),
    ] = None,
    allow_mismatch: Annotated[
        bool,
        typer.Option("--allow-mismatch", help="Compare runs of different devices or drivers."),
    ] = False,
) -> None:
    """Put the attribute sets of a run, or two runs, side by side."""
    from poolbench.analysis.comparison import BETWEEN_SHARE
    from poolbench.analysis.comparison import compare as comparison_of
    from poolbench.analysis.gate import failures, read_gates, read_share
    from poolbench.analysis.statistics import SAME_SHARE
    from poolbench.cli.parsing import read_filters
    from poolbench.render.compare import (
        print_comparison,
        print_comparison_legend,
        print_effects,
        print_pivot,
    )
    from poolbench.render.console import for_data, for_words, line
    from poolbench.results.join import joined

    band = None if threshold is None else read_share(threshold, "--threshold")
    usual = SAME_SHARE if other is None else BETWEEN_SHARE
    gates = read_gates(fail_on or [], threshold=usual if band is None else band)
    wanted = read_filters(filters or [])
    if baseline is not None and other is not None:
        raise BadUsage("--baseline picks a row within one run; two runs are compared row by row")
    if fail_on and other is None and baseline is None:
        baseline = "111"
    pairs, unmatched = joined(directory, other)
    comparisons = [
        comparison_of(first, second, baseline=baseline, band=band, wanted=wanted)
        for first, second in pairs
    ]
    words = for_words()
    for name in unmatched:
        line(words, f"{name} is in one of the runs only")
    for comparison in comparisons:
        fatal = [mismatch for mismatch in comparison.mismatches if mismatch.is_fatal]
        if fatal and not allow_mismatch:
            told = "; ".join(f"{one.what} {one.first} against {one.second}" for one in fatal)
            raise BadUsage(
                f"{comparison.first.scenario}: these runs do not compare: {told}",
                hint="--allow-mismatch puts them side by side all the same",
            )
    console = for_data()
    every = [pair for comparison in comparisons for pair in comparison.pairs]
    if rows or columns:
        print_pivot(console, every, rows or [], columns or [])
    else:
        for index, comparison in enumerate(comparisons):
            if index:
                line(console)
            print_comparison(console, comparison)
            if comparison.is_within:
                print_effects(console, comparison.first)
        print_comparison_legend(console, comparisons)
    failed = list(failures(every, gates))
    for pair, why in failed:
        line(words, f"{pair.second.case.key} ({pair.name}): {why}")
    if failed:
        raise typer.Exit(int(ExitCode.EXPECTATION_FAILED))
