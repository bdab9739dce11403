"""Latches: streams that the host stops and lets go, and the watchdog that opens what stays closed.

A latch is a word of mapped host memory per stream; `hold` queues a wait for the word to reach a
ticket, `release` writes the ticket.  No multiprocessor is occupied.  One more word holds back all
streams under `issue: ahead`.  Every closed latch is opened by the watchdog after its limit, so that
a blocked host call is a finding and never a hang.  Times are `time.perf_counter_ns`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.trace import LatchOpening

MAX_LATCHES = 256
_SPACING = 64
_POLL_S = 0.002
_OPEN_ALL = 2**31 - 1


class Latches:
    """The words in mapped memory; one object for the life of a worker."""

    def __init__(self) -> None:
        host, self._device = driver.allocate_mapped(MAX_LATCHES * _SPACING)
        self._words = (ctypes.c_uint32 * (MAX_LATCHES * _SPACING // 4)).from_address(host)
        self._lock = threading.Lock()
        self._closed: dict[tuple[int, int], tuple[int, int]] = {}
        self._openings: list[LatchOpening] = []
        self._limit_ns = 0

    def reset(self, limit_ns: int) -> None:
        """Before an iteration: every word 0, nothing recorded as closed."""
        with self._lock:
            ctypes.memset(ctypes.addressof(self._words), 0, MAX_LATCHES * _SPACING)
            self._closed.clear()
            self._limit_ns = limit_ns

    def address(self, latch: int) -> int:
        return self._device + latch * _SPACING

    def note_closed(self, latch: int, ticket: int, row: int) -> None:
        self._closed[latch, ticket] = (row, time.perf_counter_ns())

    def open(self, latch: int, ticket: int, *, by_watchdog: bool = False) -> None:
        """Opens every hold of this latch up to `ticket`."""
        with self._lock:
            word = latch * _SPACING // 4
            self._words[word] = max(self._words[word], ticket)
            opened = time.perf_counter_ns()
            for key in [key for key in self._closed if key[0] == latch and key[1] <= ticket]:
                row, closed = self._closed.pop(key)
                self._openings.append(
                    LatchOpening(
                        stream=latch,
                        row=row,
                        closed_ns=closed,
                        opened_ns=opened,
                        by_watchdog=by_watchdog,
                    )
                )

    def open_all(self) -> None:
        """After a failure: nothing may stay held."""
        for latch, _ in list(self._closed):
            self.open(latch, _OPEN_ALL)

    def take_openings(self) -> list[LatchOpening]:
        taken, self._openings = self._openings, []
        return taken

    def open_overdue(self) -> None:
        now = time.perf_counter_ns()
        for (latch, ticket), (_, closed) in list(self._closed.items()):
            if now - closed > self._limit_ns:
                self.open(latch, ticket, by_watchdog=True)


class Watchdog:
    """A thread that opens overdue latches while a run goes on."""

    def __init__(self, latches: Latches) -> None:
        self._latches = latches
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="latch-watchdog", daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_S):
            self._latches.open_overdue()

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def queue_hold(stream: Any, address: int, ticket: int) -> tuple[Any, ...]:
    """`cuStreamWaitValue32` until the word at `address` is at least `ticket`."""
    result: tuple[Any, ...] = driver.cuStreamWaitValue32(stream, address, ticket, driver.GEQ)
    return result
