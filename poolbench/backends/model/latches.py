"""Latches as the host handles them: closed, opened, opened by the watchdog.  Times are nanoseconds.

Every hold gets its watchdog when it is issued, so that nothing stays held for ever.
"""

from __future__ import annotations

from poolbench.backends.model.device import Device
from poolbench.backends.model.engine import OPEN, Engine
from poolbench.backends.model.streams import Latch
from poolbench.trace import NONE, LatchOpening

_OPEN_ALL = 2**31 - 1
AHEAD = -1
"""The latch that holds back all streams under `issue: ahead`."""


class Latches:
    """One latch for each stream of the plan, and one for all of them."""

    def __init__(self, n_streams: int, limit_ns: int, engine: Engine, device: Device) -> None:
        self._n_streams = n_streams
        self._limit_ns = limit_ns
        self._engine = engine
        self._device = device
        self._latches: dict[int, Latch] = {}
        self._closed: dict[tuple[int, int], tuple[int, int]] = {}
        self.openings: list[LatchOpening] = []
        self.reset()

    def reset(self) -> None:
        """Before an iteration: every word 0."""
        self._latches = {index: Latch() for index in (AHEAD, *range(self._n_streams))}
        self._closed.clear()

    def latch(self, index: int) -> Latch:
        return self._latches[index]

    def close(self, index: int, ticket: int, row: int, now_ns: int) -> None:
        """A hold has been issued; without effect where its release came first."""
        latch = self._latches[index]
        if latch.value >= ticket:
            return
        self._closed[index, ticket] = (row, now_ns)
        self._engine.schedule(now_ns + self._limit_ns, OPEN, self._watch, (latch, index, ticket))

    def open(self, index: int, ticket: int, now_ns: int, *, by_watchdog: bool = False) -> None:
        """Lets every hold up to `ticket` go."""
        for key in [key for key in self._closed if key[0] == index and key[1] <= ticket]:
            row, closed_ns = self._closed.pop(key)
            for stream in range(self._n_streams) if index == AHEAD else (index,):
                self.openings.append(
                    LatchOpening(
                        stream=stream,
                        row=row,
                        closed_ns=closed_ns,
                        opened_ns=now_ns,
                        by_watchdog=by_watchdog,
                    )
                )
        self._device.open(self._latches[index], ticket, now_ns)

    def open_ahead(self, now_ns: int) -> None:
        if (AHEAD, 1) in self._closed:
            self.open(AHEAD, 1, now_ns)

    def open_all(self, now_ns: int) -> None:
        for index in dict.fromkeys(index for index, _ in self._closed):
            self.open(index, _OPEN_ALL, now_ns)

    def close_ahead(self, now_ns: int) -> None:
        self.close(AHEAD, 1, NONE, now_ns)

    def _watch(self, now_ns: int, subject: tuple[Latch, int, int]) -> None:
        latch, index, ticket = subject
        if latch is self._latches[index] and latch.value < ticket:
            self.open(index, ticket, now_ns, by_watchdog=True)
