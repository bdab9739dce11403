"""`poolbench merge`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from poolbench.errors import ExitCode


def merge(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Results of `poolbench run`.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the merged results go.")
    ],
) -> None:
    """Put the parts of a sweep together.

    Runs of one scenario on the same device and driver become one run, with what is missing named.
    Other devices and drivers stay apart, and a table sets them side by side.
    """
    from poolbench.cli.fleet import merge_runs

    code = merge_runs(directories, output, ("poolbench", *sys.argv[1:]))
    if code is not ExitCode.DONE:
        raise typer.Exit(int(code))
