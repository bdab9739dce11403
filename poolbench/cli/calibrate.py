"""`calibrate`: a profile of the machine at hand, for the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poolbench.backends.select import Choice, open_backend
from poolbench.errors import BadUsage


def calibrate(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Keep the profile in FILE."),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="NAME-OR-FILE",
            help="The profile it is compared with, and which fills what cannot be measured.",
        ),
    ] = "h200",
    name: Annotated[
        str | None, typer.Option("--name", help="Of the profile. Default: the device's.")
    ] = None,
    backend: Annotated[
        Choice, typer.Option(help="cuda, or model to try the method out on the model itself.")
    ] = Choice.CUDA,
) -> None:
    """Measure a profile of this GPU for the model.

    Small scenarios (`calibrate/NAME`), each run a few times, take less than a minute. Each figure
    is read in the loop in which the model uses it; what cannot be measured is kept and marked so.
    """
    from poolbench.backends.model.profile_file import load, to_text
    from poolbench.calibrate.conduct import measure, n_runs, profile_of
    from poolbench.render.calibrate import print_calibration
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.progress import count_bar
    from poolbench.results.files import write_text

    base = load(against)
    if output is not None and output.exists():
        raise BadUsage(f"{output} is there already; results are not overwritten")
    opened, reason = open_backend(backend, time_limit_s=60.0)
    line(for_words(), f"backend {opened.kind.value}: {reason}")
    try:
        with count_bar(for_words(), "calibrate", n_runs()) as on_progress:
            found, environment = measure(opened, base.profile, on_progress=on_progress)
    finally:
        opened.close()
    made = profile_of(base, found, environment, name or environment.device)
    if output is not None:
        write_text(output, to_text(made))
    print_calibration(for_data(), found, made, base, environment)
