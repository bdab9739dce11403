"""How each allocation of a run was served, told from addresses, the pool's size, and times.

Pure.  The driver does not say why an allocation got the memory that it got; but whoever used those
bytes last, how that free is ordered before the allocation, and whether the pool grew over the call
leave little room.  All times are nanoseconds on the host's axis, all sizes bytes.

The rules of a driver (docs/model.md) serve as evidence where the clock cannot decide, never as
axioms: a driver that orders streams where it could have grown is found out, not explained away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poolbench.analysis.chunks import CHUNK_SHIFT, CHUNK_SIZE, Backing, Chunks, MayLose, n_chunks
from poolbench.analysis.evidence import MARGIN_NS, Evidence
from poolbench.analysis.ranges import NOBODY, LastUsers, Piece
from poolbench.analysis.timing import Completions
from poolbench.domain import OUTCOMES, SERVED, AttributeSet, OnOom, Outcome
from poolbench.plan.order import order_of
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, StepTrace

BLOCK = 512
"""Allocations are rounded up to this many bytes (measured)."""

PRIMED = -2
"""User of the memory that was allocated, freed and synchronised before the first step."""

MAPPING_NS = 20_000
"""A call that mapped memory takes longer than this, one that did not takes less (measured: 35 us
and more against 1 to 8 us)."""

_RANK = {outcome: rank for rank, outcome in enumerate(SERVED)}
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_OF_BACKING = {
    Backing.MAPPED: Outcome.SLACK,
    Backing.REMAPPED: Outcome.REMAPPED,
    Backing.GROWN: Outcome.GROWN,
}


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
    evidence = Evidence(
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


def with_outcomes(plan: Plan, steps: StepTrace, *, event_floor_ns: int) -> StepTrace:
    """The backend's own outcomes where it knows them, else told from the trace."""
    if (steps.outcome != NONE).any():
        return steps
    return classify(plan, steps, event_floor_ns=event_floor_ns)


def _issued_allocs(plan: Plan, steps: StepTrace) -> list[int]:
    """Baseline rows: allocations that were issued, or that have an address without a call."""
    n_steps = plan.n_steps
    is_there = (steps.host_begin_ns != NONE) | (steps.address != NONE)
    allocs = [step for step, kind in enumerate(plan.steps) if isinstance(kind, Alloc)]
    firsts = range(0, len(steps.outcome), n_steps) if n_steps else range(0)
    return [first + step for first in firsts for step in allocs if is_there[first + step]]


