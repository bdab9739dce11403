"""The clock of the simulation: a heap of (time, priority, counter, action, subject).

The counter makes the order total, so that the same plan gives the same trace on every machine.
Nothing is ever taken out early: an action that has lost its point finds that out itself.
Times are nanoseconds on the host's axis.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from poolbench.backends.model.ops import Op

Action = Callable[[int, Any], None]

END = 0
"""What gives something back comes before what asks for it at the same time."""
OPEN = 1
BEGIN = 2


class Engine:
    """Runs scheduled actions in order of time."""

    __slots__ = ("_counter", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, Action, Any]] = []
        self._counter = 0

    def schedule(self, time_ns: int, priority: int, action: Action, subject: Any) -> None:
        self._counter += 1
        heappush(self.heap, (time_ns, priority, self._counter, action, subject))

    def run_until(self, time_ns: int) -> None:
        """Everything that happens up to and at `time_ns`."""
        heap = self.heap
        while heap and heap[0][0] <= time_ns:
            at, _, _, action, subject = heappop(heap)
            action(at, subject)

    def step(self) -> int:
        """The next thing that happens; its time."""
        at, _, _, action, subject = heappop(self.heap)
        action(at, subject)
        return at

    def run_until_done(self, op: Op) -> int:
        """The time at which `op` is over: runs no further than needed to know it.

        Every held stream has a watchdog in the heap, so there is always a next thing to happen.
        """
        while op.done_ns < 0:
            self.step()
        return op.done_ns

    def run_out(self) -> None:
        while self.heap:
            self.step()
