"""Nsight Systems: the SQLite file that `nsys export -t sqlite` makes.

Tables and columns come and go with versions, so each is looked up before it is used.  Memory events
are there only if the program was profiled with `--cuda-memory-usage=true`; older versions have no
stream on them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from poolbench.domain import MemoryKind
from poolbench.imports import timed
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

MAGIC = b"SQLite format 3\0"

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_EVENTS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
_MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
_POOLS = "CUDA_GPU_MEMORY_POOL_EVENTS"

_DEVICE_KINDS = (2, 5)
"""Of memory: device, and device memory of modules."""
_KIND_OF_SIDE = {0: MemoryKind.PAGEABLE, 1: MemoryKind.PINNED}
_FREES = 1
_TRIMMED = 3
_SYNC_TYPES = {1: "event", 2: "wait", 3: "stream", 4: "context"}
"""What the numbers mean today; older versions counted otherwise, so that the name of the call goes
first."""
_SYNC_CALLS = {
    "EventSynchronize": "event",
    "StreamWaitEvent": "wait",
    "StreamSynchronize": "stream",
    "DeviceSynchronize": "context",
    "CtxSynchronize": "context",
}
_NO_STREAM = 2**32 - 1
_GRID = ("gridX", "gridY", "gridZ")
_BLOCK = ("blockX", "blockY", "blockZ")


def read(
    path: Path, builder: Builder, assumed: Assumed, on_line: Callable[[int], None]
) -> dict[str, object]:
    """Raises `Damaged`."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return _Export(database, builder, on_line).read(assumed)
    except (sqlite3.Error, OverflowError) as fault:
        raise Damaged(0, 0, f"no readable SQLite file: {fault}") from None


