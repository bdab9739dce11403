"""Inside the recorded program: callbacks and activity records of CUPTI to rows.

Decides nothing and keeps nothing but one batch of rows: what a row means, `decode` finds out later.
Runs in whatever thread calls the driver, so that each call of it costs the program microseconds;
these are measured and stand in the rows.  The standard library and the `cupti` module given.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from poolbench.recording.calls import ACTIVITIES, CALLS, ESSENTIAL, Call
from poolbench.recording.raw import What, Writer, signed

Read = Callable[[Any], int]
BUFFER_BYTES = 8 * 2**20
"""Of CUPTI's activity buffers: some 40,000 records, so that a short recording is interrupted only
at its end."""
_POOL_ATTRIBUTES_OF_4_BYTES = (1, 2, 3)
_MAX_FAULTS = 20


class Missing(Exception):
    """CUPTI lacks something without which no recording is worth making."""


def reader(field: str) -> Read:
    """A function from the object of a call's parameters to one number of them."""
    if not field:
        return lambda _: 0
    if not field.startswith("*"):
        return lambda params: signed(int(getattr(params, field)))
    name, _, offset = field[1:].partition("+")
    shift = int(offset or 0)

    def behind(params: Any) -> int:
        pointer = int(getattr(params, name))
        return ctypes.c_int64.from_address(pointer + shift).value if pointer else 0

    return behind


def _pool_value(params: Any) -> int:
    """Of `cuMemPoolSetAttribute`: an int for the reuse attributes, else 64 bits."""
    pointer = int(params.value)
    if not pointer:
        return 0
    if int(params.attr) in _POOL_ATTRIBUTES_OF_4_BYTES:
        return ctypes.c_int32.from_address(pointer).value
    return ctypes.c_int64.from_address(pointer).value


class _Entry:
    """A call with everything looked up beforehand."""

    __slots__ = ("a", "b", "c", "call", "cbid", "is_per_thread", "params", "stream", "what")

    def __init__(self, call: Call, cbid: int, params: Any) -> None:
        self.call = call
        self.cbid = cbid
        self.params = params
        self.what = int(call.what)
        self.is_per_thread = int(call.is_per_thread)
        self.stream = reader(call.stream)
        self.a = reader(call.a)
        self.b = _pool_value if call.what is What.POOL_SET else reader(call.b)
        self.c = reader(call.c)


_ON_STREAMS = frozenset(
    (
        What.ALLOC, What.FREE, What.LAUNCH, What.COPY, What.COPY_AND_WAIT, What.SET,
        What.GRAPH_LAUNCH, What.RECORD, What.WAIT, What.SYNC_STREAM,
    )
)  # fmt: skip