def rounded(size: int) -> int:
    return max(BLOCK, -(-size // BLOCK) * BLOCK)


def _reserved_by_prime(plan: Plan) -> int:
    """What is left of the primed memory after the synchronisation that ends priming: no more than
    the threshold, in whole chunks."""
    return min(n_chunks(plan.prime), plan.release_threshold // CHUNK_SIZE) * CHUNK_SIZE


class _Reading:
    """One walk over a trace in the order of issue.

    `_users` holds the free of every byte's last user, `_blocks` that of the block which the byte
    has become part of: neighbours freed on one stream merge at the free, and the driver then goes
    by the last of them, however long ago the others were complete (measured).
    """

    __slots__ = ("_blocks", "_chunks", "_evidence", "_host_knows_until", "_users")

    def __init__(self, evidence: Evidence) -> None:
        plan = evidence.plan
        self._evidence = evidence
        self._users = LastUsers()
        self._blocks = LastUsers()
        self._chunks = Chunks(_reserved_by_prime(plan), rounded(plan.prime) if plan.prime else 0)
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
                self._forget(self._chunks.see(reserved[row], self._may_lose(row + 1)))
        return found

    def _block(self, row: int, size: int) -> tuple[int, int]:
        begin = int(self._evidence.steps.address[row])
        return begin, begin + rounded(size)

    def _free(self, row: int, step: Free) -> None:
        plan = self._evidence.plan
        buffer = plan.buffers[step.buffer]
        alloc_row = row - row % plan.n_steps + buffer.alloc_step
        if buffer.alloc_step == NONE or self._evidence.steps.address[alloc_row] == NONE:
            return
        begin, end = self._block(alloc_row, buffer.size)
        self._chunks.free(begin, end)
        self._users.put(begin, end, row)
        self._blocks.put(*self._merged(begin, end, row), row)

    def _merged(self, begin: int, end: int, row: int) -> tuple[int, int]:
        """The block that a free makes of its range and its neighbours of the same stream.

        A neighbour that the host knew to be free stays a block of its own (measured).
        """
        while True:
            left, right = self._blocks.beside(begin, end)
            if left is not None and self._joins(left.user, row):
                begin = left.begin
            elif right is not None and self._joins(right.user, row):
                end = right.end
            else:
                return begin, end

    def _joins(self, neighbour: int, row: int) -> bool:
        if neighbour < self._host_knows_until or self._stream_of(neighbour) != self._stream_of(row):
            return False
        n_steps = self._evidence.plan.n_steps
        return not self._evidence.order.is_host_known(neighbour % n_steps, row % n_steps)

    def _stream_of(self, free_row: int) -> tuple[int, int]:
        """The stream of a free; one that a step creates is another in each iteration."""
        if free_row == PRIMED:
            return PRIMED, 0
        plan = self._evidence.plan
        iteration, step = divmod(free_row, plan.n_steps)
        freed = plan.steps[step]
        assert isinstance(freed, Free)
        is_created = plan.streams[freed.stream].is_created_by_step
        return freed.stream, iteration if is_created else 0

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
            self._forget(self._chunks.see(after, self._may_lose(row)))
            return Outcome.OUT_OF_MEMORY, NONE
        begin, end = self._block(row, step.size)
        took_long = not steps.n_failures[row] and self._took_long(row)
        may_lose = self._may_lose(row)
        mapping = self._chunks.allocate(begin, end, after, may_lose, took_long=took_long)
        self._forget(mapping.released)
        if mapping.primed is not None:
            self._put(*mapping.primed, PRIMED)
        can_grow = after == before and self._has_room(before, end - begin)
        served = [
            self._serve(piece, block.user, row, mapping.backing, can_grow=can_grow)
            for block in self._blocks.pieces(begin, end)
            for piece in self._users.pieces(block.begin, block.end)
        ]
        self._put(begin, end, NOBODY)
        return self._weakest(served)

    def _may_lose(self, row: int) -> MayLose:
        """As far as the host knows when it issues `row`.  What a stream has freed stays its own
        until the host knows of it, or the driver may look whether it is over."""
        if self._evidence.attributes.allow_opportunistic:
            return lambda _: True

        def may_lose(chunk: int) -> bool:
            pieces = self._blocks.pieces(chunk << CHUNK_SHIFT, (chunk + 1) << CHUNK_SHIFT)
            return all(
                piece.user in (NOBODY, PRIMED) or self._is_host_known(piece.user, row)
                for piece in pieces
            )

        return may_lose

    def _is_host_known(self, free_row: int, row: int) -> bool:
        n_steps = self._evidence.plan.n_steps
        if free_row < self._host_knows_until or free_row // n_steps != row // n_steps:
            return True
        return self._evidence.order.is_host_known(free_row % n_steps, row % n_steps)

    def _took_long(self, row: int) -> bool:
        steps = self._evidence.steps
        return bool(steps.host_end_ns[row] - steps.host_begin_ns[row] >= MAPPING_NS)

    def _has_room(self, reserved: int, size: int) -> bool:
        """The pool could have grown instead, as far as its own limit and the ballast tell."""
        plan = self._evidence.plan
        wanted = reserved + n_chunks(size) * CHUNK_SIZE
        limits = [limit for limit in (plan.max_size, plan.leave_free) if limit]
        return all(wanted <= limit for limit in limits)

    def _serve(
        self, piece: Piece, block: int, row: int, backing: dict[int, Backing], *, can_grow: bool
    ) -> tuple[Outcome, int]:
        """Outcome and reused free of one piece; `block` is the free that its block goes by."""
        if piece.user == PRIMED:
            return Outcome.HOST_ORDERED, NONE
        if piece.user != NOBODY:
            return self._reuse(piece.user, block, row, can_grow=can_grow)
        chunks = range(piece.begin >> CHUNK_SHIFT, ((piece.end - 1) >> CHUNK_SHIFT) + 1)
        kinds = [_OF_BACKING[backing.get(chunk, Backing.MAPPED)] for chunk in chunks]
        return max(kinds, key=_RANK.__getitem__), NONE

    def _reuse(self, own: int, block: int, row: int, *, can_grow: bool) -> tuple[Outcome, int]:
        """The block's free decides, unless the trace disproves that the bytes were part of it."""
        evidence = self._evidence
        for free_row in dict.fromkeys((block, own)):
            relation = evidence.relation(free_row, row, self._host_knows_until)
            found = evidence.fits(free_row, row, relation, can_grow=can_grow)
            if found is not None:
                return found, free_row
        relation = evidence.relation(block, row, self._host_knows_until)
        return evidence.looks_like(block, row, relation), block

    def _put(self, begin: int, end: int, user: int) -> None:
        self._users.put(begin, end, user)
        self._blocks.put(begin, end, user)

    def _weakest(self, served: list[tuple[Outcome, int]]) -> tuple[Outcome, int]:
        def weakness(one: tuple[Outcome, int]) -> tuple[int, int, int]:
            done = self._evidence.completions.of(one[1]) if one[1] != NONE else NONE
            return _RANK[one[0]], done, one[1]

        return max(served, key=weakness)

    def _forget(self, chunks: tuple[int, ...]) -> None:
        for chunk in chunks:
            self._put(chunk << CHUNK_SHIFT, (chunk + 1) << CHUNK_SHIFT, NOBODY)
