"""The steps of a traced run as tables of texts: `poolbench show --steps` and `--allocations`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolbench.domain import Row, row_name
from poolbench.errors import BadUsage
from poolbench.findings import CaseResult
from poolbench.plan.steps import BRACKETED_STEPS, KIND_NAMES
from poolbench.results.environment import Floors
from poolbench.results.layout import Columns
from poolbench.results.numbers import ABSENT, count_scale, size_scale, time_scale
from poolbench.results.table import Table, axes_text

if TYPE_CHECKING:
    import pandas as pd

Where = tuple[tuple[str, tuple[str, ...]], ...]
"""Column of `steps.csv` -> the values that are wanted."""

_BRACKETED = frozenset({"alloc", "free", *(KIND_NAMES[kind] for kind in BRACKETED_STEPS)})


@dataclass(frozen=True, slots=True)
class Line:
    """A line of `steps.csv` with the case that it is of; `start_ns` is the iteration's first call,
    `free` the line of the free that `waited_for` names."""

    result: CaseResult
    cells: dict[str, Any]
    start_ns: int
    free: dict[str, Any] | None

    @property
    def row(self) -> Row:
        return self.result.case.row

    def us(self, key: str) -> float | None:
        value = self.cells.get(key)
        return None if value is None else (value - self.start_ns) / 1000

    def length_us(self, which: str) -> float | None:
        begin, end = self.cells.get(f"{which}_begin_ns"), self.cells.get(f"{which}_end_ns")
        return None if begin is None or end is None else (end - begin) / 1000


def read_where(texts: Sequence[str]) -> Where:
    """`outcome=internal_dependency,grown`; raises `BadUsage`."""
    found = []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip():
            raise BadUsage(
                f"--where {text[:60]}: expected COLUMN=VALUE",
                hint="for example --where outcome=internal_dependency",
            )
        found.append((name.strip(), tuple(value.strip() for value in values.split(","))))
    return tuple(found)


def lines_of_case(
    result: CaseResult, frame: pd.DataFrame, *, iteration: int | None, where: Where
) -> list[Line]:
    """The lines that are wanted, in the order of issue.  Raises `BadUsage` for a `where` that names
    no column."""
    for name, _ in where:
        if name not in frame.columns:
            known = ", ".join(str(column) for column in frame.columns)
            raise BadUsage(f"--where {name}: steps have no such column", hint=f"there are: {known}")
    plain = frame.astype(object).where(frame.notna(), None)
    every: list[dict[str, Any]] = plain.to_dict("records")  # type: ignore[assignment]
    starts: dict[int, int] = {}
    for cells in every:
        if cells["host_begin_ns"] is not None:
            starts.setdefault(cells["iteration"], cells["host_begin_ns"])
    found = []
    for cells in every:
        if iteration is not None and cells["iteration"] != iteration:
            continue
        if all(_text(cells[name]) in values for name, values in where):
            waited_for = cells["waited_for"]
            free = every[waited_for] if waited_for is not None else None
            start = starts.get(cells["iteration"], 0)
            found.append(Line(result=result, cells=cells, start_ns=start, free=free))
    return found


def _text(value: object) -> str:
    return "" if value is None else str(value)


def steps_table(lines: Sequence[Line], floors: Floors) -> Table | None:
    """Every step; a time below its floor has a `<` before it."""
    if not lines:
        return None
    host = [line.length_us("host") for line in lines]
    device = [line.length_us("device") for line in lines]
    at_host = [line.us("host_begin_ns") for line in lines]
    at_device = [line.us("device_begin_ns") for line in lines]
    at = time_scale([*at_host, *at_device])
    took = time_scale([*host, *device])
    found = Columns()
    _identify(found, lines)
    found.add(-1, ("step",), lambda k: str(lines[k].cells["step"]))
    found.add(0, ("line",), lambda k: str(lines[k].cells["line"]))
    found.add(0, ("kind",), lambda k: lines[k].cells["kind"])
    found.add(0, ("name",), lambda k: _text(lines[k].cells["name"]))
    found.add(0, ("stream",), lambda k: lines[k].cells["stream"] or ABSENT)
    found.add_numbers(1, ("call", "at"), at_host, at)
    found.add(
        1,
        ("call", "took"),
        lambda k: _over(host[k], _host_floor(lines[k], floors), took.text(host[k])),
        scale=took,
    )
    found.add_numbers(2, ("device", "at"), at_device, at)
    found.add(
        2,
        ("device", "took"),
        lambda k: _over(device[k], _device_floor(lines[k], floors), took.text(device[k])),
        scale=took,
    )
    found.add(3, ("outcome",), lambda k: _text(lines[k].cells["outcome"]))
    _add_pool(found, lines, 4)
    return found.table([axes_text(line.result.case) for line in lines])


def _over(value: float | None, floor_us: float, text: str) -> str:
    return f"<{text}" if value is not None and 0 < value <= floor_us else text


def _host_floor(line: Line, floors: Floors) -> float:
    is_launch = line.cells["kind"] in ("kernel", "fill", "check")
    return (floors.launch_ns if is_launch else floors.host_call_ns) / 1000


def _device_floor(line: Line, floors: Floors) -> float:
    is_bracketed = line.cells["kind"] in _BRACKETED
    return (floors.event_pair_ns if is_bracketed else floors.kernel_ns) / 1000


def _identify(found: Columns, lines: Sequence[Line]) -> None:
    found.add(-1, ("row",), lambda k: row_name(lines[k].row))
    if len({line.cells["iteration"] for line in lines}) > 1:
        found.add(-1, ("iteration",), lambda k: str(lines[k].cells["iteration"]))


def _add_pool(found: Columns, lines: Sequence[Line], group: int) -> None:
    reserved = [line.cells["reserved"] for line in lines]
    used = [line.cells["used"] for line in lines]
    if any(value is not None for value in reserved):
        scale = size_scale([*reserved, *used])
        found.add_numbers(group, ("reserved",), reserved, scale)
        found.add_numbers(group, ("used",), used, scale)


def allocations_table(lines: Sequence[Line], floors: Floors) -> Table | None:
    """Every allocation: how it was served, whose block it got, and what it took."""
    allocs = [line for line in lines if line.cells["kind"] == "alloc"]
    if not allocs:
        return None
    host = [line.length_us("host") for line in allocs]
    waits = [_stream_us(line, floors) for line in allocs]
    sizes = [line.cells.get("size") for line in allocs]
    took = time_scale(host)
    found = Columns()
    _identify(found, allocs)
    found.add(-1, ("allocation",), lambda k: _text(allocs[k].cells["name"]))
    found.add(0, ("line",), lambda k: str(allocs[k].cells["line"]))
    found.add(0, ("stream",), lambda k: allocs[k].cells["stream"])
    if any(size is not None for size in sizes):
        found.add_numbers(0, ("size",), sizes, size_scale(sizes))
    found.add(1, ("outcome",), lambda k: _text(allocs[k].cells["outcome"]))
    found.add(1, ("block", "freed by"), lambda k: _block_text(allocs[k]))
    found.add(2, ("call", "took"), lambda k: took.text(host[k]), scale=took)
    found.add_numbers(2, ("stream", "waited"), waits, time_scale(waits))
    failures = [line.cells["n_failures"] or 0 for line in allocs]
    if any(failures):
        found.add_numbers(2, ("failed", "attempts"), failures, count_scale())
    _add_pool(found, allocs, 3)
    return found.table([axes_text(line.result.case) for line in allocs])


def _stream_us(line: Line, floors: Floors) -> float | None:
    """How long the stream stood at the allocation, where the driver made it wait."""
    length = line.length_us("device")
    if line.cells["outcome"] != "internal_dependency" or length is None:
        return None
    return max(0.0, length - floors.event_pair_ns / 1000)


def _block_text(line: Line) -> str:
    free = line.free
    return ABSENT if free is None else f"{free['name']} on {free['stream']} (line {free['line']})"
