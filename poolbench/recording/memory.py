"""Allocations and frees of a recording, those of before the recorded part too.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from poolbench.imports.builder import Builder
from poolbench.recording.raw import CALL, What
from poolbench.recording.read import Rows, cells
from poolbench.recording.streams import Streams
from poolbench.recording.work import StreamKey, key_of_call

_CALL = cells(CALL)
_DEFAULT: StreamKey = (0, 0, 0)
_ON_STREAM = (What.LAUNCH, What.COPY, What.COPY_AND_WAIT, What.SET, What.GRAPH_LAUNCH)


class Plain(StrEnum):
    """What becomes of `cuMemAlloc` and `cuMemFree`."""

    AUTO = "auto"
    """Left out where the program allocates from a pool as well, else as if from a pool."""
    POOL = "pool"
    DROP = "drop"


def keeps_plain(plain: Plain, n_pool_allocs: int) -> bool:
    return not n_pool_allocs if plain is Plain.AUTO else plain is Plain.POOL


def streams_of_plain(calls: Rows) -> dict[int, StreamKey]:
    """Plain allocation (its index) -> the stream of its thread's next work."""
    found: dict[int, StreamKey] = {}
    following: dict[int, StreamKey] = {}
    order = np.argsort(calls[:, _CALL["begin"]], kind="stable")[::-1]
    wanted = np.isin(calls[order, 0], (*_ON_STREAM, What.PLAIN_ALLOC))
    for index in order[wanted].tolist():
        row = calls[index].tolist()
        thread = row[_CALL["thread"]]
        if row[0] != What.PLAIN_ALLOC:
            following[thread] = key_of_call(row)
        elif thread in following:
            found[index] = following[thread]
    return found


class Memory:
    """`plain_streams`: of plain allocations, which are kept; `None`: they are left out."""

    def __init__(
        self,
        builder: Builder,
        streams: Streams,
        plain_streams: Mapping[int, StreamKey] | None,
    ) -> None:
        self._builder = builder
        self._streams = streams
        self._plain_streams = plain_streams
        self._pool: dict[int, tuple[int, StreamKey]] = {}
        """Address -> size and stream of what is live before the recorded part."""
        self._plain: dict[int, tuple[int, StreamKey]] = {}
        """The same for plain allocations; those of the recorded part too if they are left out."""
        self._addresses: set[int] = set()
        self.n_allocs = 0
        self.n_waiting_frees = 0

    @property
    def n_addresses(self) -> int:
        return len(self._addresses)

    def before(self, what: int, index: int, address: int, size: int, key: StreamKey) -> None:
        """A call before the recorded part: what will be live when it begins?"""
        match what:
            case What.ALLOC if size > 0:
                self._pool[address] = (size, key)
            case What.PLAIN_ALLOC if size > 0:
                self._plain[address] = (size, (self._plain_streams or {}).get(index, _DEFAULT))
            case What.FREE | What.PLAIN_FREE:
                self._pool.pop(address, None)
                self._plain.pop(address, None)

    def begin(self) -> None:
        """The recorded part begins: what is live is allocated at its start."""
        held = [*self._pool.items()]
        if self._plain_streams is not None:
            held += [*self._plain.items()]
            self._plain.clear()
        text = "allocations that were live when the recorded part begins: made at its start"
        for address, (size, key) in held:
            self._builder.alloc(address, size, self._streams.number(key))
            self._builder.fidelity.guessed[text] += 1

    def alloc(self, address: int, size: int, key: StreamKey) -> None:
        self._builder.alloc(address, size, self._streams.number(key))
        self._addresses.add(address)
        self.n_allocs += 1

    def free(self, address: int, key: StreamKey) -> None:
        if not self._is_left_out(address):
            self._builder.free(address, self._streams.number(key))

    def plain_alloc(self, index: int, address: int, size: int) -> None:
        fidelity = self._builder.fidelity
        if self._plain_streams is None:
            self._plain[address] = (size, _DEFAULT)
            text = "plain allocations (cuMemAlloc), which are no business of a pool"
            fidelity.lost[text] += 1
            return
        fidelity.guessed["plain allocations (cuMemAlloc), as if they came from a pool"] += 1
        self.alloc(address, size, self._plain_streams.get(index, _DEFAULT))

    def plain_free(self, address: int) -> None:
        """`cuMemFree` frees what came from a pool, too."""
        if self._is_left_out(address):
            return
        if self._builder.is_live(address):
            self._builder.free_where_allocated(address, "")
            self.n_waiting_frees += 1
        else:
            text = "frees of what was allocated before the recorder began"
            self._builder.fidelity.lost[text] += 1

    def _is_left_out(self, address: int) -> bool:
        if self._plain.pop(address, None) is None:
            return False
        self._builder.fidelity.lost["frees of plain allocations"] += 1
        return True
