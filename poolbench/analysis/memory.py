"""What the pool held while the run went on, and what it could not give.

Pure.  The driver tells how much is reserved and used; which bytes are free, in what runs, and who
freed them last, follows from the addresses that it handed out.  Memory of the pool that no
allocation of the run has had yet has no known address, and is in no run.
"""

from __future__ import annotations

from dataclasses import replace

from poolbench.analysis.evidence import MARGIN_NS, Evidence
from poolbench.analysis.outcomes import rounded
from poolbench.analysis.ranges import NOBODY, LastUsers, Piece
from poolbench.analysis.timing import Completions
from poolbench.domain import AttributeSet, OnOom, Outcome
from poolbench.findings import FailedAllocation
from poolbench.plan.order import order_of
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, StepTrace

_ADDRESS_SPACE = 1 << 62


def asked_high(plan: Plan, steps: StepTrace) -> int | None:
    """The most bytes that were asked for and not yet freed, over the host's calls; `None` where
    nothing was allocated."""
    live = high = 0
    n_allocs = 0
    begins = steps.host_begin_ns.tolist()
    addresses = steps.address.tolist()
    for first in range(0, len(begins), plan.n_steps or 1):
        for index, step in enumerate(plan.steps):
            row = first + index
            if row >= len(begins) or begins[row] == NONE:
                continue
            if isinstance(step, Alloc) and addresses[row] != NONE:
                n_allocs += 1
                live += step.size
                high = max(high, live)
            elif isinstance(step, Free):
                buffer = plan.buffers[step.buffer]
                if buffer.alloc_step != NONE and addresses[first + buffer.alloc_step] != NONE:
                    live -= buffer.size
    return high if n_allocs else None


def failed_allocations(
    plan: Plan, steps: StepTrace, *, event_floor_ns: int
) -> tuple[FailedAllocation, ...]:
    """The failures of a run with a pool, by place in the scenario."""
    if not isinstance(plan.case.row, AttributeSet) or not steps.n_failures.any():
        return ()
    evidence = Evidence(
        plan=plan,
        attributes=plan.case.row,
        order=order_of(plan.steps, plan.streams, len(plan.events)),
        steps=steps,
        completions=Completions(plan, steps),
        margin_ns=max(MARGIN_NS, event_floor_ns),
        floor_ns=event_floor_ns,
    )
    return _Fragments(evidence).read()


class _Fragments:
    """One walk over a trace in the order of issue; `_free` holds the free of every free byte."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._free = LastUsers()
        self._host_knows_until = 0
        self._reserved = self._used = 0
        self._found: dict[int, FailedAllocation] = {}

    def read(self) -> tuple[FailedAllocation, ...]:
        plan, steps = self._evidence.plan, self._evidence.steps
        n_steps = plan.n_steps
        reserved, used = steps.reserved.tolist(), steps.used.tolist()
        for row, begin in enumerate(steps.host_begin_ns.tolist()):
            if row and row % n_steps == 0:
                self._host_knows_until = row
            if begin == NONE:
                continue
            step = plan.steps[row % n_steps]
            if isinstance(step, Alloc):
                self._alloc(row, step)
            elif isinstance(step, Free):
                self._release(row, step)
            if reserved[row] != NONE:
                self._reserved, self._used = reserved[row], used[row]
        return tuple(self._found[place] for place in sorted(self._found))

    def _alloc(self, row: int, step: Alloc) -> None:
        plan, steps = self._evidence.plan, self._evidence.steps
        if steps.n_failures[row]:
            self._note(row, step)
            if plan.on_oom is not OnOom.FAIL:
                self._host_knows_until = row
        address = int(steps.address[row])
        if address != NONE:
            self._free.put(address, address + rounded(step.size), NOBODY)

    def _release(self, row: int, step: Free) -> None:
        plan, steps = self._evidence.plan, self._evidence.steps
        buffer = plan.buffers[step.buffer]
        if buffer.alloc_step == NONE:
            return
        address = int(steps.address[row - row % plan.n_steps + buffer.alloc_step])
        if address != NONE:
            self._free.put(address, address + rounded(buffer.size), row)

    def _note(self, row: int, step: Alloc) -> None:
        plan = self._evidence.plan
        index = row % plan.n_steps
        free = [piece for piece in self._free.pieces(0, _ADDRESS_SPACE) if piece.user != NOBODY]
        usable = [piece for piece in free if self._is_usable(piece.user, row)]
        found = FailedAllocation(
            allocation=plan.names[index],
            line=plan.place(index).line,
            n=1,
            asked=step.size,
            free=max(0, self._reserved - self._used),
            largest_run=_largest_run(free),
            usable_run=_largest_run(usable),
        )
        before = self._found.get(plan.origin[index])
        if before is not None:
            worst = max(before, found, key=lambda one: one.usable_run)
            found = replace(worst, n=before.n + 1)
        self._found[plan.origin[index]] = found

    def _is_usable(self, free_row: int, row: int) -> bool:
        """Without waiting: ordered before the allocation in a way that the attributes let it see,
        or over and seen to be."""
        evidence = self._evidence
        relation = evidence.relation(free_row, row, self._host_knows_until)
        found = evidence.fits(free_row, row, relation, can_grow=False)
        return found is not None and found is not Outcome.INTERNAL_DEPENDENCY


def _largest_run(pieces: list[Piece]) -> int:
    """Bytes of the longest row of neighbours."""
    largest = run = 0
    at = NONE
    for piece in pieces:
        run = piece.end - piece.begin + (run if piece.begin == at else 0)
        at = piece.end
        largest = max(largest, run)
    return largest
