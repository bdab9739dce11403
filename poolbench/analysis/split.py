"""Where the makespan of a traced run went: its critical path, walked back from the end.

Pure.  Every moment between the start of an iteration and the end of its last work is given to one
part, so that the parts add up.  From the step that ends last the walk asks what its start had to
wait for, and goes on there:

- the step ahead of it in its stream, or one of another stream that an event (or the legacy default
  stream) puts ahead of it: the walk crosses over, and what happens there counts as what it is;
- the host, which had not issued it yet: the walk goes back along the host's calls.  A call that
  synchronised leads on to the work that it waited for;
- a free that the driver made an allocation wait for.  The time for which the stream stood still is
  the *inserted wait*, and the walk goes on where the stream could have gone on without it: what is
  counted is what would be won if there were no such wait and nothing else changed.

What is left between a step and all that it had to wait for is *contention*: another kernel or copy
held what it needs, or the plain latency of the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from poolbench.analysis.causes import Ahead, Iteration
from poolbench.domain import OUTCOMES, Issue, Outcome
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, LatchOpening, StepTrace, Trace


class Part(StrEnum):
    """What a moment of the critical path belongs to."""

    WORK = "work"
    """Kernels, copies and memsets."""
    EXPLICIT_WAIT = "explicit_wait"
    """From the end of what an event or a synchronisation waited for until it went on."""
    INSERTED_WAIT = "inserted_wait"
    """A stream stood still for the driver's own dependency."""
    GROWTH = "growth"
    """The host was in an allocation call that mapped memory."""
    RETRY = "retry"
    """The host was in an allocation that failed, synchronised and tried again."""
    HOST_CALL = "host_call"
    """The host was in any other call; nothing was queued that could run."""
    HOST_OWN = "host_own"
    """The host was between calls: its own work, and the tracing."""
    CONTENTION = "contention"
    REST = "rest"
    """Before the first call and after the last work: the outer events."""


PARTS = tuple(Part)

_BRACKETED = (st.Alloc, st.Free, *st.BRACKETED_STEPS)
"""Their span begins with an event that the host records just before the call."""

_MAPPED = frozenset(OUTCOMES.index(one) for one in (Outcome.GROWN, Outcome.REMAPPED))
_INTERNAL = OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY)


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationSplit:
    """Nanoseconds.  `waits`: row of an allocation -> how much of its inserted wait reached the
    end."""

    makespan_ns: int
    parts: Mapping[Part, int]
    waits: Mapping[int, int]


def split_iterations(plan: Plan, trace: Trace) -> tuple[IterationSplit, ...]:
    """Of each iteration that ended; empty for a run without steps."""
    if trace.steps is None or not plan.n_steps:
        return ()
    ahead = Ahead(plan)
    found = []
    for iteration, makespan in enumerate(trace.makespan_ns.tolist()):
        if makespan != NONE:
            walk = _Walk(plan, ahead, trace.steps, trace.latches, iteration)
            found.append(walk.run(makespan))
    return tuple(found)


