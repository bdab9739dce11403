"""Rows of a recording to the steps of a scenario.  Pure.

Calls are taken in the order in which they began, allocations in that in which they ended: an
address belongs to an allocation from its end on, and is free for another from the begin of its
free, so that this order holds between threads too.  What is live when the recorded part begins is
allocated at its start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolbench.errors import BadUsage
from poolbench.imports.builder import Assumed, Builder, Built
from poolbench.recording.memory import Memory, Plain, keeps_plain, streams_of_plain
from poolbench.recording.played import Played
from poolbench.recording.pools import Pools, PoolSettings
from poolbench.recording.raw import CALL, RAN, What
from poolbench.recording.read import Recording, Rows, cells
from poolbench.recording.state import PoolState, pool_state
from poolbench.recording.streams import Streams
from poolbench.recording.window import Window, window_of
from poolbench.recording.work import Matched, Row, StreamKey, key_of_call

_CALL, _RAN = cells(CALL), cells(RAN)
_CHUNK = 65_536
_NOT_READY = 600
_OUT_OF_MEMORY = 2
_WORKING = (What.LAUNCH, What.COPY, What.COPY_AND_WAIT, What.SET, What.GRAPH_LAUNCH)
_SILENT = frozenset((
    What.POOL_CREATE, What.POOL_SET, What.POOL_OF_DEVICE, What.POOL_CHOSEN, What.STREAM_CREATE,
    What.STREAM_DESTROY, What.CAPTURE_BEGIN, What.CAPTURE_END,
))  # fmt: skip
"""Calls that change what is known, and are no steps."""
_UNPLAYED: Mapping[int, str] = {
    What.HOST_FUNCTION: "host functions in streams",
    What.MEMORY_OPERATION: "waits for and writes of values in memory (cuStreamWaitValue)",
    What.OTHER_ALLOC: "allocations of managed, pitched or virtual memory",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """`recorded` is what a replay is compared with; `state` and `pool` are the program's own."""

    built: Built
    recorded: dict[str, object]
    pool: PoolSettings
    state: PoolState
    window: Window
    device: int


def decode(
    recording: Recording,
    builder: Builder,
    assumed: Assumed,
    *,
    plain: Plain = Plain.AUTO,
) -> Decoded:
    """Raises `BadUsage` where nothing was recorded."""
    return _Decoding(recording, builder, assumed, plain).run()


