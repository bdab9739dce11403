"""Who freed each byte of the pool last, and what that makes of an allocation.

Pure bookkeeping: nothing here decides what an allocation gets, only what it is called.
"""

from __future__ import annotations

from poolbench.backends.model.ops import Op
from poolbench.backends.model.ranges import Ranges
from poolbench.backends.model.streams import NOTHING_KNOWN, Clock
from poolbench.domain import SERVED, AttributeSet, Outcome
from poolbench.trace import NONE

_RANK = {outcome: rank for rank, outcome in enumerate(SERVED)}


class History:
    """The last free of every byte that has memory, and what the host knows to be over."""

    __slots__ = ("_attributes", "_floor", "_freed", "_host")

    def __init__(self, attributes: AttributeSet) -> None:
        self._attributes = attributes
        self._freed: Ranges[Op] = Ranges()
        self._host: Clock = NOTHING_KNOWN
        self._floor = 0

    def free(self, begin: int, end: int, op: Op) -> None:
        self._freed.put(begin, end, op)

    def forget(self, begin: int, end: int) -> None:
        """The memory behind this range has gone."""
        self._freed.forget(begin, end)

    def host_knows(self, clock: Clock, floor: int) -> None:
        self._host, self._floor = clock, floor

    def name(
        self, begin: int, end: int, stream: int, clock: Clock, fresh: Outcome
    ) -> tuple[Outcome, int]:
        """What an allocation on `stream` that got this range is called, and the row of the free
        whose block it reuses (-1 for none).

        It goes by the weakest piece; among equals by the free that was over last.  `fresh` is what
        a piece is called that nobody has used since it was mapped.
        """
        whole = self._freed.whole(begin, end)
        if whole is not None:
            return self._relation(whole, stream, clock), whole.row
        weakest = (-1, NONE, NONE)
        for _, _, op in self._freed.pieces(begin, end):
            if op is None:
                found = (_RANK[fresh], NONE, NONE)
            else:
                found = (_RANK[self._relation(op, stream, clock)], op.done_ns, op.row)
            weakest = max(weakest, found)
        return SERVED[weakest[0]], weakest[2]

    def _relation(self, op: Op, stream: int, clock: Clock) -> Outcome:
        """How a free stands to an allocation that may take its block without waiting."""
        if op.stream_id == stream:
            return Outcome.SAME_STREAM
        if op.seq <= self._floor or op.seq <= self._host.get(op.stream_id, 0):
            return Outcome.HOST_ORDERED
        is_ordered = op.seq <= clock.get(op.stream_id, 0)
        if is_ordered and self._attributes.follow_event_dependencies:
            return Outcome.EVENT_ORDERED
        return Outcome.OPPORTUNISTIC