class Capture:
    """One subscriber of CUPTI.  `cupti` is the module `cupti.cupti`."""

    def __init__(self, cupti: Any, writer: Writer) -> None:
        self._cupti = cupti
        self._writer = writer
        self._now: Callable[[], int] = cupti.get_timestamp
        self._entries: dict[int, _Entry] = {}
        self._subscriber = 0
        self._begun: dict[int, list[tuple[int, int]]] = {}
        """Thread -> its calls that have begun: when, and what the enter callback took."""
        self._known_streams: set[tuple[int, int, int, int]] = set()
        self._deadline: int | None = None
        self._enabled: list[Any] = []
        self.is_detailed = False
        self.is_closed = False
        self.missing: list[str] = []
        """Names that this CUPTI does not have."""
        self.faults: list[str] = []
        self.n_faults = 0
        self._hear: Callable[[int, Any], None] | None = None

    # --- starting and stopping -------------------------------------------------------------

    def start(self) -> None:
        """Subscribes.  Raises what CUPTI raises, and `Missing`."""
        for call in CALLS:
            cbid = getattr(self._cupti.DriverApiTraceCbid, call.name, None)
            params = getattr(self._cupti, call.params, None) if call.params else None
            if cbid is None or (call.params and params is None):
                self.missing.append(call.name)
                continue
            self._entries[int(cbid)] = _Entry(call, int(cbid), params)
        lacking = [name for name in ESSENTIAL if name in self.missing]
        if lacking:
            raise Missing(f"this CUPTI does not know {', '.join(lacking)}")
        self._subscriber = self._cupti.subscribe(self._on_callback, None)
        self._cupti.activity_register_callbacks(_buffer, self._on_activities)
        self._switch(is_always=True, on=True)

    def open(self, seconds: float | None) -> None:
        """From here on every call and all work is taken down, for `seconds` or until `close`."""
        if self.is_detailed or self.is_closed:
            return
        self._switch(is_always=False, on=True)
        for kind in ACTIVITIES:
            number = getattr(self._cupti.ActivityKind, kind, None)
            if number is None:
                self.missing.append(kind)
                continue
            try:
                self._cupti.activity_enable(number)
            except self._cupti.cuptiError as fault:
                self.missing.append(f"{kind} ({fault})")
            else:
                self._enabled.append(number)
        if seconds is not None:
            self._deadline = self._now() + int(seconds * 1e9)
        self.is_detailed = True

    def close(self) -> None:
        """No more details.  Work that is under way is still taken down, until `finish`."""
        self.is_detailed = False
        self._switch(is_always=False, on=False)

    def flush(self, *, ends: bool) -> None:
        """Everything that CUPTI still has; the work must be done (synchronise before).  `ends`: and
        no more activity records after that."""
        self._try(partial(self._cupti.activity_flush_all, 1))
        if ends:
            for number in self._enabled:
                self._try(partial(self._cupti.activity_disable, number))
            self._enabled.clear()

    def finish(self) -> None:
        """The last of it, at the end of the program."""
        self.is_detailed = False
        self.flush(ends=True)
        self.is_closed = True
        self._try(partial(self._cupti.unsubscribe, self._subscriber))

    def end_of_rows(self) -> None:
        self._writer.close()

    @property
    def n_refused(self) -> int:
        """Rows that there was no room for."""
        return self._writer.n_refused

    def n_dropped(self) -> int:
        """Activity records that CUPTI had no room for."""
        dropped = ctypes.c_size_t(0)
        place = ctypes.addressof(dropped)
        self._try(partial(self._cupti.activity_get_num_dropped_records, 0, 0, place))
        return dropped.value

    def mark(self, name: str, number: int, *, begins: bool) -> None:
        """A part that the program marks; `number` counts from 1."""
        what = What.MARK_BEGIN if begins else What.MARK_END
        cells = (number, self._writer.text(name), threading.get_ident())
        self._writer.add(what, self._now(), 0, 0, 0, 0, 0, 0, 0, 0, *cells, 0)

    def _switch(self, *, is_always: bool, on: bool) -> None:
        domain = self._cupti.CallbackDomain.DRIVER_API
        for entry in self._entries.values():
            if entry.call.is_always is is_always:
                try:
                    self._cupti.enable_callback(int(on), self._subscriber, domain, entry.cbid)
                except self._cupti.cuptiError as fault:
                    if entry.call.name in ESSENTIAL:
                        raise
                    self._note(f"{entry.call.name}: {fault}")

    def _try(self, call: Callable[[], object]) -> None:
        """What may fail without harm to what is recorded already."""
        try:
            call()
        except self._cupti.cuptiError as fault:
            self._note(str(fault))

    def _note(self, text: str) -> None:
        self.n_faults += 1
        if len(self.faults) < _MAX_FAULTS and text not in self.faults:
            self.faults.append(text)

    # --- calls of the host -----------------------------------------------------------------

    def _on_callback(self, _: object, domain: int, cbid: int, data: Any) -> None:
        now = self._now()
        if self.is_closed:
            return
        try:
            if domain == self._cupti.CallbackDomain.DRIVER_API:
                self._on_call(now, int(cbid), data)
            elif self._hear is not None:
                self._hear(int(cbid), data)
        except Exception:  # noqa: BLE001  # nothing may travel through the driver into the program
            self._note(traceback.format_exc(limit=-2))

    def _on_call(self, now: int, cbid: int, data: Any) -> None:
        entry = self._entries.get(cbid)
        if entry is None:
            return
        thread = threading.get_ident()
        begun = self._begun.setdefault(thread, [])
        if int(data.callback_site) == 0:
            begun.append((now, self._now() - now))
            return
        begin, enter_cost = begun.pop() if begun else (now, 0)
        if not (self.is_detailed or entry.call.is_always):
            return
        params = None
        if entry.params is not None:
            params = entry.params.from_ptr(data.function_params, readonly=True)
        returned = data.function_return_value
        result = ctypes.c_int32.from_address(returned).value if returned else 0
        stream, context = entry.stream(params), data.context_uid
        a, b, c = entry.a(params), entry.b(params), entry.c(params)
        if not result:
            self._note_stream(entry, data, context, stream, thread, a)
        if self._deadline is not None and self.is_detailed and now > self._deadline:
            self.is_detailed = False
            self._writer.add(What.STOPPED, begin, *(0,) * 12)
            return
        self._writer.add(
            entry.what, begin, enter_cost, now, self._now() - now, thread, data.correlation_id,
            context, stream, entry.is_per_thread, a, b, c, result,
        )  # fmt: skip

    def _note_stream(
        self, entry: _Entry, data: Any, context: int, stream: int, thread: int, made: int
    ) -> None:
        """CUPTI's number of a stream at its first use: work that no call is found for has it."""
        what = entry.what
        if what in (What.STREAM_CREATE, What.STREAM_DESTROY):
            handle = made if what == What.STREAM_CREATE else stream
            self._known_streams = {key for key in self._known_streams if key[1] != handle}
            return
        if what not in _ON_STREAMS or not self.is_detailed:
            return
        is_own = stream == 2 or (stream == 0 and entry.is_per_thread)
        key = (context, stream, entry.is_per_thread, thread if is_own else 0)
        if key in self._known_streams:
            return
        self._known_streams.add(key)
        with contextlib.suppress(self._cupti.cuptiError):
            number = self._cupti.get_stream_id_ex(data.context, stream, entry.is_per_thread)
            self._writer.add(
                What.STREAM_ID, self._now(), *key[:3], thread, number, 0, 0, 0, 0, 0, 0, 0
            )

    def listen_to_ranges(self, hear: Callable[[int, Any], None]) -> None:
        """NVTX ranges come as callbacks too, and go to `hear` (see `ranges`)."""
        self._hear = hear
        self._cupti.enable_domain(1, self._subscriber, self._cupti.CallbackDomain.NVTX)

    # --- work of the device ----------------------------------------------------------------

    def _on_activities(self, activities: Iterable[Any]) -> None:
        """A buffer that is full; on a thread of CUPTI's."""
        begin = self._now()
        kinds = self._cupti.ActivityKind
        for activity in activities:
            try:
                self._on_activity(kinds(activity.kind).name, activity)
            except Exception:  # noqa: BLE001  # as above: this is called from C
                self._note(traceback.format_exc(limit=-2))
        self._writer.add(What.OVERHEAD, begin, self._now(), *(0,) * 5, 1, *(0,) * 5)

    def _on_activity(self, kind: str, record: Any) -> None:
        match kind:
            case "CONCURRENT_KERNEL" | "KERNEL":
                blocks = record.grid_x * record.grid_y * record.grid_z
                threads = record.block_x * record.block_y * record.block_z
                name = self._writer.text(str(record.name)[:200])
                self._ran(What.KERNEL_RAN, record, (blocks, threads, name), record.graph_id)
            case "MEMCPY":
                cells = (signed(record.bytes), int(record.src_kind), int(record.dst_kind))
                self._ran(What.COPY_RAN, record, cells, record.graph_id)
            case "MEMCPY2":
                cells = (signed(record.bytes), 0, 0)
                self._ran(What.COPY_BETWEEN_DEVICES_RAN, record, cells, record.graph_id)
            case "MEMSET":
                self._ran(What.SET_RAN, record, (signed(record.bytes), 0, 0), record.graph_id)
            case "GRAPH_TRACE":
                self._ran(What.GRAPH_RAN, record, (0, 0, 0), record.graph_id or 1)
            case "MEMORY2":
                pool = record.memory_pool_config
                self._writer.add(
                    What.POOL_MEMORY, record.timestamp, record.device_id, record.context_id,
                    record.stream_id, record.correlation_id, signed(pool.pool.size_),
                    signed(pool.utilized_size), signed(pool.release_threshold),
                    int(pool.memory_pool_type), signed(record.bytes),
                    int(int(record.memory_operation_type) == 2), signed(record.address),
                    signed(pool.address),
                )  # fmt: skip
            case "OVERHEAD":
                self._writer.add(What.OVERHEAD, record.start, record.end, *(0,) * 11)

    def _ran(self, what: What, record: Any, cells: tuple[int, int, int], graph: int) -> None:
        self._writer.add(
            what, record.start, record.end, record.device_id, record.context_id, record.stream_id,
            record.correlation_id, graph, *cells, 0, 0, 0,
        )  # fmt: skip


def _buffer() -> tuple[int, int]:
    """Size of a buffer, and the most records in it (0: as many as fit)."""
    return BUFFER_BYTES, 0
