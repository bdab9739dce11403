"""From the steps of a traced run, as `steps.csv` has them, to lanes.

Results of an older poolbench lack the columns `size`, `record` and `blocked`: events are found by
name there, and only synchronisations count as blocked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolbench.domain import Baseline, Outcome
from poolbench.findings import CaseResult
from poolbench.timeline.values import (
    HOST,
    Failure,
    Kind,
    Lane,
    Level,
    Link,
    Span,
    Timeline,
)

if TYPE_CHECKING:
    import pandas as pd

_WORK = {"kernel": Kind.KERNEL, "fill": Kind.KERNEL, "check": Kind.KERNEL}
_WORK |= {"memcpy": Kind.COPY, "memset": Kind.MEMSET, "callback": Kind.CALLBACK}
_WORK |= {"graph": Kind.GRAPH}
_IN_STREAM = frozenset({*_WORK, "alloc", "free", "record", "wait", "hold"})
_MAPPED = frozenset({Outcome.GROWN.value, Outcome.REMAPPED.value})
_BLOCKS_NS = 20_000
"""In old results a synchronisation of this length counts as blocked."""
_SHORT_NS = 500
"""Waits shorter than this are the clock's."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The rows of one iteration; `first` is the number of the first."""

    rows: list[Row]
    first: int
    start_ns: int

    def us(self, ns: int) -> float:
        return (ns - self.start_ns) / 1000


