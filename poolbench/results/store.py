"""The results directory: one scenario, one run, readable at any moment of the run.

    DIR/run.json       format version, environment, cases, findings (replaced as a whole)
    DIR/samples.csv    every repetition (lines added as runs end)
    DIR/steps.csv      the traced run of each case, step by step (likewise)
    DIR/scenario.yaml  the scenario, and the files that it names

A run of several scenarios has one such directory for each, DIR/<scenario>/.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from poolbench.errors import BadUsage
from poolbench.results import samples, versioned
from poolbench.results.files import read_text, write_bytes, write_text
from poolbench.results.record import FORMAT_VERSION, RunRecord
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.workload import to_bytes

if TYPE_CHECKING:
    from pydantic import TypeAdapter

RUN = "run.json"
SCENARIO = "scenario.yaml"


@cache
def _adapter() -> TypeAdapter[RunRecord]:
    from pydantic import TypeAdapter

    return TypeAdapter(RunRecord)


def refuse_used(directory: Path) -> None:
    """Raises `BadUsage` if something is there already that a run would mix with."""
    if directory.is_dir() and not any(directory.iterdir()):
        return
    if directory.exists() or directory.is_symlink():
        raise BadUsage(
            f"{directory} is there already; results are not overwritten",
            hint="name another directory with --output, or remove this one",
        )


def create(directory: Path, scenario: Scenario) -> None:
    """Make the directory with the scenario and two empty tables in it.

    Raises `BadUsage` if it holds anything, or cannot be made.
    """
    refuse_used(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in kernel_files(scenario).items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            write_text(directory / name, text)
        recorded = scenario.head.recorded
        if recorded is not None and scenario.workload is not None:
            write_bytes(directory / _beside(recorded.steps), to_bytes(scenario.workload))
    except OSError as fault:
        raise BadUsage(f"cannot make {directory}: {fault.strerror}") from fault
    write_text(directory / SCENARIO, scenario.text)
    samples.start(directory, tuple(scenario.head.axes))


def kernel_files(scenario: Scenario) -> dict[str, str]:
    """Relative path -> CUDA C of the files that the scenario names beside itself."""
    found = {}
    for name, kernel in scenario.head.kernels.items():
        if kernel.file is None or name not in scenario.sources:
            continue
        found[_beside(kernel.file)] = scenario.sources[name]
    return found


def _beside(file: str) -> str:
    """Where a file of the scenario's folder goes in the results directory."""
    path = PurePosixPath(file)
    is_inside = not path.is_absolute() and ".." not in path.parts
    return str(path) if is_inside else path.name


def write_record(directory: Path, record: RunRecord) -> None:
    write_text(directory / RUN, to_json(record) + "\n")


def to_json(record: RunRecord) -> str:
    return versioned.to_text(record, _adapter(), FORMAT_VERSION)


def to_plain(record: RunRecord) -> dict[str, Any]:
    """The record as JSON values, its format version first."""
    return versioned.to_plain(record, _adapter(), FORMAT_VERSION)


def from_json(text: str, *, name: str) -> RunRecord:
    """The record that a `run.json` holds; raises `BadUsage`."""
    remedy = "the raw figures in samples.csv may still be whole; run the scenario again"
    return versioned.of_text(text, _adapter(), FORMAT_VERSION, name=name, remedy=remedy)


def read(directory: Path) -> RunRecord:
    """The record of one results directory; raises `BadUsage`."""
    return from_json(read_text(directory / RUN), name=str(directory / RUN))


def runs_in(directory: Path) -> tuple[Path, ...]:
    """The results directories that `directory` is or holds, by name; raises `BadUsage` for none."""
    if not directory.exists():
        raise BadUsage(f"there is no directory {directory}")
    if (directory / RUN).is_file():
        return (directory,)
    found = sorted(path.parent for path in directory.rglob(RUN))
    if not found:
        raise BadUsage(
            f"{directory} holds no results",
            hint="`poolbench run` says where it put them; a results directory has a run.json",
        )
    return tuple(found)
