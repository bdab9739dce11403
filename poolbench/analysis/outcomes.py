"""How each allocation of a run was served, told from addresses, the pool's size, and times.

Pure.  The driver does not say why an allocation got the memory that it got; but whoever used those
bytes last, how that free is ordered before the allocation, and whether the pool grew over the call
leave little room.  All times are nanoseconds on the host's axis, all sizes bytes.

The rules of a driver (docs/model.md) serve as evidence where the clock cannot decide, never as
axioms: a driver that orders streams where it could have grown is found out, not explained away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from poolbench.analysis.chunks import CHUNK_SHIFT, CHUNK_SIZE, Backing, Chunks, n_chunks
from poolbench.analysis.ranges import NOBODY, LastUsers, Piece
from poolbench.analysis.timing import Completions
from poolbench.domain import OUTCOMES, AttributeSet, OnOom, Outcome
from poolbench.plan.order import Order, Relation, order_of
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, StepTrace

BLOCK = 512
"""Allocations are rounded up to this many bytes (measured)."""

PRIMED = -2
"""User of the memory that was allocated, freed and synchronised before the first step."""

MARGIN_NS = 1_000
"""Least distance between a host time and a device time that says which came first: the two clocks
agree within 0.2 us, and an event is recorded up to a microsecond after what it follows."""

ISSUE_NS = 6_000
"""On an idle stream the event after an allocation comes this much after the host's call at the
latest: until then the stream waits for the host, not for another stream (measured)."""

WEAKEST_LAST = (
    Outcome.SAME_STREAM,
    Outcome.HOST_ORDERED,
    Outcome.EVENT_ORDERED,
    Outcome.OPPORTUNISTIC,
    Outcome.SLACK,
    Outcome.REMAPPED,
    Outcome.GROWN,
    Outcome.INTERNAL_DEPENDENCY,
)
"""An allocation made of several pieces is as good as the one that comes last here."""

_RANK = {outcome: rank for rank, outcome in enumerate(WEAKEST_LAST)}
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_OF_BACKING = {
    Backing.MAPPED: Outcome.SLACK,
    Backing.REMAPPED: Outcome.REMAPPED,
    Backing.GROWN: Outcome.GROWN,
}


class _Moment(Enum):
    """Where a free's completion lies against the host call of an allocation."""

    BEFORE = auto()
    DURING = auto()
    """Or too near to it for the clocks, or not known."""
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class _Evidence:
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

    def reuse(self, free_row: int, row: int, relation: Relation, *, can_grow: bool) -> Outcome:
        """How a block could be taken whose last user freed it in `free_row`."""
        if relation is Relation.SAME_STREAM:
            return Outcome.SAME_STREAM
        if relation is Relation.HOST_ORDERED:
            return Outcome.HOST_ORDERED
        is_ordered = relation is Relation.EVENT_ORDERED
        if is_ordered and self.attributes.follow_event_dependencies:
            return Outcome.EVENT_ORDERED
        moment = self.moment(free_row, row)
        match self.attributes.allow_opportunistic, self.attributes.allow_internal_dependencies:
            case True, True:
                return self._by_the_clock(free_row, row, moment, can_grow=can_grow)
            case True, False:
                # Pending, and B stood still for it: a wait, whatever the attribute says.
                contradicts = moment is _Moment.AFTER and self.has_waited(row)
                return Outcome.INTERNAL_DEPENDENCY if contradicts else Outcome.OPPORTUNISTIC
            case False, True:
                return Outcome.INTERNAL_DEPENDENCY
            case _:
                # No attribute allows it: say what it looks like.
                if is_ordered:
                    return Outcome.EVENT_ORDERED
                is_done = moment is not _Moment.AFTER
                return Outcome.OPPORTUNISTIC if is_done else Outcome.INTERNAL_DEPENDENCY

    def _by_the_clock(self, free_row: int, row: int, moment: _Moment, *, can_grow: bool) -> Outcome:
        if moment is _Moment.BEFORE:
            return Outcome.OPPORTUNISTIC
        if moment is _Moment.AFTER or self.has_waited(row):
            return Outcome.INTERNAL_DEPENDENCY
        is_late = self.completions.of(free_row) > self.steps.host_end_ns[row]
        return Outcome.INTERNAL_DEPENDENCY if is_late and not can_grow else Outcome.OPPORTUNISTIC


def classify(plan: Plan, steps: StepTrace, *, event_floor_ns: int) -> StepTrace:
    """`steps` with `outcome` and `waited_for` of every allocation filled in.

    `waited_for` is the row of the free whose block was reused (the weakest piece's, and among equal
    pieces the one that completed last); -1 where memory was not reused.
    """
    outcome = np.full(len(steps.outcome), NONE, dtype=np.int8)
    waited_for = np.full(len(steps.outcome), NONE, dtype=np.int64)
    if not isinstance(plan.case.row, AttributeSet):
        for row in _issued_allocs(plan, steps):
            outcome[row] = _CODE[Outcome.OUTSIDE_POOL]
        return replace(steps, outcome=outcome, waited_for=waited_for)
    evidence = _Evidence(
        plan=plan,
        attributes=plan.case.row,
        order=order_of(plan.steps, plan.streams, len(plan.events)),
        steps=steps,
        completions=Completions(plan, steps),
        margin_ns=max(MARGIN_NS, event_floor_ns),
        floor_ns=event_floor_ns,
    )
    for row, found, free_row in _Reading(evidence).read():
        outcome[row] = _CODE[found]
        waited_for[row] = free_row
    return replace(steps, outcome=outcome, waited_for=waited_for)


