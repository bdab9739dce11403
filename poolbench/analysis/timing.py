"""When steps were complete on the device, as far as a trace tells.

Pure.  Nanoseconds on the host's axis; -1 means "not known".
"""

from __future__ import annotations

from collections.abc import Iterable

from poolbench.plan.plan import Plan
from poolbench.plan.steps import DEVICE_STEPS
from poolbench.trace import NONE, StepTrace


def stream_of(step: object) -> int:
    """The stream that a step takes a place in, -1 for steps of the host."""
    if isinstance(step, DEVICE_STEPS):
        return step.stream
    return NONE


class Completions:
    """Completion times of rows.

    A row without a time of its own was complete when the next step of its stream that has one
    began; failing that, it cannot have been complete before the last one ahead of it ended.
    """

    __slots__ = ("_done",)

    def __init__(self, plan: Plan, steps: StepTrace) -> None:
        begin: list[int] = steps.device_begin_ns.tolist()
        end: list[int] = steps.device_end_ns.tolist()
        streams = [stream_of(step) for step in plan.steps]
        self._done = list(end)
        for first in range(0, len(end), plan.n_steps):
            rows = range(first, min(first + plan.n_steps, len(end)))
            self._fill(reversed(rows), first, streams, begin)
            self._fill(rows, first, streams, end)

    def _fill(self, rows: Iterable[int], first: int, streams: list[int], times: list[int]) -> None:
        """Rows that have no time yet get the last one met on their stream."""
        met: dict[int, int] = {}
        for row in rows:
            stream = streams[row - first]
            if self._done[row] == NONE:
                self._done[row] = met.get(stream, NONE)
            if times[row] != NONE:
                met[stream] = times[row]

    def of(self, row: int) -> int:
        return self._done[row]
