"""A campaign: so many random scenarios, each run on two backends and compared."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from poolbench.backends.base import Backend
from poolbench.domain import Pass, Status
from poolbench.fuzz.compare import Comparison, answer_of, compare
from poolbench.fuzz.drawn import Drawn, plan_of
from poolbench.fuzz.generate import draw
from poolbench.fuzz.record import Recorded

USABLE = (Status.OK, Status.OUT_OF_MEMORY)
"""Statuses of a run whose answer counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One scenario: its left answer, and the comparison with the right one; none where the left
    answer is void (a lost worker, or a latch that the watchdog opened)."""

    recorded: Recorded
    comparison: Comparison | None

    @property
    def is_void(self) -> bool:
        return self.comparison is None

    @property
    def agrees(self) -> bool:
        return self.comparison is not None and not self.comparison.disagreements


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Sums over a campaign.

    n_allocs: allocations compared, of `n_issued` that were issued: a scenario is compared up to
    its first disagreement that changes what the pools hold.  `kinds`: disagreements by kind.
    """

    n_scenarios: int
    n_void: int
    n_same: int
    n_issued: int
    n_allocs: int
    n_agreeing: int
    kinds: tuple[tuple[str, int], ...]

    @property
    def agreement(self) -> float:
        """The share of the compared allocations that agree in outcome and reserved bytes."""
        return self.n_agreeing / self.n_allocs if self.n_allocs else 0.0


def cases(seed: int, n_cases: int) -> tuple[Drawn, ...]:
    """In the order in which they are run.

    Those with the legacy default stream last: once a process has used it, the driver keeps blocking
    streams in another order.  Before that those with a full device: filling and emptying it takes
    seconds.
    """
    drawn = [draw(seed, index) for index in range(n_cases)]
    return tuple(sorted(drawn, key=lambda one: (one.has_legacy, bool(one.device))))


def run(
    drawn: Iterable[Drawn],
    left: Backend,
    right: Backend,
    *,
    time_limit_s: float | None = None,
) -> Iterator[Found]:
    """Ends early, between two scenarios, when the time is over."""
    begun = time.monotonic()
    for one in drawn:
        if time_limit_s is not None and time.monotonic() - begun > time_limit_s:
            return
        plan = one.plan
        trace = left.run(plan, measured=Pass.TRACED, repetition=1)
        recorded = Recorded(name=one.name, bits=one.bits, text=one.text, answer=answer_of(trace))
        yield hold_against(recorded, right)


def hold_against(recorded: Recorded, right: Backend) -> Found:
    """A recorded answer, compared with what `right` says now."""
    answer = recorded.answer
    if answer.status not in USABLE or not answer.is_whole or not answer.outcome:
        return Found(recorded=recorded, comparison=None)
    plan = plan_of(recorded.text, recorded.bits)
    other = answer_of(right.run(plan, measured=Pass.TRACED, repetition=1))
    return Found(recorded=recorded, comparison=compare(plan, answer, other))


def figures(found: Sequence[Found]) -> Figures:
    made = [one.comparison for one in found if one.comparison is not None]
    kinds = Counter(different.kind for one in made for different in one.disagreements)
    return Figures(
        n_scenarios=len(made),
        n_void=len(found) - len(made),
        n_same=sum(one.agrees for one in found),
        n_issued=sum(one.n_issued for one in made),
        n_allocs=sum(one.n_allocs for one in made),
        n_agreeing=sum(one.n_agreeing for one in made),
        kinds=tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
    )
