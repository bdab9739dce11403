"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poolbench.backends.select import Choice

BackendOption = Annotated[
    Choice,
    typer.Option("--backend", help="auto: the GPU if there is one, else the model (a prediction)."),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME-OR-FILE",
        help="The model's device: h200, or a file that `poolbench calibrate` wrote.",
    ),
]
ResultsArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="A results directory, or one that holds several.")
]
RowsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attributes",
        metavar="ROWS",
        help="Only these rows, separated by commas: 111, 1x0, preallocated, all, ...",
    ),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="KEY=V1,V2", help="Only such cases: row, status, an axis."),
]