def _issued_allocs(plan: Plan, steps: StepTrace) -> list[int]:
    """Baseline rows: allocations that were issued, or that have an address without a call."""
    n_steps = plan.n_steps
    is_there = (steps.host_begin_ns != NONE) | (steps.address != NONE)
    allocs = [step for step, kind in enumerate(plan.steps) if isinstance(kind, Alloc)]
    firsts = range(0, len(steps.outcome), n_steps) if n_steps else range(0)
    return [first + step for first in firsts for step in allocs if is_there[first + step]]


def _rounded(size: int) -> int:
    return max(BLOCK, -(-size // BLOCK) * BLOCK)


def _reserved_by_prime(plan: Plan) -> int:
    """What is left of the primed memory after the synchronisation that ends priming."""
    return min(n_chunks(plan.prime), n_chunks(plan.release_threshold)) * CHUNK_SIZE


class _Reading:
    """One walk over a trace in the order of issue."""

    __slots__ = ("_chunks", "_evidence", "_host_knows_until", "_users")

    def __init__(self, evidence: _Evidence) -> None:
        plan = evidence.plan
        self._evidence = evidence
        self._users = LastUsers()
        self._chunks = Chunks(_reserved_by_prime(plan), plan.prime)
        self._host_knows_until = 0

    def read(self) -> list[tuple[int, Outcome, int]]:
        """(row, outcome, row of the reused free) of every allocation that was issued."""
        plan, steps = self._evidence.plan, self._evidence.steps
        found: list[tuple[int, Outcome, int]] = []
        n_steps = plan.n_steps
        begins = steps.host_begin_ns.tolist()
        reserved = steps.reserved.tolist()
        for row, begin in enumerate(begins):
            step = plan.steps[row % n_steps]
            if row and row % n_steps == 0:
                # The device synchronisation that closes an iteration.
                self._host_knows_until = row
                self._chunks.expect_release(plan.release_threshold)
            if begin == NONE:
                continue
            if isinstance(step, Alloc):
                found.append((row, *self._alloc(row, step, reserved[row])))
                continue
            if isinstance(step, Free):
                self._free(row, step)
            if reserved[row] != NONE:
                self._forget(self._chunks.see(reserved[row]))
        return found

    def _block(self, row: int, size: int) -> tuple[int, int]:
        begin = int(self._evidence.steps.address[row])
        return begin, begin + _rounded(size)

    def _free(self, row: int, step: Free) -> None:
        plan = self._evidence.plan
        buffer = plan.buffers[step.buffer]
        alloc_row = row - row % plan.n_steps + buffer.alloc_step
        if buffer.alloc_step == NONE or self._evidence.steps.address[alloc_row] == NONE:
            return
        begin, end = self._block(alloc_row, buffer.size)
        self._chunks.free(begin, end)
        self._users.put(begin, end, row)

    def _alloc(self, row: int, step: Alloc, reserved: int) -> tuple[Outcome, int]:
        steps, plan = self._evidence.steps, self._evidence.plan
        if steps.n_failures[row] and plan.on_oom is not OnOom.FAIL:
            # The program has synchronised with the device (and trimmed) before it tried again.
            self._host_knows_until = row
            keep = 0 if plan.on_oom is OnOom.TRIM_RETRY else plan.release_threshold
            self._chunks.expect_release(keep)
        before = self._chunks.reserved
        after = before if reserved == NONE else reserved
        if steps.address[row] == NONE:
            self._forget(self._chunks.see(after))
            return Outcome.OUT_OF_MEMORY, NONE
        begin, end = self._block(row, step.size)
        mapping = self._chunks.allocate(begin, end, after)
        self._forget(mapping.released)
        if mapping.primed is not None:
            self._users.put(*mapping.primed, PRIMED)
        pieces = self._users.pieces(begin, end)
        can_grow = after == before and self._has_room(before, end - begin)
        served = [self._serve(piece, row, mapping.backing, can_grow=can_grow) for piece in pieces]
        self._users.put(begin, end, NOBODY)
        return self._weakest(served)

    def _has_room(self, reserved: int, size: int) -> bool:
        """The pool could have grown instead, as far as its own limit and the ballast tell."""
        plan = self._evidence.plan
        wanted = reserved + n_chunks(size) * CHUNK_SIZE
        limits = [limit for limit in (plan.max_size, plan.leave_free) if limit]
        return all(wanted <= limit for limit in limits)

    def _serve(
        self, piece: Piece, row: int, backing: dict[int, Backing], *, can_grow: bool
    ) -> tuple[Outcome, int]:
        if piece.user == PRIMED:
            return Outcome.HOST_ORDERED, NONE
        if piece.user != NOBODY:
            evidence = self._evidence
            relation = evidence.relation(piece.user, row, self._host_knows_until)
            return evidence.reuse(piece.user, row, relation, can_grow=can_grow), piece.user
        chunks = range(piece.begin >> CHUNK_SHIFT, ((piece.end - 1) >> CHUNK_SHIFT) + 1)
        kinds = [_OF_BACKING[backing.get(chunk, Backing.MAPPED)] for chunk in chunks]
        return max(kinds, key=_RANK.__getitem__), NONE

    def _weakest(self, served: list[tuple[Outcome, int]]) -> tuple[Outcome, int]:
        def weakness(one: tuple[Outcome, int]) -> tuple[int, int, int]:
            done = self._evidence.completions.of(one[1]) if one[1] != NONE else NONE
            return _RANK[one[0]], done, one[1]

        return max(served, key=weakness)

    def _forget(self, chunks: tuple[int, ...]) -> None:
        for chunk in chunks:
            self._users.put(chunk << CHUNK_SHIFT, (chunk + 1) << CHUNK_SHIFT, NOBODY)
