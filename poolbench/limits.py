"""The smallest pool in which a workload still runs: `poolbench run --find-limit`.

For each row, `pool.max_size` is bisected in steps of the size by which pools grow.  Two answers:
the smallest limit without a failed allocation, and the smallest without a failed allocation or an
inserted wait.  Bisection takes it that more room never does harm; that the answer holds, and that
one step less does not, was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.analysis.findings import count_outcomes
from poolbench.analysis.outcomes import with_outcomes
from poolbench.backends.base import Backend
from poolbench.domain import AttributeSet, Case, Outcome, Pass, Status
from poolbench.errors import BadUsage
from poolbench.plan.build import release_threshold
from poolbench.plan.plan import Plan
from poolbench.results import versioned
from poolbench.results.environment import Environment
from poolbench.results.files import write_text
from poolbench.trace import Trace

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT_VERSION = 1
FILE = "limits.json"
STEP = 32 * 2**20
"""Pools grow by this much (measured: docs/model.md)."""
MAX_GROWTH = 4
"""A limit of this many times what an unlimited pool took is the largest that is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One row.  Bytes; `None` where no limit that was tried is enough.

    unlimited
        reserved, at its peak, by a pool without a limit.
    no_failure, no_wait
        the smallest `max_size` without a failed allocation; without one and without an inserted
        wait.
    n_runs
        what it took.
    reason
        why there is no answer.
    """

    case: Case
    unlimited: int | None
    no_failure: int | None
    no_wait: int | None
    n_runs: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`repeats`: runs of each limit that was tried, all of which had to be good."""

    scenario: str
    environment: Environment
    is_predicted: bool
    repeats: int
    found: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class _Tried:
    has_failures: bool
    has_waits: bool
    reserved: int


def find_limits(
    plans: Sequence[Plan],
    backend: Backend,
    *,
    repeats: int,
    on_found: Callable[[Limit], None],
) -> None:
    """Of every plan with a pool; what the plans themselves say of `max_size` does not count.

    Hands each answer to `on_found` as it is there.  Raises what the backend raises.
    """
    for plan in plans:
        if isinstance(plan.case.row, AttributeSet):
            on_found(_Search(plan, backend, repeats).find())


class _Search:
    """One plan; each limit is tried once."""

    def __init__(self, plan: Plan, backend: Backend, repeats: int) -> None:
        self._plan = plan
        self._backend = backend
        self._repeats = repeats
        self._floor_ns = backend.environment().floors.event_pair_ns
        self._tried: dict[int, _Tried] = {}
        self._n_runs = 0
        self._reason = ""

    def find(self) -> Limit:
        free = self._try(0)
        if self._reason or free.has_failures:
            reason = self._reason or "allocations fail without a limit too"
            return self._limit(None, None, None, reason)
        top = max(1, -(-free.reserved // STEP))
        no_failure = self._smallest(top, lambda one: not one.has_failures)
        no_wait = self._smallest(top, lambda one: not (one.has_failures or one.has_waits))
        return self._limit(free.reserved, no_failure, no_wait, self._reason)

    def _limit(
        self, unlimited: int | None, no_failure: int | None, no_wait: int | None, reason: str
    ) -> Limit:
        return Limit(
            case=self._plan.case,
            unlimited=unlimited,
            no_failure=no_failure,
            no_wait=no_wait,
            n_runs=self._n_runs,
            reason=reason,
        )

    def _smallest(self, top: int, is_good: Callable[[_Tried], bool]) -> int | None:
        """In steps: the smallest good one; what the pool took without a limit may not do, as a
        limit, where its memory lies scattered."""
        high = top
        while not is_good(self._try(high * STEP)):
            if high >= MAX_GROWTH * top or self._reason:
                return None
            high = min(MAX_GROWTH * top, 2 * high)
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            if is_good(self._try(middle * STEP)):
                high = middle
            else:
                low = middle
        return None if self._reason else high * STEP

    def _try(self, max_size: int) -> _Tried:
        """Of several runs, everything that happened in any of them."""
        if max_size not in self._tried:
            found = [self._run(max_size) for _ in range(self._repeats)]
            self._tried[max_size] = _Tried(
                has_failures=any(one.has_failures for one in found),
                has_waits=any(one.has_waits for one in found),
                reserved=max(one.reserved for one in found),
            )
        return self._tried[max_size]

    def _run(self, max_size: int) -> _Tried:
        plan = self._plan
        row = plan.case.row
        threshold = plan.release_threshold
        if isinstance(row, AttributeSet) and row.threshold_is_pool_size:
            threshold = release_threshold(row, scenario_threshold=threshold, max_size=max_size)
        limited = replace(plan, max_size=max_size, release_threshold=threshold)
        self._n_runs += 1
        trace = self._backend.run(limited, measured=Pass.TRACED, repetition=self._n_runs)
        if trace.status not in (Status.OK, Status.OUT_OF_MEMORY):
            self._reason = self._reason or f"{trace.status}: {trace.reason}"
        return self._judge(limited, trace)

    def _judge(self, plan: Plan, trace: Trace) -> _Tried:
        n_waits = n_failures = 0
        if trace.steps is not None:
            steps = with_outcomes(plan, trace.steps, event_floor_ns=self._floor_ns)
            n_waits = count_outcomes(steps)[Outcome.INTERNAL_DEPENDENCY]
            n_failures = int(steps.n_failures.sum())
        return _Tried(
            has_failures=trace.status is not Status.OK or bool(n_failures or trace.n_out_of_memory),
            has_waits=n_waits > 0,
            reserved=trace.reserved_high,
        )


@cache
def _adapter() -> TypeAdapter[Limits]:
    from pydantic import TypeAdapter

    return TypeAdapter(Limits)


def write(directory: Path, limits: Limits) -> None:
    """`limits.json`, whole or not at all.  Raises `BadUsage` where the system does not let us."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadUsage(f"cannot make {directory}: {fault.strerror}") from fault
    write_text(directory / FILE, versioned.to_text(limits, _adapter(), FORMAT_VERSION) + "\n")


def of_text(text: str, *, name: str) -> Limits:
    """What a `limits.json` holds; raises `BadUsage`."""
    return versioned.of_text(text, _adapter(), FORMAT_VERSION, name=name)
