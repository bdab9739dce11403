"""Rows of a recording: their layout, and the files that hold them.  The standard library only.

A row is `WIDTH` signed 64-bit numbers, little-endian; the first says what the row is (`What`), the
others are named in `CALL`, `RAN`, `MEMORY` and `STREAM_ID`.  Times are nanoseconds of CUPTI's
clock, sizes bytes.  Beside the rows lies `texts.jsonl`: the text with number n in line n.
"""

from __future__ import annotations

import json
import struct
import threading
from enum import IntEnum
from pathlib import Path
from typing import IO

WIDTH = 14
ROWS = "rows.bin"
TEXTS = "texts.jsonl"
ABOUT = "about.json"
"""Written at the end: what the recorder knows of itself and of the program."""
FAILED = "failed.json"
"""Written where the recorder could not start: `reason`, `hint`, `kind`."""
STARTED = "started"
"""Made by the process that is recorded; there is one."""
OTHERS = "others"
"""A line for each other Python process of the program."""
FRAMEWORK = "framework.pickle"
"""PyTorch's own history of its caching allocator."""
PLAN = "plan.json"
"""What is to be recorded; written before the program starts."""

MAX_ROWS = 8_000_000
"""Of one recording (0.9 GB): what comes behind is counted and dropped."""
_BATCH = 4096


class What(IntEnum):
    """What a row is.  Calls of the host below 100, what the device did below 200, then marks."""

    ALLOC = 1
    """a: address, b: size, c: pool (0: that of the device)."""
    FREE = 2
    """a: address."""
    PLAIN_ALLOC = 3
    """`cuMemAlloc`; a: address, b: size."""
    PLAIN_FREE = 4
    OTHER_ALLOC = 5
    """Managed, pitched or virtual memory."""
    LAUNCH = 10
    COPY = 11
    COPY_AND_WAIT = 12
    """A copy whose call returns when it is done."""
    SET = 13
    GRAPH_LAUNCH = 14
    HOST_FUNCTION = 15
    MEMORY_OPERATION = 16
    """`cuStreamWaitValue32` and its like."""
    RECORD = 20
    """a: event."""
    WAIT = 21
    SYNC_STREAM = 22
    SYNC_EVENT = 23
    SYNC_DEVICE = 24
    QUERY_STREAM = 25
    QUERY_EVENT = 26
    TRIM = 30
    """a: bytes to keep, c: pool."""
    POOL_CREATE = 31
    """a: its greatest size, c: pool."""
    POOL_SET = 32
    """a: attribute, b: value, c: pool."""
    POOL_OF_DEVICE = 33
    """c: the pool that the device allocates from by default."""
    POOL_CHOSEN = 34
    """c: the pool that it shall allocate from."""
    STREAM_CREATE = 40
    """a: the new stream, b: its flags."""
    STREAM_DESTROY = 41
    CAPTURE_BEGIN = 50
    CAPTURE_END = 51

    KERNEL_RAN = 100
    """a: blocks, b: threads of a block, c: name (a text)."""
    COPY_RAN = 101
    """a: size, b: memory it came from, c: memory it went to (`MemoryCode`)."""
    SET_RAN = 102
    """a: size."""
    GRAPH_RAN = 103
    COPY_BETWEEN_DEVICES_RAN = 104
    POOL_MEMORY = 110
    """An allocation or free as CUPTI saw it: state of the pool."""
    OVERHEAD = 111
    """Time that CUPTI says it took; start and end."""

    MARK_BEGIN = 200
    """a: number of the iteration, b: name (a text), c: thread.  `begin` is when."""
    MARK_END = 201
    STREAM_ID = 202
    STOPPED = 203
    """`begin` is when the time that was asked for was over."""


CALL = (
    "what", "begin", "enter_cost", "end", "exit_cost", "thread", "correlation", "context",
    "stream", "is_per_thread", "a", "b", "c", "result",
)  # fmt: skip
"""begin
    when the program made the call, before anything of ours ran.
enter_cost, exit_cost
    what the recorder itself took before and after the driver's own work.
end
    when the driver was done.
stream
    the handle; `is_per_thread` says that handle 0 is the thread's own stream.
result
    the driver's answer, 0 for success.
"""
RAN = (
    "what", "start", "end", "device", "context", "stream_id", "correlation", "graph",
    "a", "b", "c", "_11", "_12", "_13",
)  # fmt: skip
MEMORY = (
    "what", "at", "device", "context", "stream_id", "correlation", "reserved", "used",
    "threshold", "pool_type", "size", "is_release", "address", "pool",
)  # fmt: skip
STREAM_IDS = (
    "what", "at", "context", "stream", "is_per_thread", "thread", "stream_id", "_7", "_8", "_9",
    "_10", "_11", "_12", "_13",
)  # fmt: skip


class MemoryCode(IntEnum):
    """Where memory is, as CUPTI counts (`CUpti_ActivityMemoryKind`)."""

    UNKNOWN = 0
    PAGEABLE = 1
    PINNED = 2
    DEVICE = 3
    ARRAY = 4
    MANAGED = 5
    DEVICE_STATIC = 6
    MANAGED_STATIC = 7


def signed(value: int) -> int:
    """An unsigned 64-bit number in the place of a signed one."""
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


class Writer:
    """Takes rows from any thread; memory is bounded by one batch."""

    def __init__(self, folder: Path) -> None:
        self._rows: IO[bytes] = (folder / ROWS).open("wb")
        self._texts: IO[str] = (folder / TEXTS).open("w", encoding="utf-8")
        self._pack = struct.Struct(f"<{WIDTH}q").pack
        self._batch: list[bytes] = []
        self._new_texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._lock = threading.RLock()
        self.n_rows = 0
        self.n_refused = 0

    def add(self, *cells: int) -> None:
        """One row; `struct.error` for what is no row."""
        if self.n_rows >= MAX_ROWS:
            self.n_refused += 1
            return
        self._batch.append(self._pack(*cells))
        self.n_rows += 1
        if len(self._batch) >= _BATCH:
            self.flush()

    def text(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            with self._lock:
                found = self._numbers.setdefault(text, len(self._numbers))
                if found == len(self._numbers) - 1:
                    self._new_texts.append(json.dumps(text) + "\n")
        return found

    def flush(self) -> None:
        """Nothing stays in the files' own buffers: a fork would write that twice."""
        with self._lock:
            full, self._batch = self._batch, []
            texts, self._new_texts = self._new_texts, []
            self._rows.write(b"".join(full))
            self._rows.flush()
            self._texts.write("".join(texts))
            self._texts.flush()

    def close(self) -> None:
        with self._lock:
            if not self._rows.closed:
                self.flush()
                self._rows.close()
                self._texts.close()
