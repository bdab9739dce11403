"""Two answers to the same scenario, step by step: what differs, and how much was compared.

Pure.  Addresses are compared as distances from the first allocation's: the same place is the same
block.  Which free is waited for is compared where a wait was inserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from poolbench.domain import OUTCOMES, Outcome, Status
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, Trace


class What(StrEnum):
    """What two answers differ in, the first that applies."""

    STATUS = "status"
    OUTCOME = "outcome"
    RESERVED = "reserved"
    PLACE = "place"
    USED = "used"
    WAITED_FOR = "waited for"


CHANGES_STATE = (What.STATUS, What.OUTCOME, What.RESERVED, What.PLACE, What.USED)
"""After one of these the two pools hold different memory: nothing further is compared."""
COUNTS = (What.STATUS, What.OUTCOME, What.RESERVED)
"""What an allocation must agree in to count as agreeing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one backend did with a scenario; one entry a step run, -1 (`NONE`) where there is none.

    outcome
        of allocations, as an index into `OUTCOMES`.
    waited_for
        of allocations: the row of the free whose block was reused.
    place
        of allocations: the address less that of the first one.
    reserved, used
        the pool's bytes after the step.
    is_whole
        no latch had to be opened by the watchdog: the answer does not depend on time.
    """

    status: Status
    reason: str
    outcome: tuple[int, ...]
    waited_for: tuple[int, ...]
    place: tuple[int | None, ...]
    reserved: tuple[int, ...]
    used: tuple[int, ...]
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """`row` is the step run; `left` and `right` say what each answer has there."""

    what: What
    row: int
    left: str
    right: str

    @property
    def kind(self) -> str:
        """Disagreements of one kind have one cause, at a guess."""
        if self.what is What.OUTCOME:
            return f"outcome: {self.left} / {self.right}"
        return self.what.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """n_allocs: allocations compared, up to and with the first disagreement that changes state.
    n_issued: allocations that the left answer has in all.  n_agreeing: compared ones that agree
    in outcome and reserved bytes."""

    n_issued: int
    n_allocs: int
    n_agreeing: int
    disagreements: tuple[Disagreement, ...]


def answer_of(trace: Trace) -> Answer:
    """The part of a traced run that is compared."""
    steps = trace.steps
    is_whole = not any(latch.by_watchdog for latch in trace.latches)
    if steps is None:
        return Answer(
            status=trace.status,
            reason=trace.reason,
            outcome=(),
            waited_for=(),
            place=(),
            reserved=(),
            used=(),
            is_whole=is_whole,
        )
    addresses = steps.address.tolist()
    first = next((address for address in addresses if address != NONE), 0)
    return Answer(
        status=trace.status,
        reason=trace.reason,
        outcome=tuple(steps.outcome.tolist()),
        waited_for=tuple(steps.waited_for.tolist()),
        place=tuple(None if one == NONE else one - first for one in addresses),
        reserved=tuple(steps.reserved.tolist()),
        used=tuple(steps.used.tolist()),
        is_whole=is_whole,
    )


def compare(plan: Plan, left: Answer, right: Answer) -> Comparison:
    """Row by row, up to the first disagreement that changes state."""
    n_issued = sum(code != NONE for code in left.outcome)
    n_allocs = n_agreeing = 0
    found: list[Disagreement] = []
    n_rows = min(len(left.outcome), len(right.outcome))
    for row in range(n_rows):
        at_row = _differences(plan, row, left, right)
        found += at_row
        whats = {one.what for one in at_row}
        if isinstance(plan.steps[row % plan.n_steps], Alloc):
            is_issued = left.outcome[row] != NONE or right.outcome[row] != NONE
            n_allocs += is_issued
            n_agreeing += is_issued and not whats.intersection(COUNTS)
        if whats.intersection(CHANGES_STATE):
            break
    else:
        if left.status is not right.status:
            found.append(
                Disagreement(
                    what=What.STATUS, row=NONE, left=left.status.value, right=right.status.value
                )
            )
    return Comparison(
        n_issued=n_issued, n_allocs=n_allocs, n_agreeing=n_agreeing, disagreements=tuple(found)
    )


def _differences(plan: Plan, row: int, left: Answer, right: Answer) -> list[Disagreement]:
    pairs = [
        (What.OUTCOME, _outcome(left.outcome[row]), _outcome(right.outcome[row])),
        (What.RESERVED, str(left.reserved[row]), str(right.reserved[row])),
        (What.PLACE, str(left.place[row]), str(right.place[row])),
        (What.USED, str(left.used[row]), str(right.used[row])),
    ]
    if _outcome(left.outcome[row]) == Outcome.INTERNAL_DEPENDENCY.value:
        first, second = (free_name(plan, answer.waited_for[row]) for answer in (left, right))
        pairs.append((What.WAITED_FOR, first, second))
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    state = [pair for pair in differing if pair[0] in CHANGES_STATE]
    return [
        Disagreement(what=what, row=row, left=first, right=second)
        for what, first, second in (state[:1] or differing)
    ]


def _outcome(code: int) -> str:
    return "none" if code == NONE else OUTCOMES[code].value


def free_name(plan: Plan, row: int) -> str:
    """`free of b3 on s1`, with the iteration after the first."""
    if row == NONE:
        return "none"
    step = plan.steps[row % plan.n_steps]
    assert isinstance(step, Free)
    again = f" in iteration {row // plan.n_steps}" if row >= plan.n_steps else ""
    return f"free of {plan.names[row % plan.n_steps]} on {plan.streams[step.stream].name}{again}"
