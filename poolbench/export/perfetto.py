"""The Chrome trace event format, as ui.perfetto.dev and chrome://tracing open it.

A process is a case, a thread a stream; the host is a thread of its own.  An arrow leads from a free
to the allocation that waited for it, counters show what the pool held.  Times are microseconds from
the first call of the case.  Slices of a thread never overlap, as the format wants it.

The format: "Trace Event Format" (Google, 2016) as read by Perfetto's importer of JSON traces.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from poolbench import __version__
from poolbench.results.facts import title
from poolbench.results.kept import Kept
from poolbench.timeline.values import Kind, Lane, Link, Span, Timeline

Event = dict[str, Any]

_HOST_TID = 1
"""Streams follow, in the order of their first step."""
_LEAST_US = 0.01


def to_perfetto(runs: Sequence[Kept]) -> str:
    """The whole document, a line an event."""
    events = list(_events(runs))
    head = {
        "displayTimeUnit": "ns",
        "otherData": {
            "made by": f"poolbench {__version__}",
            **{run.record.scenario: title(run.record) for run in runs},
        },
    }
    body = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "traceEvents": [\n{body}\n]}}\n'


def _events(runs: Sequence[Kept]) -> Iterator[Event]:
    pid = 0
    for run in runs:
        for result in run.record.cases:
            timelines = list(run.timelines(result))
            if not timelines:
                continue
            pid += 1
            tids = _tids(timelines)
            yield from _names(run, timelines, pid, tids)
            for timeline in timelines:
                yield from _of_iteration(timeline, pid, tids)


def _names(
    run: Kept, timelines: Sequence[Timeline], pid: int, tids: Mapping[str, int]
) -> Iterator[Event]:
    record = run.record
    source = "PREDICTED, " if record.is_predicted else ""
    axes = ", ".join(f"{name} = {text}" for name, text in timelines[0].axes)
    row = timelines[0].title.split(",", 1)[0]
    parts = (f"{source}{record.scenario}", row, axes, timelines[0].status)
    yield _meta("process_name", pid, 0, name=", ".join(part for part in parts if part))
    yield _meta("process_sort_index", pid, 0, sort_index=pid)
    threads = [("host", _HOST_TID), *((f"stream {name}", tid) for name, tid in tids.items())]
    for shown, tid in threads:
        yield _meta("thread_name", pid, tid, name=shown)
        yield _meta("thread_sort_index", pid, tid, sort_index=tid)


def _tids(timelines: Sequence[Timeline]) -> dict[str, int]:
    """Of the streams; the host has `_HOST_TID`."""
    names = dict.fromkeys(lane.name for timeline in timelines for lane in _streams(timeline))
    return {name: at for at, name in enumerate(names, _HOST_TID + 1)}


def _streams(timeline: Timeline) -> tuple[Lane, ...]:
    """The last lane is the host's, whatever a stream may be called."""
    return timeline.lanes[:-1]


def _meta(what: str, pid: int, tid: int, **arguments: Any) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": arguments}


def _of_iteration(timeline: Timeline, pid: int, tids: Mapping[str, int]) -> Iterator[Event]:
    offset = timeline.offset_us
    frees: dict[int, Span] = {}
    for lane in timeline.lanes[-1:]:
        yield from (_slice(span, offset, pid, _HOST_TID) for span in lane.spans)
    for lane in _streams(timeline):
        own = _frees(timeline, lane)
        frees |= own
        for span in (*lane.spans, *own.values()):
            yield _slice(span, offset, pid, tids[lane.name])
    for link in timeline.links:
        if link.free_row in frees:
            yield from _arrow(link, frees[link.free_row], offset, pid, tids)
    for level in timeline.levels:
        for name, size in (("reserved", level.reserved), ("used", level.used)):
            yield {
                "ph": "C",
                "name": f"{name} (MiB)",
                "pid": pid,
                "ts": _us(offset + level.at_us),
                "args": {name: size / 2**20},
            }
    for failure in timeline.failures:
        yield {
            "ph": "i",
            "s": "t",
            "name": f"out of memory: {failure.name} (line {failure.line})",
            "cat": "out of memory",
            "pid": pid,
            "tid": _HOST_TID,
            "ts": _us(offset + failure.at_us),
        }


def _slice(span: Span, offset_us: float, pid: int, tid: int) -> Event:
    is_wait = span.kind is Kind.INSERTED_WAIT
    arguments: Event = {"line": span.line, "row of steps.csv": span.row}
    if span.note:
        arguments["waits" if is_wait else "how"] = span.note
    return {
        "ph": "X",
        "name": f"waits {span.note}" if is_wait else span.name,
        "cat": "free" if span.name.startswith("free ") else span.kind.value,
        "pid": pid,
        "tid": tid,
        "ts": _us(offset_us + span.begin_us),
        "dur": _us(span.length_us),
        "args": arguments,
    }


def _frees(timeline: Timeline, lane: Lane) -> dict[int, Span]:
    """Row of a free that somebody waited for -> a slice for the arrow to begin at: a microsecond at
    most, clear of what the stream does before and after."""
    begins = [span.begin_us for span in lane.spans]
    found: dict[int, Span] = {}
    for link in timeline.links:
        if link.free_stream != lane.name or link.free_us is None or link.free_row in found:
            continue
        at = bisect_left(begins, link.free_us)
        before = lane.spans[at - 1].end_us if at else 0.0
        behind = begins[at] if at < len(begins) else link.free_us + _LEAST_US
        end = max(before, min(behind, max(link.free_us, before + _LEAST_US)))
        found[link.free_row] = Span(
            kind=Kind.CALL,
            begin_us=max(before, end - 1.0),
            end_us=end,
            name=f"free {link.free_of}",
            line=link.free_line,
            row=link.free_row,
        )
    return found


def _arrow(
    link: Link, free: Span, offset_us: float, pid: int, tids: Mapping[str, int]
) -> Iterator[Event]:
    """From the free to the end of the wait: an arrow never points back in time."""
    common = {"name": "waited for", "cat": "inserted wait", "pid": pid, "id": f"{pid}.{link.row}"}
    begin = offset_us + free.begin_us
    end = max(begin, offset_us + link.begin_us + link.wait_us - _LEAST_US)
    yield {**common, "ph": "s", "tid": tids[link.free_stream], "ts": _us(begin)}
    yield {**common, "ph": "f", "bp": "e", "tid": tids[link.stream], "ts": _us(end)}


def _us(value: float) -> float:
    return round(value, 3)
