"""Traces of PyTorch's profiler (Kineto): Chrome trace events, plain or gzipped.

Read event by event, so that memory holds what is used and not the file.  A call of the runtime and
the work that it issued carry one `correlation`; memory events have addresses and no stream.  What
`cudaStreamWaitEvent` waited for is known only where the profiler recorded synchronisation events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from poolbench.domain import MemoryKind
from poolbench.imports import timed
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

_CHUNK = 1 << 20
MAX_EVENT = 16 * 2**20
"""No event is longer than this."""
_RUNTIME = ("cuda_runtime", "cuda_driver")
_COPIES: dict[str, tuple[MemoryKind, MemoryKind]] = {
    "HtoD": (MemoryKind.PINNED, MemoryKind.DEVICE),
    "DtoH": (MemoryKind.DEVICE, MemoryKind.PINNED),
    "DtoD": (MemoryKind.DEVICE, MemoryKind.DEVICE),
    "PtoP": (MemoryKind.DEVICE, MemoryKind.DEVICE),
}


def is_start(text: str) -> bool:
    return '"traceEvents"' in text or '"ph"' in text


def events(text: TextIO) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number from 1, event) of a trace; raises `Damaged`."""
    reader = _Reader(text)
    reader.seek_events()
    decoder = json.JSONDecoder()
    number = 0
    while reader.more():
        number += 1
        event = reader.value(decoder)
        if isinstance(event, Mapping):
            yield number, event