def cases_of(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Key of a case -> its lines of `steps.csv`."""
    return {str(key): found for key, found in frame.groupby("case", sort=False)}


def iterations_of(frame: pd.DataFrame) -> int:
    return int(frame["iteration"].max()) + 1 if len(frame) else 0


def usual_iteration(n_iterations: int) -> int:
    """The second: the first one pays for growth."""
    return min(1, max(0, n_iterations - 1))


def timeline_of(
    result: CaseResult, frame: pd.DataFrame, iteration: int, *, floor_us: float = 0.0
) -> Timeline:
    """`frame` holds the lines of this case, all iterations; `floor_us` is what two events in
    succession read, which no wait is made of."""
    steps = _steps_of(frame, iteration)
    issued = [row for row in steps.rows if row["host_begin_ns"] is not None]
    lanes = _lanes(result, steps)
    ends = [span.end_us for lane in lanes for span in lane.spans]
    return Timeline(
        key=result.case.key,
        row=result.case.row,
        axes=result.case.axes,
        status=result.status.value,
        iteration=iteration,
        n_iterations=iterations_of(frame),
        n_steps=len(issued),
        lanes=lanes,
        links=tuple(_links(steps, floor_us)),
        levels=tuple(_levels(steps)),
        failures=tuple(_failures(steps)),
        end_us=max(ends, default=0.0),
        offset_us=steps.start_ns / 1000,
    )


def _steps_of(frame: pd.DataFrame, iteration: int) -> _Steps:
    chosen = frame[frame["iteration"] == iteration]
    first = int((frame["iteration"] < iteration).sum())
    columns = {
        name: [None if missing else value for value, missing in zip(values, gone, strict=True)]
        for name, values, gone in (
            (str(name), chosen[name].tolist(), chosen[name].isna().tolist()) for name in chosen
        )
    }
    for name in ("size", "record", "blocked"):
        columns.setdefault(name, [None] * len(chosen))
    names = list(columns)
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    begins = [row["host_begin_ns"] for row in rows if row["host_begin_ns"] is not None]
    return _Steps(rows=rows, first=first, start_ns=min(begins, default=0))


# --- lanes ------------------------------------------------------------------------------------


def _lanes(result: CaseResult, steps: _Steps) -> tuple[Lane, ...]:
    """Streams in the order of their first step, the host last."""
    by_stream: dict[str, list[int]] = {}
    for index, row in enumerate(steps.rows):
        if row["kind"] in _IN_STREAM and row["stream"] is not None:
            by_stream.setdefault(row["stream"], []).append(index)
    ready = _ready(steps, by_stream)
    lanes = [
        Lane(name=name, spans=tuple(_ordered(_on_stream(steps, indices, ready))))
        for name, indices in by_stream.items()
    ]
    host = Lane(name=HOST, spans=tuple(_ordered(_on_host(result, steps))))
    return (*(lane for lane in lanes if lane.spans), host)


def _ordered(spans: Iterator[Span]) -> list[Span]:
    """Spans that begin before the one ahead of them is over begin when it is."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.begin_us, one.end_us)):
        begin = max(span.begin_us, found[-1].end_us) if found else span.begin_us
        if span.end_us > begin or span.end_us == span.begin_us:
            found.append(_moved(span, begin))
    return found


def _moved(span: Span, begin_us: float) -> Span:
    if begin_us == span.begin_us:
        return span
    return Span(
        kind=span.kind,
        begin_us=begin_us,
        end_us=max(span.end_us, begin_us),
        name=span.name,
        line=span.line,
        row=span.row,
        note=span.note,
    )


def _ready(steps: _Steps, by_stream: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """Step in a stream -> when everything ahead of it there was over (ns), as far as is known."""
    ready: dict[int, int] = {}
    for indices in by_stream.values():
        last = steps.start_ns
        for index in indices:
            ready[index] = last
            end = steps.rows[index]["device_end_ns"]
            if end is not None:
                last = max(last, end)
    return ready


def _on_stream(steps: _Steps, indices: Sequence[int], ready: Mapping[int, int]) -> Iterator[Span]:
    for at, index in enumerate(indices):
        row = steps.rows[index]
        begin, end = row["device_begin_ns"], row["device_end_ns"]
        if row["kind"] in _WORK and begin is not None:
            yield _span(steps, index, _WORK[row["kind"]], begin, end)
        elif row["kind"] == "alloc" and row["outcome"] == Outcome.INTERNAL_DEPENDENCY:
            if begin is not None:
                note = f"for {_free_text(steps, row)}"
                yield _span(steps, index, Kind.INSERTED_WAIT, begin, end, note)
        elif row["kind"] in ("wait", "hold") and row["host_end_ns"] is not None:
            until = _until(steps, index, indices[at + 1 :], ready)
            since = max(ready[index], row["host_end_ns"])
            if until is not None and until - since > _SHORT_NS:
                kind = Kind.HELD if row["kind"] == "hold" else Kind.EXPLICIT_WAIT
                yield _span(steps, index, kind, since, until)


def _until(
    steps: _Steps, index: int, behind: Sequence[int], ready: Mapping[int, int]
) -> int | None:
    """When a stream got past a wait or a hold: no later than it did something else."""
    row = steps.rows[index]
    begins = (steps.rows[at]["device_begin_ns"] for at in behind)
    next_ns = next((begin for begin in begins if begin is not None), None)
    if row["kind"] == "hold":
        found = _released(steps, index)
    else:
        record = _record_of(steps, index)
        found = None if record is None else ready.get(record)
    known = [time for time in (found, next_ns) if time is not None]
    return min(known, default=None)


def _released(steps: _Steps, index: int) -> int | None:
    stream = steps.rows[index]["stream"]
    for row in steps.rows[index + 1 :]:
        if row["kind"] == "release" and row["stream"] == stream:
            end: int | None = row["host_end_ns"]
            return end
    return None


def _record_of(steps: _Steps, index: int) -> int | None:
    row = steps.rows[index]
    if row["record"] is not None:
        return int(row["record"]) - steps.first
    for at in range(index - 1, -1, -1):
        other = steps.rows[at]
        if other["kind"] == "record" and other["name"] == row["name"]:
            return at
    return None


def _on_host(result: CaseResult, steps: _Steps) -> Iterator[Span]:
    for index, row in enumerate(steps.rows):
        begin, end = row["host_begin_ns"], row["host_end_ns"]
        if begin is None or end is None or row["kind"] in ("host", "sample"):
            continue
        if result.case.row is Baseline.PREALLOCATED and row["kind"] in ("alloc", "free"):
            continue
        kind = _host_kind(row, end - begin)
        note = row["outcome"] or "" if row["kind"] == "alloc" else ""
        yield _span(steps, index, kind, begin, end, note)


def _host_kind(row: Row, length_ns: int) -> Kind:
    if row["kind"] == "alloc":
        if row["n_failures"] or row["outcome"] == Outcome.OUT_OF_MEMORY:
            return Kind.FAILED
        if row["outcome"] in _MAPPED:
            return Kind.GROWTH
    if row["blocked"]:
        return Kind.BLOCKED
    is_old = row["kind"] == "sync" and length_ns >= _BLOCKS_NS
    return Kind.BLOCKED if is_old else Kind.CALL


def _span(steps: _Steps, index: int, kind: Kind, begin: int, end: int, note: str = "") -> Span:
    row = steps.rows[index]
    return Span(
        kind=kind,
        begin_us=steps.us(begin),
        end_us=steps.us(max(begin, end)),
        name=f"{row['kind']} {row['name']}" if row["name"] != row["kind"] else row["kind"],
        line=int(row["line"]),
        row=steps.first + index,
        note=note,
    )


# --- what joins the lanes -----------------------------------------------------------------------


def _free_of(steps: _Steps, row: Row) -> Row | None:
    """The free that an allocation waited for, where it is of the same iteration."""
    if row["waited_for"] is None:
        return None
    index = int(row["waited_for"]) - steps.first
    return steps.rows[index] if 0 <= index < len(steps.rows) else None


def _free_text(steps: _Steps, row: Row) -> str:
    free = _free_of(steps, row)
    if free is None:
        return "a free of an earlier iteration"
    return f"{free['name']}'s free (line {free['line']}) on {free['stream']}"


def _links(steps: _Steps, floor_us: float) -> Iterator[Link]:
    for index, row in enumerate(steps.rows):
        if row["outcome"] != Outcome.INTERNAL_DEPENDENCY or row["device_begin_ns"] is None:
            continue
        free = _free_of(steps, row)
        free_end = None if free is None else free["device_end_ns"]
        yield Link(
            allocation=row["name"],
            line=int(row["line"]),
            stream=row["stream"],
            begin_us=steps.us(row["device_begin_ns"]),
            wait_us=max(0.0, (row["device_end_ns"] - row["device_begin_ns"]) / 1000 - floor_us),
            free_of="" if free is None else free["name"],
            free_line=0 if free is None else int(free["line"]),
            free_stream="" if free is None else free["stream"],
            free_us=None if free_end is None else steps.us(free_end),
            row=steps.first + index,
            free_row=-1 if row["waited_for"] is None else int(row["waited_for"]),
        )


def _levels(steps: _Steps) -> Iterator[Level]:
    """Each change, at the end of the call that made it."""
    before: tuple[int, int] | None = None
    for row in steps.rows:
        if row["reserved"] is None or row["used"] is None or row["host_end_ns"] is None:
            continue
        now = int(row["reserved"]), int(row["used"])
        if now != before:
            yield Level(at_us=steps.us(row["host_end_ns"]), reserved=now[0], used=now[1])
        before = now


def _failures(steps: _Steps) -> Iterator[Failure]:
    for row in steps.rows:
        is_final = row["outcome"] == Outcome.OUT_OF_MEMORY
        n = int(row["n_failures"] or 0)
        if row["kind"] == "alloc" and (n or is_final) and row["host_begin_ns"] is not None:
            yield Failure(
                name=row["name"],
                line=int(row["line"]),
                at_us=steps.us(row["host_begin_ns"]),
                n=max(n, 1),
                is_final=is_final,
            )
