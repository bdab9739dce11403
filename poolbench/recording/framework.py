"""What PyTorch's caching allocator did, as if each of its allocations had gone to the pool.  Pure.

Its history (`torch.cuda.memory._record_memory_history`) has no kernels and no events, and the
recording has no allocations of the framework: together they are the program on a stream-ordered
pool.  Both have times of the same clock, PyTorch's in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poolbench.recording.raw import CALL, What, signed
from poolbench.recording.read import Recording, Rows, cells
from poolbench.recording.window import window_of

_CALL = cells(CALL)
_LEAST_SHARE = 0.5
"""Of the history's events that lie within the recording: with fewer the clocks are not the same."""
_LARGEST = 2**62
_REPLACED = (What.ALLOC, What.FREE, What.PLAIN_ALLOC, What.PLAIN_FREE)
"""The driver's own: segments, the first block of which has the same address."""


def joined(recording: Recording, snapshot: Any) -> Recording | None:
    """With the framework's allocations among the calls; `None` where the two do not fit
    together."""
    calls = recording.of(What.ALLOC, What.CAPTURE_END)
    if not len(calls):
        return None
    context, thread = (_most(calls[:, _CALL[name]]) for name in ("context", "thread"))
    rows = _rows(snapshot, context, thread)
    if not len(rows):
        return None
    window = window_of(recording)
    begin = max(window.begin, int(calls[:, _CALL["begin"]].min()))
    end = min(window.end, int(calls[:, _CALL["end"]].max()))
    at = rows[:, _CALL["begin"]]
    within = (at >= begin - 1000) & (at <= end + 1000)
    if within.mean() < _LEAST_SHARE and not _covers(at, begin, end):
        return None
    is_memory = np.isin(recording.rows[:, 0], _REPLACED)
    return replace(recording, rows=np.concatenate((recording.rows[~is_memory], rows)))


def _covers(at: Rows, begin: int, end: int) -> bool:
    """A history may be far longer than the recorded part, but then it holds that part."""
    return int(at.min()) <= begin and int(at.max()) >= end


def _most(values: Rows) -> int:
    found, counts = np.unique(values, return_counts=True)
    return int(found[int(np.argmax(counts))])


def _rows(snapshot: Any, context: int, thread: int) -> Rows:
    """Calls of no length: when PyTorch handed a block out, and when it had it back."""
    made = [
        (what, at, 0, at, 0, thread, 0, context, stream, 0, address, size, 0, 0)
        for what, at, stream, address, size in _events(snapshot)
    ]
    return np.array(made, dtype=np.int64).reshape(len(made), len(CALL))


def _events(snapshot: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """(kind, time, stream, address, size), in order; what is no event is passed over."""
    traces = snapshot.get("device_traces") if isinstance(snapshot, Mapping) else None
    used = [trace for trace in traces if trace] if isinstance(traces, Sequence) else []
    streams: dict[int, int] = {}
    for event in used[0] if used else ():
        if not isinstance(event, Mapping):
            continue
        numbers = [event.get(key) for key in ("time_us", "addr", "size", "stream")]
        if not all(isinstance(number, int) and 0 <= number < 2**64 for number in numbers):
            continue
        at_us, address, size, stream = (int(number) for number in numbers if number is not None)
        if at_us >= _LARGEST // 1000 or size >= _LARGEST:
            continue
        if event.get("action") == "alloc":
            streams[address] = stream
            yield What.ALLOC, at_us * 1000, signed(stream), signed(address), size
        elif event.get("action") == "free_completed":
            stream = streams.pop(address, stream)
            yield What.FREE, at_us * 1000, signed(stream), signed(address), size