class _Export:
    """One file, table by table."""

    def __init__(
        self, database: sqlite3.Connection, builder: Builder, on_line: Callable[[int], None]
    ) -> None:
        self._database = database
        self._database.text_factory = lambda data: data.decode("utf-8", "replace")
        self._builder = builder
        self._on_line = on_line
        self._n = 0
        self._names: dict[Any, Any] = {}
        self._called: dict[int, str] = {}
        """Correlation -> the name of the call."""
        self._calls = timed.Calls()
        self._tables = {
            str(name)
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }

    def read(self, assumed: Assumed) -> dict[str, object]:
        if not self._tables & {_KERNELS, _COPIES, _MEMORY}:
            raise Damaged(0, 0, "it has no tables of CUDA work: is it an export of Nsight Systems?")
        self._names = dict(self._rows("StringIds", ("id", "value")))
        issued = self._issued()
        self._kernels(issued)
        self._copies(issued)
        self._sets(issued)
        self._memory(issued)
        self._events(issued)
        self._pools(issued)
        fidelity = self._builder.fidelity
        if _MEMORY not in self._tables:
            fidelity.note("no allocations in it: profile with --cuda-memory-usage=true")
        fidelity.note("which buffers a kernel touches is not in such a file")
        return self._calls.build(self._builder, assumed)

    def _rows(self, table: str, wanted: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The wanted columns, `None` for those that this version does not have."""
        if table not in self._tables:
            return
        known = {row[1] for row in self._database.execute(f"PRAGMA table_info({table})")}
        chosen = [name if name in known else "NULL" for name in wanted]
        for row in self._database.execute(f"SELECT {', '.join(chosen)} FROM {table}"):
            self._n += 1
            if not self._n % 20_000:
                self._on_line(self._n)
            yield row

    def _issued(self) -> dict[int, tuple[int, int, int]]:
        """Correlation -> (begin, end, thread) of the call; the runtime's own if there are two."""
        found: dict[int, tuple[int, int, int]] = {}
        for begin, end, correlation, thread, name in self._rows(
            _CALLS, ("start", "end", "correlationId", "globalTid", "nameId")
        ):
            if correlation and _is_time(begin):
                known = found.get(correlation)
                if known is None or begin < known[0]:
                    found[correlation] = (begin, _or(end, begin), _or(thread, 0))
                    self._called[correlation] = str(self._names.get(name, ""))
        return found

    def _add(
        self,
        issued: dict[int, tuple[int, int, int]],
        correlation: Any,
        at_ns: int,
        what: timed.Work | timed.Deed,
    ) -> None:
        call = issued.get(correlation)
        if call is None:
            if isinstance(what, timed.Work):
                self._builder.fidelity.guessed["times of calls: when their work ran"] += 1
            call = (at_ns, at_ns, -1)
        self._calls.add(*call, what)

    def _kernels(self, issued: dict[int, tuple[int, int, int]]) -> None:
        wanted = ("start", "end", "streamId", "correlationId", "shortName", *_GRID, *_BLOCK)
        for start, end, stream, correlation, name, *sizes in self._rows(_KERNELS, wanted):
            if not _is_time(start):
                continue
            kernel = timed.Kernel(
                start,
                max(0, _or(end, start) - start),
                str(stream),
                _product(sizes[:3]),
                _product(sizes[3:]),
                str(self._names.get(name, "")),
            )
            self._add(issued, correlation, start, kernel)

    def _copies(self, issued: dict[int, tuple[int, int, int]]) -> None:
        wanted = ("start", "end", "streamId", "correlationId", "bytes", "srcKind", "dstKind")
        for start, end, stream, correlation, size, source, target in self._rows(_COPIES, wanted):
            if not _is_time(start):
                continue
            ends = [_KIND_OF_SIDE.get(kind, MemoryKind.DEVICE) for kind in (source, target)]
            if MemoryKind.DEVICE not in ends:
                self._builder.fidelity.lost["copies from host to host"] += 1
                continue
            duration = max(0, _or(end, start) - start)
            copy = timed.Copy(start, duration, str(stream), max(0, _or(size, 0)), *ends)
            self._add(issued, correlation, start, copy)

    def _sets(self, issued: dict[int, tuple[int, int, int]]) -> None:
        wanted = ("start", "end", "streamId", "correlationId", "bytes")
        for start, end, stream, correlation, size in self._rows(_SETS, wanted):
            if _is_time(start):
                duration = max(0, _or(end, start) - start)
                work = timed.Set(start, duration, str(stream), max(0, _or(size, 0)))
                self._add(issued, correlation, start, work)

    def _memory(self, issued: dict[int, tuple[int, int, int]]) -> None:
        wanted = ("start", "correlationId", "address", "bytes", "memKind", "memoryOperationType")
        others = 0
        for start, correlation, address, size, kind, operation, stream in self._rows(
            _MEMORY, (*wanted, "streamId")
        ):
            if not _is_time(start) or not isinstance(address, int):
                continue
            if kind not in _DEVICE_KINDS:
                others += 1
                continue
            on = _stream(stream)
            what: timed.Deed = timed.Alloc(address, max(0, _or(size, 0)), on)
            if operation == _FREES:
                what = timed.Free(address, on)
            self._add(issued, correlation, start, what)
        if others:
            self._builder.fidelity.lost["allocations of memory that is not the device's"] += others

    def _events(self, issued: dict[int, tuple[int, int, int]]) -> None:
        """Records by the number of the event's synchronisation where there is one, else by event:
        the last record before counts."""
        has_ids = self._has(_EVENTS, "eventSyncId") and self._has(_SYNCS, "eventSyncId")
        key = "eventSyncId" if has_ids else "eventId"
        for stream, correlation, event in self._rows(_EVENTS, ("streamId", "correlationId", key)):
            call = issued.get(correlation)
            if call is None or event is None:
                self._builder.fidelity.lost["event records without a call"] += 1
                continue
            self._calls.add(*call, timed.Record(event, str(stream)))
        wanted = ("start", "end", "streamId", "correlationId", "syncType", key)
        for start, end, stream, correlation, kind, event in self._rows(_SYNCS, wanted):
            if not _is_time(start):
                continue
            what = self._sync(self._sync_kind(correlation, kind), stream, event)
            if what is None:
                self._builder.fidelity.lost["synchronisations of a kind that is not known"] += 1
                continue
            begun, ended, thread = issued.get(correlation, (start, _or(end, start), -1))
            self._calls.add(begun, ended, thread, what)

    def _sync_kind(self, correlation: Any, kind: Any) -> str:
        name = self._called.get(correlation, "")
        found = next((kind for text, kind in _SYNC_CALLS.items() if text in name), None)
        return found or _SYNC_TYPES.get(kind, "")

    @staticmethod
    def _sync(kind: str, stream: Any, event: Any) -> timed.Deed | None:
        match kind:
            case "wait" if event is not None:
                return timed.Wait(event, _stream(stream))
            case "event" if event is not None:
                return timed.SyncEvent(event)
            case "stream":
                return timed.SyncStream(_stream(stream))
            case "context":
                return timed.SyncDevice()
            case _:
                return None

    def _pools(self, issued: dict[int, tuple[int, int, int]]) -> None:
        wanted = ("start", "correlationId", "operationType", "minBytesToKeep")
        for start, correlation, operation, keep in self._rows(_POOLS, wanted):
            if operation == _TRIMMED and _is_time(start):
                self._add(issued, correlation, start, timed.Trim(max(0, _or(keep, 0))))

    def _has(self, table: str, column: str) -> bool:
        if table not in self._tables:
            return False
        return column in {row[1] for row in self._database.execute(f"PRAGMA table_info({table})")}


def _stream(value: Any) -> str:
    """A stream's name; empty for one that is not known."""
    return "" if value in (None, _NO_STREAM) else str(value)


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 2**62


def _or(value: Any, default: int) -> int:
    return value if isinstance(value, int) and abs(value) < 2**62 else default


def _product(sizes: Sequence[Any]) -> int:
    product = 1
    for size in sizes:
        product *= max(1, _or(size, 1))
    return min(product, 2**31 - 1)
