"""What the start of a step, or the return of a host call, can have waited for.

Pure.  Within one iteration of a traced run: the step ahead in the stream, what events and the
legacy default stream put ahead, latches, and the work that a synchronising call waits for.  Steps
are indices into `plan.steps`, times nanoseconds on the host's axis, -1 is "none".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from poolbench.domain import Baseline, StreamKind
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, LatchOpening, StepTrace

_IMPLICIT = (StreamKind.BLOCKING, StreamKind.PER_THREAD_DEFAULT)


class Ahead:
    """What stands ahead of what, step by step of one iteration."""

    def __init__(self, plan: Plan) -> None:
        steps = plan.steps
        self.ahead = [NONE] * len(steps)
        """The step ahead in the same stream."""
        self.record_of = [NONE] * len(steps)
        """Of a wait: the record that it waits for.  Of a synchronisation with an event likewise."""
        self.last: list[dict[int, int]] = []
        """Before each host step that synchronises: stream -> its last step."""
        self.last_at: dict[int, dict[int, int]] = {}
        self.partners: list[tuple[int, ...]] = _partners_of(plan)
        last: dict[int, int] = {}
        records: dict[int, int] = {}
        for index, step in enumerate(steps):
            if isinstance(step, st.Wait | st.SyncEvent):
                self.record_of[index] = records.get(step.event, NONE)
            if isinstance(step, st.SyncStream | st.SyncDevice | st.Free):
                self.last_at[index] = dict(last)
            if isinstance(step, st.DEVICE_STEPS):
                self.ahead[index] = last.get(step.stream, NONE)
                if self.partners[step.stream]:
                    self.last_at[index] = dict(last)
                last[step.stream] = index
                if isinstance(step, st.Record):
                    records[step.event] = index


def _partners_of(plan: Plan) -> list[tuple[int, ...]]:
    """By stream: those that it waits for by their kinds alone."""
    kinds = [spec.kind for spec in plan.streams]
    legacy = [k for k, kind in enumerate(kinds) if kind is StreamKind.LEGACY_DEFAULT]
    implicit = [k for k, kind in enumerate(kinds) if kind in _IMPLICIT]
    found: list[tuple[int, ...]] = []
    for kind in kinds:
        if kind is StreamKind.LEGACY_DEFAULT:
            found.append(tuple(implicit))
        else:
            found.append(tuple(legacy) if kind in _IMPLICIT else ())
    return found


@dataclass(slots=True)
class Causes:
    """What a start can have waited for: ends of steps, and latches."""

    rows: list[int] = field(default_factory=list)
    opened_ns: list[int] = field(default_factory=list)


class Iteration:
    """The times of one iteration, and who can have waited for whom in it."""

    def __init__(
        self,
        plan: Plan,
        ahead: Ahead,
        steps: StepTrace,
        latches: tuple[LatchOpening, ...],
        iteration: int,
    ) -> None:
        self.plan = plan
        self.first = iteration * plan.n_steps
        rows = slice(self.first, self.first + plan.n_steps)
        self.host_begin: list[int] = steps.host_begin_ns[rows].tolist()
        self.host_end: list[int] = steps.host_end_ns[rows].tolist()
        self.begin: list[int] = steps.device_begin_ns[rows].tolist()
        self.end: list[int] = steps.device_end_ns[rows].tolist()
        self.outcome: list[int] = steps.outcome[rows].tolist()
        self.n_failures: list[int] = steps.n_failures[rows].tolist()
        self._ahead = ahead
        self._opened = {
            one.row - self.first: one.opened_ns for one in latches if one.row >= self.first
        }

    def stream_of(self, index: int) -> int:
        stream: int = getattr(self.plan.steps[index], "stream", NONE)
        return stream

    def causes_of(self, index: int) -> Causes:
        """The last timed step ahead in the stream, and what waits on the way to it lead to."""
        causes = Causes()
        self._collect(index, causes, set())
        return causes

    def _collect(self, index: int, causes: Causes, seen: set[int]) -> None:
        for at in self._back(index):
            if at in seen:
                return
            seen.add(at)
            for partner in self._ahead.partners[self.stream_of(at)]:
                other = self._ahead.last_at.get(at, {}).get(partner, NONE)
                if other != NONE:
                    self._collect_from(other, causes, seen)
            if isinstance(self.plan.steps[at], st.Wait):
                record = self._ahead.record_of[at]
                if record != NONE:
                    self._collect_from(record, causes, seen)
            elif isinstance(self.plan.steps[at], st.Hold):
                if at in self._opened:
                    causes.opened_ns.append(self._opened[at])
            elif at != index and self.end[at] != NONE:
                causes.rows.append(at)
                return

    def _collect_from(self, index: int, causes: Causes, seen: set[int]) -> None:
        """As if something stood right behind `index`."""
        if self.end[index] != NONE:
            causes.rows.append(index)
        else:
            self._collect(index, causes, seen)

    def _back(self, index: int) -> Iterator[int]:
        while index != NONE:
            yield index
            index = self._ahead.ahead[index]

    def awaited_by(self, index: int, *, until: int) -> int:
        """The step whose end, no later than `until`, a synchronising call waited for; `NONE` if it
        had nothing to wait for."""
        causes = Causes()
        for row in self._candidates(index):
            self._collect_from(row, causes, set())
        begin = self.host_begin[index]
        rows = [row for row in causes.rows if begin < self.end[row] <= until]
        return max(rows, key=self.end.__getitem__, default=NONE)

    def _candidates(self, index: int) -> list[int]:
        """The steps that a call waits for if they are not over: the last of each stream."""
        step = self.plan.steps[index]
        if isinstance(step, st.Memcpy) and step.is_pageable:
            return [index]
        if isinstance(step, st.SyncEvent):
            record = self._ahead.record_of[index]
            return [record] if record != NONE else []
        if isinstance(step, st.SyncStream):
            streams = {step.stream, *self._ahead.partners[step.stream]}
            last = self._ahead.last_at[index]
            return [row for stream, row in last.items() if stream in streams]
        if isinstance(step, st.SyncDevice) or self._is_plain_free(step):
            return list(self._ahead.last_at[index].values())
        return []

    def _is_plain_free(self, step: st.Step) -> bool:
        """`cuMemFree`, which waits for all work of the device."""
        return isinstance(step, st.Free) and self.plan.case.row is Baseline.CUDAMALLOC
