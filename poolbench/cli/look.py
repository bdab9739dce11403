"""`show`, `export` and `compare`: results that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.errors import BadUsage

if TYPE_CHECKING:
    from poolbench.results.record import RunRecord

Results = Annotated[
    Path, typer.Argument(metavar="DIR", help="A results directory, or one that holds several.")
]


def show(
    directory: Results,
    wide: Annotated[
        bool, typer.Option("--wide", help="One table, however wide; do not fold it.")
    ] = False,
) -> None:
    """Show the results of a run again."""
    from poolbench.analysis.answer import answer
    from poolbench.render.console import for_data, line
    from poolbench.render.run import print_legend, print_run
    from poolbench.results.store import read, runs_in

    console = for_data()
    records: list[RunRecord] = []
    for path in runs_in(directory):
        if records:
            line(console)
        record = read(path)
        records.append(record)
        print_run(console, record, sentences=answer(record), directory=path, is_wide=wide)
    print_legend(console, records)


def export(
    directory: Results,
    file: Annotated[Path, typer.Argument(help="Written by its ending: .csv, .json or .md.")],
) -> None:
    """Write results as CSV, JSON or Markdown.

    A file of this name is replaced.
    """
    from poolbench.export.write import export as write
    from poolbench.export.write import formatter_for
    from poolbench.results.store import read, runs_in

    formatter_for(file)
    records = [read(path) for path in runs_in(directory)]
    write(records, file)
    n_cases = sum(len(record.cases) for record in records)
    typer.echo(f"{file}: {n_cases} cases of {len(records)} scenarios", err=True)


def compare(
    directory: Results,
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER", help="A second run, case by case.")
    ] = None,
    allow_mismatch: Annotated[
        bool,
        typer.Option("--allow-mismatch", help="Compare runs of different devices or drivers."),
    ] = False,
) -> None:
    """Put the attribute sets of a run, or two runs, side by side."""
    from poolbench.analysis.comparison import compare as comparison_of
    from poolbench.render.compare import print_comparison, print_comparison_legend
    from poolbench.render.console import for_data, for_words, line
    from poolbench.results.join import joined

    pairs, unmatched = joined(directory, other)
    comparisons = [comparison_of(first, second) for first, second in pairs]
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
    for index, comparison in enumerate(comparisons):
        if index:
            line(console)
        print_comparison(console, comparison)
    print_comparison_legend(console, comparisons)