class _Reader:
    """A text read in chunks; `_at` is how far it has been understood."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0
        self._n_before = 0
        self._is_over = False

    def _fill(self) -> bool:
        try:
            chunk = self._text.read(_CHUNK)
        except (OSError, EOFError, UnicodeDecodeError, ValueError) as fault:
            raise self._damage(f"it cannot be read on: {fault}") from None
        self._n_before += self._at
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        self._is_over = not chunk
        return bool(chunk)

    def _damage(self, message: str) -> Damaged:
        return Damaged(0, self._n_before + self._at, message)

    def seek_events(self) -> None:
        """To behind the `[` of the events: a bare list, or the member of that name."""
        self._skip_space()
        if self._buffer[self._at : self._at + 1] == "[":
            self._at += 1
            return
        while True:
            found = self._buffer.find('"traceEvents"', self._at)
            if found >= 0:
                bracket = self._buffer.find("[", found)
                if bracket >= 0:
                    self._at = bracket + 1
                    return
            else:
                self._at = max(self._at, len(self._buffer) - 64)
            if not self._fill():
                raise self._damage("there is no `traceEvents` in it")

    def _skip_space(self) -> None:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in " \t\r\n,":
                self._at += 1
            if self._at < len(self._buffer) or not self._fill():
                return

    def more(self) -> bool:
        self._skip_space()
        if self._at >= len(self._buffer):
            raise self._damage("it ends in the middle of the events: cut short?")
        return self._buffer[self._at] != "]"

    def value(self, decoder: json.JSONDecoder) -> Any:
        while True:
            try:
                found, self._at = decoder.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise self._damage("an event is nested too deeply") from None
            except json.JSONDecodeError as fault:
                if len(self._buffer) - self._at > MAX_EVENT or not self._fill():
                    where = self._n_before + fault.pos
                    raise Damaged(0, where, f"no event: {fault.msg}: cut short?") from None
                continue
            except ValueError as fault:
                raise self._damage(f"no event: {fault}") from None
            # A number at the end of the buffer may go on in the next chunk; an object cannot.
            return found


def read(
    text: TextIO, builder: Builder, assumed: Assumed, on_line: Callable[[int], None]
) -> dict[str, object]:
    """Raises `Damaged`; what came before the damage is in the builder then."""
    trace = _Trace(builder)
    damage: Damaged | None = None
    try:
        for number, event in events(text):
            trace.event(event)
            if not number % 20_000:
                on_line(number)
    except Damaged as fault:
        damage = fault
    recorded = trace.build(assumed)
    if damage is not None:
        raise damage
    return recorded


class _Trace:
    """What is kept of the events until all are there."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._work: dict[int, timed.Work] = {}
        self._calls: list[tuple[int, int, int, str, int]] = []
        """(begin, end, thread, name, correlation)."""
        self._memory: list[tuple[int, int, int, int]] = []
        """(time, thread, address, bytes: below 0 for a free)."""
        self._waits: dict[int, tuple[str, int, str]] = {}
        """Correlation of a wait -> (stream, correlation of the record, its stream)."""
        self._synced: dict[int, timed.SyncStream] = {}
        """Correlation of a synchronisation with a stream -> which it was."""

    def event(self, event: Mapping[str, Any]) -> None:
        category, phase = event.get("cat"), event.get("ph")
        arguments = event.get("args")
        if not isinstance(arguments, Mapping):
            arguments = {}
        if phase == "X" and category in _RUNTIME:
            begin, end = _span(event)
            correlation = _number(arguments.get("correlation"), -1)
            name = str(event.get("name", ""))
            self._calls.append((begin, end, _number(event.get("tid"), 0), name, correlation))
        elif phase == "X" and category in ("kernel", "gpu_memcpy", "gpu_memset"):
            self._device(str(category), event, arguments)
        elif phase == "X" and category == "cuda_sync":
            self._synchronisation(arguments)
        elif category == "cpu_instant_event" and event.get("name") == "[memory]":
            self._memory_event(event, arguments)

    def _device(
        self, category: str, event: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> None:
        begin, end = _span(event)
        stream = str(arguments.get("stream", event.get("tid", 0)))
        name = str(event.get("name", ""))
        size = max(0, _number(arguments.get("bytes"), 0))
        correlation = _number(arguments.get("correlation"), -1 - len(self._work))
        if category == "kernel":
            self._work[correlation] = timed.Kernel(
                begin,
                end - begin,
                stream,
                _product(arguments.get("grid")),
                _product(arguments.get("block")),
                name,
            )
        elif category == "gpu_memset":
            self._work[correlation] = timed.Set(begin, end - begin, stream, size)
        else:
            kinds = next((pair for text, pair in _COPIES.items() if text in name), None)
            source, target = kinds or _COPIES["DtoD"]
            if source is not target and "Pinned" not in name and "Pageable" not in name:
                text = "copies whose host memory is not known: taken for pinned"
                self._builder.fidelity.guessed[text] += 1
            if "Pageable" in name:
                source = MemoryKind.PAGEABLE if source is MemoryKind.PINNED else source
                target = MemoryKind.PAGEABLE if target is MemoryKind.PINNED else target
            self._work[correlation] = timed.Copy(begin, end - begin, stream, size, source, target)

    def _synchronisation(self, arguments: Mapping[str, Any]) -> None:
        """`Stream Wait Event` and `Event Sync` with what they waited for, `Stream Sync` with its
        stream; -1 is "not known"."""
        correlation = _number(arguments.get("correlation"), -1)
        if arguments.get("cuda_sync_kind") == "Stream Sync":
            self._synced[correlation] = timed.SyncStream(str(arguments.get("stream", "")))
        record = _number(arguments.get("wait_on_cuda_event_record_corr_id"), -1)
        waited_on = _number(arguments.get("wait_on_stream"), -1)
        if record >= 0 and correlation >= 0 and waited_on >= 0:
            stream = str(arguments.get("stream", ""))
            self._waits[correlation] = (stream, record, str(waited_on))

    def _memory_event(self, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        if _number(arguments.get("Device Type"), 1) != 1:
            return  # memory of the host
        begin, _ = _span(event)
        thread = _number(event.get("tid"), 0)
        address = _number(arguments.get("Addr"), 0)
        self._memory.append((begin, thread, address, _number(arguments.get("Bytes"), 0)))

    def build(self, assumed: Assumed) -> dict[str, object]:
        calls = timed.Calls()
        records = {record: stream for _, record, stream in self._waits.values()}
        fidelity = self._builder.fidelity
        used: set[int] = set()
        for begin, end, thread, name, correlation in self._calls:
            work = self._work.get(correlation)
            if work is not None and correlation not in used:
                used.add(correlation)
                calls.add(begin, end, thread, work)
            else:
                what = self._deed(name, correlation, records)
                if what is not None:
                    calls.add(begin, end, thread, what)
        for correlation, work in self._work.items():
            if correlation not in used:
                calls.add(work.start_ns, work.start_ns, -1, work)
                fidelity.guessed["times of calls: when their work ran"] += 1
        for time, thread, address, size in self._memory:
            if size > 0:
                calls.add(time, time, thread, timed.Alloc(address, size, ""))
            elif size < 0:
                calls.add(time, time, thread, timed.Free(address, ""))
        fidelity.note("which buffers a kernel touches is not in such a trace")
        return calls.build(self._builder, assumed)

    def _deed(self, name: str, correlation: int, records: Mapping[int, str]) -> timed.Deed | None:
        lost = self._builder.fidelity.lost
        if name.startswith(("cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize")):
            return timed.SyncDevice()
        if name.startswith(("cudaStreamSynchronize", "cuStreamSynchronize", "hipStreamSync")):
            return self._synced.get(correlation, timed.SyncStream(""))
        if name.startswith(("cudaEventRecord", "cuEventRecord")):
            if correlation in records:
                return timed.Record(correlation, records[correlation])
            lost["event records that nothing is known to wait for"] += 1
            return None
        if name.startswith(("cudaStreamWaitEvent", "cuStreamWaitEvent")):
            if correlation in self._waits:
                stream, record, _ = self._waits[correlation]
                return timed.Wait(record, stream)
            lost["waits for events: the trace does not say for which (cuda_sync is off)"] += 1
        elif name.startswith(("cudaEventSynchronize", "cuEventSynchronize")):
            if correlation in self._waits:
                return timed.SyncEvent(self._waits[correlation][1])
            lost["synchronisations with events: the trace does not say with which"] += 1
        elif name.startswith(
            ("cudaMallocAsync", "cudaFreeAsync", "cuMemAllocAsync", "cuMemFreeAsync")
        ):
            if not self._memory:
                lost["stream-ordered allocations and frees without address and size"] += 1
        elif name.startswith(("cudaGraphLaunch", "cuGraphLaunch")):
            lost["graphs: their kernels stand for themselves"] += 1
        return None


def _span(event: Mapping[str, Any]) -> tuple[int, int]:
    """Begin and end in nanoseconds; microseconds come as numbers or texts."""
    begin = _ns(event.get("ts"))
    return begin, begin + max(0, _ns(event.get("dur")))


def _ns(value: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return round(number * 1000) if -1e16 < number < 1e16 else 0


def _number(value: Any, default: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64:
        return value
    return default


def _product(value: Any) -> int:
    """`[4, 2, 1]` as 8; 1 for what is no grid."""
    if not isinstance(value, list):
        return 1
    product = 1
    for part in value[:3]:
        product *= max(1, _number(part, 1))
    return min(product, 2**31 - 1)
