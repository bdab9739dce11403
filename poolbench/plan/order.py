"""Happens-before between the steps of an iteration, by vector clocks.

Pure.  What orders two steps:

- the order of a stream;
- `record` and a later `wait`: the stream goes on after the event, as it was last recorded before
  the wait was issued, and so after all that was before the event (transitively);
- the legacy default stream and the blocking streams, which wait for each other; the per-thread
  default stream does so with the legacy one (CUDA programming guide, "Default stream"), while
  nothing orders it and a blocking stream, nor the legacy stream and a non-blocking one;
- the host: whatever it has synchronised with is over before it issues the next step.

Latches order nothing: only the host opens them.  A stream that is destroyed and created again is
another stream under the same name.

A clock says, for every stream, how far its steps are known to be over.  Only waits,
synchronisations and the default stream change what a stream knows of others, so the clocks are kept
once for each change (`table`) and a step holds the number of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from poolbench.domain import StreamKind
from poolbench.plan import steps as s
from poolbench.plan.plan import StreamSpec
from poolbench.plan.steps import Step

Clocks = npt.NDArray[np.int32]

HOST = -1


class Relation(StrEnum):
    """How an allocation stands to an earlier free."""

    SAME_STREAM = "same_stream"
    HOST_ORDERED = "host_ordered"
    """The host had synchronised with the free when it asked for the block."""
    EVENT_ORDERED = "event_ordered"
    """The stream comes after the free through events or the legacy default stream."""
    UNORDERED = "unordered"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Order:
    """The happens-before relation of one iteration; arrays have a row for each step.

    column
        the step's stream (a created-again stream has a column of its own), `HOST` for host steps.
    position
        1, 2, ... along a column; 0 for host steps.
    row
        row of `table`: what is known to be over when a device step starts, its own stream aside,
        or when a host step has returned.
    host_row
        row of `table`: what the host knows to be over when it issues the step.
    """

    column: Clocks
    position: Clocks
    row: Clocks
    host_row: Clocks
    table: Clocks

    def happens_before(self, first: int, second: int) -> bool:
        """Whether step `first` is over, in every run, before step `second` starts.

        A host step is over when its call returns; a device step when the device has done it.
        """
        if first >= second:
            return False
        column = self.column[first]
        if column == HOST or column == self.column[second]:
            return True
        return bool(self.table[self.row[second], column] >= self.position[first])

    def is_host_known(self, first: int, at: int) -> bool:
        """Whether the host has synchronised with step `first` before it issues step `at`."""
        if first >= at:
            return False
        column = self.column[first]
        if column == HOST:
            return True
        return bool(self.table[self.host_row[at], column] >= self.position[first])

    def relation(self, free_step: int, alloc_step: int) -> Relation:
        """How the driver may see a free when it serves an allocation of the same iteration."""
        if free_step >= alloc_step:
            return Relation.UNORDERED
        if self.column[free_step] == self.column[alloc_step]:
            return Relation.SAME_STREAM
        if self.is_host_known(free_step, alloc_step):
            return Relation.HOST_ORDERED
        if self.happens_before(free_step, alloc_step):
            return Relation.EVENT_ORDERED
        return Relation.UNORDERED


class _Clocks:
    """The clocks while they are being made: what each column, each event and the host know."""

    def __init__(self, width: int) -> None:
        self.table: list[Clocks] = [np.zeros(width, dtype=np.int32)]
        self.known = [0] * width
        self.position = [0] * width
        self.host = 0
        self._host_seen = [0] * width

    def _joined(self, row: int, other: int, column: int, position: int) -> int:
        """A row that knows what `row` and `other` do, and `column` up to `position`.

        Who knows a column's position knows all that the column knew there.
        """
        mine = self.table[row]
        if mine[column] >= position:
            return row
        clock = np.maximum(mine, self.table[other])
        clock[column] = max(int(clock[column]), position)
        self.table.append(clock)
        return len(self.table) - 1

    def column_after(self, column: int, other: int, row: int, position: int) -> None:
        """`column` goes on after `position` of column `other`, which knew `row` there."""
        if column != other:
            self.known[column] = self._joined(self.known[column], row, other, position)

    def column_after_host(self, column: int) -> None:
        if self._host_seen[column] == self.host:
            return
        self._host_seen[column] = self.host
        mine, host = self.table[self.known[column]], self.table[self.host]
        if np.all(host <= mine):
            return
        if np.all(mine <= host):
            self.known[column] = self.host
            return
        self.table.append(np.maximum(mine, host))
        self.known[column] = len(self.table) - 1

    def host_after(self, column: int, row: int, position: int) -> None:
        self.host = self._joined(self.host, row, column, position)

    def host_after_all(self, columns: Iterable[int]) -> None:
        for column in columns:
            self.host_after(column, self.known[column], self.position[column])


def order_of(steps: Sequence[Step], streams: Sequence[StreamSpec], n_events: int) -> Order:
    """The order of the steps of one iteration, in the order in which the host issues them."""
    n_columns = len(streams) + sum(isinstance(step, s.CreateStream) for step in steps)
    clocks = _Clocks(max(1, n_columns))
    column_of = list(range(len(streams)))
    n_used = len(streams)
    is_destroyed = [False] * len(streams)
    # streams that the legacy default stream waits for, and that wait for it
    implicit = (StreamKind.BLOCKING, StreamKind.PER_THREAD_DEFAULT)
    kinds = [stream.kind for stream in streams] + [StreamKind.NON_BLOCKING] * (
        n_columns - len(streams)
    )
    legacy = next((c for c, kind in enumerate(kinds) if kind is StreamKind.LEGACY_DEFAULT), None)
    blocking = [column for column, kind in enumerate(kinds) if kind in implicit]
    events: list[tuple[int, int, int] | None] = [None] * n_events

    n_steps = len(steps)
    columns, positions = [HOST] * n_steps, [0] * n_steps
    rows, host_rows = [0] * n_steps, [0] * n_steps
    for index, step in enumerate(steps):
        host_rows[index] = clocks.host
        if isinstance(step, s.DEVICE_STEPS):
            column = column_of[step.stream]
            clocks.column_after_host(column)
            if legacy is not None:
                if column == legacy:
                    for other in blocking:
                        known, position = clocks.known[other], clocks.position[other]
                        clocks.column_after(column, other, known, position)
                elif kinds[column] in implicit:
                    known, position = clocks.known[legacy], clocks.position[legacy]
                    clocks.column_after(column, legacy, known, position)
            if isinstance(step, s.Wait):
                recorded = events[step.event]
                if recorded is not None:
                    clocks.column_after(column, *recorded)
            clocks.position[column] += 1
            columns[index], positions[index] = column, clocks.position[column]
            rows[index] = clocks.known[column]
            if isinstance(step, s.Record):
                events[step.event] = (column, clocks.known[column], clocks.position[column])
            continue
        match step:
            case s.SyncStream(stream=stream):
                column = column_of[stream]
                # With the legacy default stream the host waits for the blocking streams (measured).
                clocks.host_after_all((column, *blocking) if column == legacy else (column,))
            case s.SyncEvent(event=event):
                recorded = events[event]
                if recorded is not None:
                    clocks.host_after(*recorded)
            case s.SyncDevice():
                clocks.host_after_all(range(n_used))
            case s.DestroyStream(stream=stream):
                is_destroyed[stream] = True
            case s.CreateStream(stream=stream):
                if is_destroyed[stream]:
                    is_destroyed[stream] = False
                    kinds[n_used] = streams[stream].kind
                    if kinds[n_used] in implicit:
                        blocking.append(n_used)
                    column_of[stream] = n_used
                    n_used += 1
            case _:
                pass
        rows[index] = clocks.host
    return Order(
        column=np.array(columns, dtype=np.int32),
        position=np.array(positions, dtype=np.int32),
        row=np.array(rows, dtype=np.int32),
        host_row=np.array(host_rows, dtype=np.int32),
        table=np.stack(clocks.table),
    )
