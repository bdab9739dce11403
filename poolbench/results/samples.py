"""`samples.csv` and `steps.csv`: what was measured, one line each, nothing summed up.

An empty cell is "none" or "not known".  Times are nanoseconds, sizes bytes.  Both files are written
by appending, case by case, and read back as pandas tables.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolbench.analysis.detail import Traced
from poolbench.domain import OUTCOMES, Case, row_name
from poolbench.plan.plan import Plan
from poolbench.plan.steps import KIND_NAMES, Free, Step
from poolbench.results.files import append_text, read_text, whole_lines
from poolbench.trace import NONE, StepTrace, Trace

if TYPE_CHECKING:
    import pandas as pd

SAMPLES = "samples.csv"
STEPS = "steps.csv"

_SAMPLE_COLUMNS = (
    "repetition",
    "pass",
    "iteration",
    "makespan_ns",
    "host_ns",
    "status",
    "reserved_high",
    "used_high",
    "n_out_of_memory",
)
_STEP_COLUMNS = (
    "iteration",
    "step",
    "line",
    "kind",
    "name",
    "stream",
    "host_begin_ns",
    "host_end_ns",
    "device_begin_ns",
    "device_end_ns",
    "address",
    "reserved",
    "used",
    "outcome",
    "waited_for",
    "n_failures",
    "size",
    "record",
    "blocked",
)
_TEXT_COLUMNS = frozenset({"case", "row", "pass", "status", "kind", "name", "stream", "outcome"})

Cell = str | int | None


def _lines(rows: Iterable[Sequence[Cell]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _head(axis_names: Sequence[str]) -> list[str]:
    return ["case", *(f"axis_{name}" for name in axis_names), "row"]


def start(directory: Path, axis_names: Sequence[str]) -> None:
    """Make both files, with their headers."""
    for name, columns in ((SAMPLES, _SAMPLE_COLUMNS), (STEPS, _STEP_COLUMNS)):
        append_text(directory / name, _lines([[*_head(axis_names), *columns]]))


def _case_cells(case: Case) -> list[Cell]:
    return [case.key, *(text for _, text in case.axes), row_name(case.row)]


def _known(values: Sequence[int]) -> list[int | None]:
    return [None if value == NONE else value for value in values]


def append_sample(directory: Path, trace: Trace) -> None:
    """One line an iteration; one with empty times for a run that has none."""
    head = _case_cells(trace.case)
    makespans = _known(trace.makespan_ns.tolist())
    hosts = _known(trace.host_ns.tolist())
    rows: list[list[Cell]] = []
    for iteration in range(max(1, len(makespans), len(hosts))):
        rows.append(
            [
                *head,
                trace.repetition,
                trace.measured.value,
                iteration,
                makespans[iteration] if iteration < len(makespans) else None,
                hosts[iteration] if iteration < len(hosts) else None,
                trace.status.value,
                trace.reserved_high,
                trace.used_high,
                trace.n_out_of_memory,
            ]
        )
    append_text(directory / SAMPLES, _lines(rows))


def append_steps(directory: Path, plan: Plan, steps: StepTrace, examined: Traced) -> None:
    """Every step of a traced run, issued or not, in the order of issue.

    `waited_for` and `record` count lines of this case from 0: `iteration * steps + step`.
    """
    n_steps = plan.n_steps
    head = _case_cells(plan.case)
    fixed: list[tuple[Cell, ...]] = []
    for index, step in enumerate(plan.steps):
        stream = getattr(step, "stream", None)
        fixed.append(
            (
                index,
                plan.place(index).line,
                KIND_NAMES[type(step)],
                plan.names[index],
                plan.streams[stream].name if stream is not None else None,
            )
        )
    sizes = [_size_of(plan, step) for step in plan.steps]
    outcomes = [None if code == NONE else OUTCOMES[code].value for code in steps.outcome.tolist()]
    columns = zip(
        _known(steps.host_begin_ns.tolist()),
        _known(steps.host_end_ns.tolist()),
        _known(steps.device_begin_ns.tolist()),
        _known(steps.device_end_ns.tolist()),
        _known(steps.address.tolist()),
        _known(steps.reserved.tolist()),
        _known(steps.used.tolist()),
        outcomes,
        _known(steps.waited_for.tolist()),
        steps.n_failures.tolist(),
        sizes * (len(steps.outcome) // n_steps),
        _records(examined, n_steps, len(steps.outcome)),
        [1 if is_blocked else None for is_blocked in examined.blocked.tolist()],
        strict=True,
    )
    append_text(
        directory / STEPS,
        _lines(
            [*head, line // n_steps, *fixed[line % n_steps], *cells]
            for line, cells in enumerate(columns)
        ),
    )


def _size_of(plan: Plan, step: Step) -> int | None:
    """Bytes that a step allocates, frees or moves."""
    if isinstance(step, Free):
        return plan.buffers[step.buffer].size
    size: int | None = getattr(step, "size", None)
    return size


def _records(examined: Traced, n_steps: int, n_rows: int) -> list[int | None]:
    one = [None if record == NONE else record for record in examined.record_of]
    firsts = range(0, n_rows, n_steps or 1)
    return [None if record is None else first + record for first in firsts for record in one]


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    text = whole_lines(read_text(path))
    header = next(csv.reader(io.StringIO(text)), [])
    kinds: dict[str, Any] = {
        name: "str" if name in _TEXT_COLUMNS or name.startswith("axis_") else "Int64"
        for name in header
    }
    return pd.read_csv(io.StringIO(text), dtype=kinds, keep_default_na=False, na_values=[""])


def read_samples(directory: Path) -> pd.DataFrame:
    """`samples.csv` with whole numbers as `Int64` and empty cells as missing."""
    return _read(directory / SAMPLES)


def read_steps(directory: Path) -> pd.DataFrame:
    """`steps.csv`, likewise."""
    return _read(directory / STEPS)


def read_makespans(directory: Path) -> dict[str, list[tuple[float | None, ...]]]:
    """Key of a case -> by iteration, the makespans (us) of its timed runs that ended ok."""
    frame = read_samples(directory)
    timed = frame[(frame["pass"] == "timed") & (frame["status"] == "ok")]
    found: dict[str, list[tuple[float | None, ...]]] = {}
    for key, of_case in timed.groupby("case", sort=False):
        by_iteration = of_case.groupby("iteration")["makespan_ns"]
        found[str(key)] = [tuple((values.dropna() / 1000).tolist()) for _, values in by_iteration]
    return found
