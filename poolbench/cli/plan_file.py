"""`poolbench run --plan --export`: the plan of one case goes to a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.export.plan import to_json
from poolbench.prepare import Experiment
from poolbench.results.files import write_text


def write_plan(path: Path, experiments: Sequence[Experiment]) -> None:
    """Raises `BadUsage` if there is more than one case."""
    plans = [plan for experiment in experiments for plan in experiment.plans]
    if len(plans) != 1:
        raise BadUsage(
            f"--export writes the plan of one case; there are {len(plans)}",
            hint="choose a row with --attributes and values with --set",
        )
    module = files("poolbench.backends.cuda").joinpath("kernels.cu").read_text("utf8")
    write_text(path, to_json(plans[0], module))
