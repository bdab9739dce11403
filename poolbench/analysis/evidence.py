"""What a trace proves about one free and one allocation: their order, and their times.

Pure.  Nanoseconds on the host's axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from poolbench.analysis.timing import Completions
from poolbench.domain import AttributeSet, Outcome
from poolbench.plan.order import Order, Relation
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, StepTrace

MARGIN_NS = 1_000
"""Least distance between a host time and a device time that says which came first: the two clocks
agree within 0.2 us, and an event is recorded up to a microsecond after what it follows."""

ISSUE_NS = 6_000
"""On an idle stream the event after an allocation comes this much after the host's call at the
latest: until then the stream waits for the host, not for another stream (measured)."""


class _Moment(Enum):
    """Where a free's completion lies against the host call of an allocation."""

    BEFORE = auto()
    DURING = auto()
    """Or too near to it for the clocks, or not known."""
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that stays the same while one trace is classified."""

    plan: Plan
    attributes: AttributeSet
    order: Order
    steps: StepTrace
    completions: Completions
    margin_ns: int
    floor_ns: int

    def moment(self, free_row: int, row: int) -> _Moment:
        done = self.completions.of(free_row)
        if done > self.steps.host_end_ns[row] + self.margin_ns:
            return _Moment.AFTER
        if done != NONE and done <= self.steps.host_begin_ns[row] - self.margin_ns:
            return _Moment.BEFORE
        return _Moment.DURING

    def has_waited(self, row: int) -> bool:
        """The stream went on later than the host's call and the event floor explain."""
        begin, end = self.steps.device_begin_ns[row], self.steps.device_end_ns[row]
        due = max(begin + self.floor_ns, self.steps.host_end_ns[row] + ISSUE_NS)
        return begin != NONE and bool(end - due > self.margin_ns)

    def has_waited_for(self, free_row: int, row: int) -> bool:
        """It went on when this free was over, as far as that is known, and not at some other time:
        a stream may stand still for reasons of its own."""
        done = self.completions.of(free_row)
        late = self.steps.device_end_ns[row] - done
        return self.has_waited(row) and bool(done == NONE or late <= ISSUE_NS + self.margin_ns)

    def relation(self, free_row: int, row: int, host_knows_until: int) -> Relation:
        """`host_knows_until`: all rows before this one were seen complete by the host, through a
        synchronisation that is no step of the plan."""
        n_steps = self.plan.n_steps
        free_step, alloc_step = free_row % n_steps, row % n_steps
        if free_row // n_steps == row // n_steps:
            relation = self.order.relation(free_step, alloc_step)
        else:
            relation = self._across_iterations(free_step, alloc_step)
        if relation is not Relation.SAME_STREAM and free_row < host_knows_until:
            return Relation.HOST_ORDERED
        return relation

    def _across_iterations(self, free_step: int, alloc_step: int) -> Relation:
        freed, allocated = self.plan.steps[free_step], self.plan.steps[alloc_step]
        assert isinstance(freed, Free)
        assert isinstance(allocated, Alloc)
        is_same = freed.stream == allocated.stream
        # A stream that a step creates is another one in each iteration.
        if is_same and not self.plan.streams[freed.stream].is_created_by_step:
            return Relation.SAME_STREAM
        return Relation.HOST_ORDERED

    def fits(
        self, free_row: int, row: int, relation: Relation, *, can_grow: bool
    ) -> Outcome | None:
        """How the attributes let a block be taken whose free was `free_row`, if they do.

        `None` too where the device disproves it: an allocation that was over before a free has not
        waited for it.
        """
        if relation is Relation.SAME_STREAM:
            return Outcome.SAME_STREAM
        if relation is Relation.HOST_ORDERED:
            return Outcome.HOST_ORDERED
        if relation is Relation.EVENT_ORDERED and self.attributes.follow_event_dependencies:
            return Outcome.EVENT_ORDERED
        moment = self.moment(free_row, row)
        is_internal = not self._was_over_first(row, free_row)
        match self.attributes.allow_opportunistic, self.attributes.allow_internal_dependencies:
            case True, True:
                found = self._by_the_clock(free_row, row, moment, can_grow=can_grow)
                is_excluded = found is Outcome.INTERNAL_DEPENDENCY and not is_internal
                return None if is_excluded else found
            case True, False:
                return None if moment is _Moment.AFTER else Outcome.OPPORTUNISTIC
            case False, True:
                return Outcome.INTERNAL_DEPENDENCY if is_internal else None
            case _:
                return None

    def looks_like(self, free_row: int, row: int, relation: Relation) -> Outcome:
        """The nearest outcome where the attributes allow none."""
        if self.moment(free_row, row) is not _Moment.AFTER:
            is_ordered = relation is Relation.EVENT_ORDERED
            return Outcome.EVENT_ORDERED if is_ordered else Outcome.OPPORTUNISTIC
        if relation is Relation.EVENT_ORDERED:
            return Outcome.EVENT_ORDERED
        # Pending, and the stream stood still for it: a wait, whatever the attribute says.
        has_waited = self.has_waited(row) or not self.attributes.allow_opportunistic
        return Outcome.INTERNAL_DEPENDENCY if has_waited else Outcome.OPPORTUNISTIC

    def _was_over_first(self, row: int, free_row: int) -> bool:
        """Two spans of the device; a completion that was only concluded proves nothing here."""
        end, freed = self.steps.device_end_ns[row], self.steps.device_end_ns[free_row]
        return NONE not in (end, freed) and bool(end < freed - 2 * self.margin_ns)

    def _by_the_clock(self, free_row: int, row: int, moment: _Moment, *, can_grow: bool) -> Outcome:
        if moment is _Moment.BEFORE:
            return Outcome.OPPORTUNISTIC
        if moment is _Moment.AFTER or self.has_waited_for(free_row, row):
            return Outcome.INTERNAL_DEPENDENCY
        is_late = self.completions.of(free_row) > self.steps.host_end_ns[row]
        return Outcome.INTERNAL_DEPENDENCY if is_late and not can_grow else Outcome.OPPORTUNISTIC