class _Decoding:
    """One pass over the calls."""

    def __init__(
        self, recording: Recording, builder: Builder, assumed: Assumed, plain: Plain
    ) -> None:
        self._recording = recording
        self._builder = builder
        self._lost = builder.fidelity.lost
        self._guessed = builder.fidelity.guessed
        self._kept = builder.fidelity.kept
        self._assumed = assumed
        self._window = window_of(recording)
        self._calls = recording.of(What.ALLOC, What.CAPTURE_END)
        ran = recording.of(What.KERNEL_RAN, What.COPY_BETWEEN_DEVICES_RAN)
        self._device, self._foreign = _device_of(ran)
        self._n_elsewhere = int((ran[:, _RAN["device"]] != self._device).sum())
        self._matched = Matched(
            self._calls,
            ran[ran[:, _RAN["device"]] == self._device],
            recording.of(What.STREAM_ID),
        )
        self._streams = Streams(builder)
        self._pools = Pools()
        self._n_pool_allocs = self._count_pool_allocs()
        self._is_plain_kept = keeps_plain(plain, self._n_pool_allocs)
        plain_streams = streams_of_plain(self._calls) if self._is_plain_kept else None
        self._memory = Memory(builder, self._streams, plain_streams)
        self._played = Played(builder, recording.texts)
        self._has_begun = False
        self._free_from = 0
        self._first_begin = 0
        self._last_end = 0
        self._own_cost = 0
        self._threads: Counter[int] = Counter()

    def run(self) -> Decoded:
        for is_call, index, row in self._in_order():
            if is_call:
                self._call(index, row)
            else:
                self._begin(row[_RAN["start"]])
                self._stray(row)
        if not len(self._builder):
            raise BadUsage(_nothing(self._recording))
        self._note_losses()
        state = pool_state(self._recording, self._window)
        settings = self._pools.settings(state.threshold)
        if self._is_plain_kept and not self._n_pool_allocs:
            settings = PoolSettings(release_threshold=2**64 - 1)
        recorded = self._recorded(state)
        return Decoded(
            built=self._builder.build(recorded),
            recorded=recorded,
            pool=settings,
            state=state,
            window=self._window,
            device=self._device,
        )

    # --- order -----------------------------------------------------------------------------

    def _in_order(self) -> Iterator[tuple[bool, int, Row]]:
        """(whether it is a call, its index, the row); work without a call stands where it ran."""
        calls, strays = self._calls, self._matched.left_over()
        what = calls[:, 0]
        at_end = np.isin(what, (What.ALLOC, What.PLAIN_ALLOC))
        time = np.where(at_end, calls[:, _CALL["end"]], calls[:, _CALL["begin"]])
        strays = strays[
            (strays[:, _RAN["start"]] >= self._window.begin)
            & (strays[:, _RAN["start"]] <= self._window.end)
        ]
        times = np.concatenate((time, strays[:, _RAN["start"]]))
        rank = np.concatenate((np.where(at_end, 0, 1), np.full(len(strays), 2)))
        order = np.lexsort((rank, times))
        for first in range(0, len(order), _CHUNK):
            for index in order[first : first + _CHUNK].tolist():
                if index < len(calls):
                    yield True, index, calls[index].tolist()
                else:
                    yield False, -1, strays[index - len(calls)].tolist()

    def _begin(self, now: int) -> None:
        """The first step: what is live now is allocated before it."""
        if self._has_begun:
            return
        self._has_begun = True
        self._free_from = self._first_begin = now
        self._memory.begin()

    # --- calls -----------------------------------------------------------------------------

    def _call(self, index: int, row: Row) -> None:
        if row[_CALL["context"]] in self._foreign:
            self._lost["calls for other devices"] += 1
            return
        what = row[0]
        key = key_of_call(row)
        if not row[_CALL["result"]]:
            self._learn(what, row, key)
        if what in _SILENT:
            return
        begin = row[_CALL["begin"]]
        if begin < self._window.begin:
            self._before(index, what, row, key)
        elif begin <= self._window.end:
            self._begin(begin)
            self._host(row)
            self._step(index, what, row, key)

    def _learn(self, what: int, row: Row, key: StreamKey) -> None:
        """What is true from here on, in the recorded part and before it."""
        a, b, pool = row[_CALL["a"]], row[_CALL["b"]], row[_CALL["c"]]
        match what:
            case What.STREAM_CREATE:
                self._streams.created(row[_CALL["context"]], a, b)
            case What.STREAM_DESTROY:
                self._streams.destroyed(row[_CALL["context"]], row[_CALL["stream"]])
            case What.CAPTURE_BEGIN:
                self._streams.capture_begins(key)
            case What.CAPTURE_END:
                self._streams.capture_ends(key)
            case What.POOL_CREATE:
                self._pools.created(pool, a)
            case What.POOL_SET:
                self._pools.set(pool, a, b)
            case What.POOL_OF_DEVICE:
                self._pools.default_is(pool)
            case What.POOL_CHOSEN:
                self._pools.chosen(pool)

    def _before(self, index: int, what: int, row: Row, key: StreamKey) -> None:
        """A call before the recorded part."""
        if not row[_CALL["result"]] and not self._is_of_a_graph(what, row, key):
            self._memory.before(what, index, row[_CALL["a"]], row[_CALL["b"]], key)

    def _host(self, row: Row) -> None:
        """The program's own time since the last call, without ours."""
        begin, end = row[_CALL["begin"]], row[_CALL["end"]]
        cost = row[_CALL["exit_cost"]]
        if self._assumed.keeps_host:
            self._builder.host(begin - self._free_from)
        self._free_from = max(self._free_from, end + cost)
        self._last_end = max(self._last_end, end)
        self._own_cost += row[_CALL["enter_cost"]] + cost
        self._threads[row[_CALL["thread"]]] += 1

    def _step(self, index: int, what: int, row: Row, key: StreamKey) -> None:
        result = row[_CALL["result"]]
        if what in _UNPLAYED:
            self._lost[_UNPLAYED[what]] += 1
            return
        if result and not (result == _NOT_READY and what in (What.QUERY_EVENT, What.QUERY_STREAM)):
            self._failed(what, result)
            return
        if self._is_of_a_graph(what, row, key):
            self._lost["calls that were captured into graphs"] += 1
            return
        a, b = row[_CALL["a"]], row[_CALL["b"]]
        match what:
            case What.ALLOC:
                self._pools.used(row[_CALL["c"]])
                self._memory.alloc(a, b, key)
            case What.FREE:
                self._memory.free(a, key)
            case What.PLAIN_ALLOC:
                self._memory.plain_alloc(index, a, b)
            case What.PLAIN_FREE:
                self._memory.plain_free(a)
            case _ if what in _WORKING:
                self._work(index, what, key)
            case What.RECORD:
                self._builder.record(a, self._streams.number(key))
            case What.WAIT:
                self._builder.wait(a, self._streams.number(key))
            case What.SYNC_STREAM:
                self._builder.sync_stream(self._streams.number(key))
            case What.SYNC_EVENT:
                self._builder.sync_event(a)
            case What.SYNC_DEVICE:
                self._builder.sync_device()
            case What.QUERY_STREAM:
                self._builder.query_stream(self._streams.number(key))
            case What.QUERY_EVENT:
                self._builder.query_event(a)
            case What.TRIM:
                self._builder.trim(a)

    def _is_of_a_graph(self, what: int, row: Row, key: StreamKey) -> bool:
        if what == What.RECORD:
            return self._streams.recorded(key, row[_CALL["a"]])
        if what == What.WAIT:
            return self._streams.waited(key, row[_CALL["a"]])
        is_on_stream = what in _WORKING or what in (What.ALLOC, What.FREE)
        return is_on_stream and what != What.GRAPH_LAUNCH and self._streams.is_captured(key)

    def _failed(self, what: int, result: int) -> None:
        if what in (What.ALLOC, What.PLAIN_ALLOC):
            told = "out of memory" if result == _OUT_OF_MEMORY else f"error {result}"
            text = f"allocations that failed ({told}): whether they fail here, the run shows"
            self._lost[text] += 1
        else:
            self._lost[f"calls that failed (error {result})"] += 1

    # --- work ------------------------------------------------------------------------------

    def _work(self, index: int, what: int, key: StreamKey) -> None:
        work = self._matched.of(index)
        stream = self._streams.number(key)
        if not work:
            self._lost["calls without a record of the work that they issued"] += 1
            return
        if self._matched.is_by_order(index):
            self._guessed["work that is matched to its call by the order on its stream"] += 1
        if what == What.GRAPH_LAUNCH:
            self._played.graph(work, stream)
            return
        is_host_side = [self._played.work(one, stream) for one in work]
        if what == What.COPY_AND_WAIT and any(is_host_side):
            self._builder.sync_stream(stream)

    def _stray(self, work: Row) -> None:
        """Work without a call."""
        if work[_RAN["graph"]]:
            self._lost["work inside graphs without a launch of one"] += 1
            return
        key = self._matched.key_of(work)
        if key is None:
            name = f"{work[_RAN['context']]}:cupti:{work[_RAN['stream_id']]}"
            stream = self._builder.stream(name)
        else:
            stream = self._streams.number(key)
        self._played.work(work, stream)
        self._guessed["work without a call: put where it ran"] += 1

    # --- the whole -------------------------------------------------------------------------

    def _count_pool_allocs(self) -> int:
        calls = self._calls
        is_ok = (calls[:, 0] == What.ALLOC) & (calls[:, _CALL["result"]] == 0)
        return int((is_ok & (calls[:, _CALL["begin"]] <= self._window.end)).sum())

    def _note_losses(self) -> None:
        fidelity, about = self._builder.fidelity, self._recording.about
        self._lost["work on other devices"] += self._n_elsewhere
        self._lost["records that CUPTI dropped"] += _count(about, "n_dropped")
        self._lost["events that the recording had no room for"] += _count(about, "n_refused")
        if len(self._threads) > 1:
            fidelity.note(
                f"{len(self._threads)} threads made calls; they are taken as one, in the order in "
                "which the calls began"
            )
        if n_frees := self._memory.n_waiting_frees:
            fidelity.note(
                f"{n_frees:,} frees were cuMemFree, which waits for the device; a free to the pool "
                "does not"
            )
        if self._recording.n_others:
            fidelity.note(f"{self._recording.n_others} other processes of it were not recorded")
        if self._window.is_open:
            fidelity.note("the program ended inside the last iteration")
        if not about:
            fidelity.note("the program ended without its exit handlers: the last events are lost")
        if faults := _count(about, "n_faults"):
            first = next(iter(about.get("faults", ())), "")
            fidelity.note(f"{faults:,} faults of the recorder; the first: {first}")

    def _recorded(self, state: PoolState) -> dict[str, object]:
        found: dict[str, object] = {
            "makespan_ns": max(0, max(self._last_end, self._played.last_end) - self._first_begin),
            "overhead_ns": self._own_cost,
            "n_iterations": self._window.n_marks,
            "n_allocs": self._memory.n_allocs,
            "n_addresses": self._memory.n_addresses,
        }
        if state.reserved_high:
            found["reserved_high"] = state.reserved_high
            found["used_high"] = state.used_high
        if state.cupti_ns:
            found["cupti_ns"] = state.cupti_ns
        return found


def _device_of(ran: Rows) -> tuple[int, frozenset[int]]:
    """The device with the most work, and the contexts of others."""
    if not len(ran):
        return 0, frozenset()
    devices, counts = np.unique(ran[:, _RAN["device"]], return_counts=True)
    device = int(devices[int(np.argmax(counts))])
    elsewhere = ran[ran[:, _RAN["device"]] != device][:, _RAN["context"]]
    return device, frozenset(np.unique(elsewhere).tolist())


def _nothing(recording: Recording) -> str:
    """Why there is nothing to replay."""
    if recording.n_others:
        return (
            "nothing was recorded: the first Python process of the program made no CUDA calls, "
            f"and {recording.n_others} others are not recorded"
        )
    return "nothing was recorded: no CUDA calls in the part that was asked for"


def _count(about: Mapping[str, Any], name: str) -> int:
    found = about.get(name, 0)
    return found if isinstance(found, int) else 0
