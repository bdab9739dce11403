"""Which work of the device belongs to which call of the host.  Pure.

By correlation number first.  What is left over is matched by its order on the stream, where call
and work are equal in number; CUPTI delivers records in any order, so that nothing relies on that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from poolbench.recording.raw import CALL, RAN, STREAM_IDS, What
from poolbench.recording.read import Rows, cells

_CALL, _RAN, _ID = cells(CALL), cells(RAN), cells(STREAM_IDS)
_KEY = ("context", "stream", "is_per_thread", "thread")
_KEY_OF_CALL = tuple(_CALL[name] for name in _KEY)
_FITTING: Mapping[int, tuple[int, ...]] = {
    What.LAUNCH: (What.KERNEL_RAN,),
    What.COPY: (What.COPY_RAN, What.COPY_BETWEEN_DEVICES_RAN),
    What.COPY_AND_WAIT: (What.COPY_RAN, What.COPY_BETWEEN_DEVICES_RAN),
    What.SET: (What.SET_RAN,),
    What.GRAPH_LAUNCH: (What.GRAPH_RAN, What.KERNEL_RAN, What.COPY_RAN, What.SET_RAN),
}
_PER_THREAD = 2
"""`CU_STREAM_PER_THREAD` as a handle."""

Row = list[int]
StreamKey = tuple[int, int, int]
"""Context, handle, and thread where the stream is a thread's own (else 0)."""


def stream_key(context: int, stream: int, is_per_thread: int, thread: int) -> StreamKey:
    """Handles 0 and 1 are the legacy default stream, 2 and a per-thread 0 that of the thread."""
    if stream == _PER_THREAD or (stream == 0 and is_per_thread):
        return context, _PER_THREAD, thread
    return context, 0 if stream == 1 else stream, 0


def key_of_call(row: Row) -> StreamKey:
    """The stream that a call names."""
    return stream_key(*(row[cell] for cell in _KEY_OF_CALL))


class Matched:
    """`calls` and `ran` are rows; a call is named by its index in `calls`."""

    def __init__(self, calls: Rows, ran: Rows, stream_ids: Rows) -> None:
        order = np.lexsort((ran[:, _RAN["start"]], ran[:, _RAN["correlation"]]))
        self._ran = ran[order]
        self._used = np.zeros(len(ran), dtype=bool)
        self._by_order: dict[int, int] = {}
        """Call -> its work, where the correlation did not tell."""
        self._calls = calls
        self._key_of_id: dict[tuple[int, int], StreamKey] = {}
        for row in stream_ids.tolist():
            place = (row[_ID["context"]], row[_ID["stream_id"]])
            self._key_of_id[place] = stream_key(*(row[_ID[name]] for name in _KEY))
        wanted = calls[:, _CALL["correlation"]]
        known = self._ran[:, _RAN["correlation"]]
        self._first = np.searchsorted(known, wanted, side="left")
        self._behind = np.searchsorted(known, wanted, side="right")
        self._found: dict[int, list[int]] = {}
        self._match()

    def of(self, call: int) -> list[Row]:
        """The work of a call, in the order in which it ran."""
        return [self._ran[index].tolist() for index in self._found.get(call, ())]

    @property
    def n_by_order(self) -> int:
        return len(self._by_order)

    def is_by_order(self, call: int) -> bool:
        return call in self._by_order

    def left_over(self) -> Rows:
        """Work that no call was found for, as it started."""
        rest = self._ran[~self._used]
        return rest[np.argsort(rest[:, _RAN["start"]], kind="stable")]

    def key_of(self, work: Row) -> StreamKey | None:
        """The stream of work, by CUPTI's number of it."""
        return self._key_of_id.get((work[_RAN["context"]], work[_RAN["stream_id"]]))

    def _match(self) -> None:
        what = self._calls[:, 0]
        in_time = np.argsort(self._calls[:, _CALL["begin"]], kind="stable")
        lonely = []
        for call in in_time[np.isin(what[in_time], list(_FITTING))].tolist():
            fitting = _FITTING[int(what[call])]
            is_graph = what[call] == What.GRAPH_LAUNCH
            mine = [
                index
                for index in range(self._first[call], self._behind[call])
                if not self._used[index]
                and self._ran[index, 0] in fitting
                and bool(self._ran[index, _RAN["graph"]]) == is_graph
            ]
            if mine:
                self._used[mine] = True
                self._found[call] = mine
            elif not self._calls[call, _CALL["result"]] and not is_graph:
                lonely.append(call)
        if lonely and not self._used.all():
            self._match_by_order(lonely)

    def _match_by_order(self, lonely: list[int]) -> None:
        calls: dict[tuple[StreamKey, int], list[int]] = defaultdict(list)
        for call in lonely:
            row = self._calls[call].tolist()
            calls[key_of_call(row), _kind_of(row[0])].append(call)
        work: dict[tuple[StreamKey, int], list[int]] = defaultdict(list)
        rest = np.flatnonzero(~self._used & (self._ran[:, _RAN["graph"]] == 0))
        for index in rest[np.argsort(self._ran[rest, _RAN["start"]], kind="stable")].tolist():
            row = self._ran[index].tolist()
            found = self.key_of(row)
            if found is not None:
                work[found, row[0]].append(index)
        for place, mine in calls.items():
            ran = work.get(place, [])
            if len(ran) == len(mine):
                for call, index in zip(mine, ran, strict=True):
                    self._found[call] = [index]
                    self._by_order[call] = index
                    self._used[index] = True


def _kind_of(what: int) -> int:
    """What a call's work is called."""
    return _FITTING[what][0]