class _Walk:
    """One iteration, from its end to its start.  `_now` is how far the walk has come."""

    def __init__(
        self,
        plan: Plan,
        ahead: Ahead,
        steps: StepTrace,
        latches: tuple[LatchOpening, ...],
        iteration: int,
    ) -> None:
        self._plan = plan
        self._at = at = Iteration(plan, ahead, steps, latches, iteration)
        self._calls = [k for k, begin in enumerate(at.host_begin) if begin != NONE]
        self._place = {index: k for k, index in enumerate(self._calls)}
        self._start = min((at.host_begin[k] for k in self._calls), default=0)
        if plan.issue is Issue.AHEAD:
            opened = [one.opened_ns for one in latches if one.row == NONE]
            self._start = opened[min(iteration, len(opened) - 1)] if opened else self._start
        self._now = self._start
        self._parts: dict[Part, int] = dict.fromkeys(PARTS, 0)
        self._waits: dict[int, int] = {}

    def run(self, makespan_ns: int) -> IterationSplit:
        """The closing event comes after the last work, and after the last call of the host."""
        ended = [k for k, end in enumerate(self._at.end) if end != NONE]
        last = max(ended, key=self._at.end.__getitem__, default=NONE)
        call = self._calls[-1] if self._calls else NONE
        end_ns = self._at.end[last] if last != NONE else self._start
        if call != NONE and self._at.host_end[call] > end_ns:
            end_ns, last = self._at.host_end[call], NONE
        self._now = max(self._start, end_ns)
        length = self._now - self._start
        self._follow(last, NONE if last != NONE else call)
        # Behind the host's last call, only the host keeps the closing event waiting.
        self._parts[Part.REST if last != NONE else Part.HOST_OWN] += makespan_ns - length
        return IterationSplit(makespan_ns=makespan_ns, parts=self._parts, waits=self._waits)

    def _give(self, part: Part, since: int) -> int:
        """Everything from `since` to where the walk is belongs to `part`; how much that was."""
        since = max(since, self._start)
        length = max(0, self._now - since)
        self._parts[part] += length
        self._now = min(self._now, since)
        return length

    def _follow(self, step: int, call: int) -> None:
        """The walk.  Each step and each call is visited once at most, so it ends."""
        left = 2 * (len(self._at.end) + len(self._calls)) + 2
        while self._now > self._start and left:
            left -= 1
            if step != NONE:
                step, call = self._through_step(step)
            elif call != NONE:
                step, call = self._through_call(call)
            else:
                break
        self._give(Part.REST, self._start)

    # --- on the device ----------------------------------------------------------------------

    def _through_step(self, index: int) -> tuple[int, int]:
        """Back over a step; (step, NONE) or (NONE, call) that comes before it."""
        self._give(Part.CONTENTION, self._at.end[index])
        kind = self._plan.steps[index]
        begin, issued = self._at.begin[index], self._at.host_end[index]
        if isinstance(kind, st.Alloc | st.Free):
            if isinstance(kind, st.Alloc) and self._at.outcome[index] == _INTERNAL:
                waited = self._give(Part.INSERTED_WAIT, max(begin, min(issued, self._now)))
                self._waits[self._at.first + index] = waited
            if issued > begin:
                # The stream had nothing ahead: its two events stand around the host's call.
                self._give(Part.CONTENTION, issued)
                return NONE, index
            self._give(Part.CONTENTION, begin)
        else:
            self._give(Part.WORK, begin)
        return self._before(index)

    def _before(self, index: int) -> tuple[int, int]:
        """What the start of a step waited for last."""
        now = self._now
        causes = self._at.causes_of(index)
        rows = [row for row in causes.rows if self._at.end[row] <= now]
        row = max(rows, key=self._at.end.__getitem__, default=NONE)
        ended = self._at.end[row] if row != NONE else self._start
        issued = self._issued(index, now)
        opened = max((time for time in causes.opened_ns if time <= now), default=NONE)
        if opened > max(ended, issued):
            self._give(Part.EXPLICIT_WAIT, opened)
            return NONE, self._call_at(opened)
        if issued >= ended:
            self._give(Part.CONTENTION, issued)
            return NONE, index
        is_own = self._at.stream_of(row) == self._at.stream_of(index)
        self._give(Part.CONTENTION if is_own else Part.EXPLICIT_WAIT, ended)
        return row, NONE

    def _issued(self, index: int, now: int) -> int:
        """When the device could know of a step."""
        if isinstance(self._plan.steps[index], _BRACKETED) or self._at.host_end[index] > now:
            return self._at.host_begin[index]
        return self._at.host_end[index]

    # --- on the host ------------------------------------------------------------------------

    def _call_at(self, time_ns: int) -> int:
        """The call that the host was in, or had made last."""
        return max((k for k in self._calls if self._at.host_begin[k] <= time_ns), default=NONE)

    def _through_call(self, index: int) -> tuple[int, int]:
        """Back over a call, as far as the host's time of it lies before `_now`."""
        self._give(Part.HOST_OWN, self._at.host_end[index])
        waited_for = self._at.awaited_by(index, until=self._now)
        if waited_for != NONE:
            is_free = isinstance(self._plan.steps[index], st.Free)
            part = Part.HOST_CALL if is_free else Part.EXPLICIT_WAIT
            self._give(part, self._at.end[waited_for])
            return waited_for, NONE
        self._give(self._part_of(index), self._at.host_begin[index])
        place = self._place[index]
        if place == 0:
            self._give(Part.REST, self._start)
            return NONE, NONE
        return NONE, self._calls[place - 1]

    def _part_of(self, index: int) -> Part:
        step = self._plan.steps[index]
        if isinstance(step, st.HostWork):
            return Part.HOST_OWN
        if isinstance(step, st.Alloc):
            if self._at.n_failures[index]:
                return Part.RETRY
            if self._at.outcome[index] in _MAPPED:
                return Part.GROWTH
        return Part.HOST_CALL
