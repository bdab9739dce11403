"""Options that several commands have."""

from __future__ import annotations

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
