"""Streams, events and latches: state that the host and the device share.

A clock says, stream by stream, up to which op (by `Op.seq`) everything is known to be over.  Clocks
are never changed in place, so that an event can keep one without copying it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from poolbench.backends.model.ops import Op
from poolbench.domain import StreamKind

Clock = Mapping[int, int]
NOTHING_KNOWN: Clock = {}


class Latch:
    """The word that a hold waits for: the values stored in it, and the host's time of each."""

    __slots__ = ("_times", "_values", "value", "waiting")

    def __init__(self) -> None:
        self.value = 0
        self.waiting: list[Stream] = []
        self._values: list[int] = []
        self._times: list[int] = []

    def store(self, value: int, now_ns: int) -> None:
        """`value` must be larger than the last."""
        self.value = value
        self._values.append(value)
        self._times.append(now_ns)

    def opened_ns(self, ticket: int) -> int:
        """When the word reached `ticket`; it must have."""
        return self._times[bisect_left(self._values, ticket)]


class Stream:
    """One stream.

    number
        unique in a run: a stream created again is another one.
    time_ns
        when everything that the device has dealt with so far is over.
    last
        the op issued last.
    n_queued
        kernels issued and not started.
    is_waiting
        the op at the head of the queue is registered with whatever it waits for.
    clock
        what is known to be over of *other* streams when the next op starts.
    """

    __slots__ = (
        "clock",
        "is_waiting",
        "kind",
        "last",
        "n_queued",
        "number",
        "queue",
        "rank",
        "time_ns",
    )

    def __init__(self, number: int, kind: StreamKind, rank: int) -> None:
        self.number = number
        self.kind = kind
        self.rank = rank
        self.queue: deque[Op] = deque()
        self.time_ns = 0
        self.last: Op | None = None
        self.n_queued = 0
        self.is_waiting = False
        self.clock: Clock = NOTHING_KNOWN

    def learn(self, other: int, clock: Clock, seq: int) -> None:
        """The next op starts after op `seq` of stream `other`, which started after `clock`.

        Who knows an op knows what that op knew.
        """
        mine = self.clock
        if other == self.number or mine.get(other, 0) >= seq:
            return
        joined = dict(mine)
        for stream, known in clock.items():
            if known > joined.get(stream, 0):
                joined[stream] = known
        joined[other] = seq
        joined.pop(self.number, None)
        self.clock = joined


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as it was recorded last."""

    op: Op
    clock: Clock
