"""In which order the cases run, how often, and what becomes of the time that is left.

Knows no CUDA and no files: plans go in, traces come out one by one.  A *block* holds every case
once, in a shuffled order and on a fresh pool, so that a clock that drifts falls on all rows alike;
in a timed block some cases run a second time, as controls.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from poolbench.backends.base import Backend
from poolbench.domain import Case, Pass, Status
from poolbench.plan.plan import Plan
from poolbench.trace import Trace

GIVEN_UP: frozenset[Status] = frozenset(
    {Status.TIMEOUT, Status.ERROR, Status.UNSUPPORTED, Status.SKIPPED}
)
"""A case that ended like this is not run again: it would only end so once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Every case once.  `repetition` counts from 1 within a pass; warm-ups, which are not kept,
    have 0."""

    measured: Pass
    repetition: int
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a measurement stands, told after each run.

    `n_dropped` runs will not take place because their case was given up; they count as done.
    `left_s` is an estimate from the wall time of each case so far, `None` before there is one.
    """

    case: Case
    n_done: int
    n_runs: int
    n_dropped: int
    left_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A case that was not run to its end: `n_dropped` of its runs were left out."""

    case: Case
    status: Status
    n_dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a measurement went.

    n_warmups, is_settled
        warm-up blocks, and whether times had settled after them (`None` where nobody looked).
    n_blocks
        timed blocks.
    """

    given_up: tuple[GivenUp, ...]
    n_warmups: int
    is_settled: bool | None
    n_blocks: int


MAX_WARMUPS = 4
SETTLED_SHARE = 0.03
"""Warm-up ends when the makespans of a block are this close to those of the block before it, in the
median over the cases; or after `MAX_WARMUPS`."""

OnTrace = Callable[[Trace], None]
OnProgress = Callable[[Progress], None]


def planned_blocks(*, repeats: int, warmup: int | None, once: bool) -> int:
    """How many blocks there will be at least."""
    if once:
        return 1
    return (2 if warmup is None else warmup) + 1 + repeats


def estimate_left_s(took_s: Sequence[float | None], n_left: Sequence[int]) -> float | None:
    """Seconds that the runs still to come will take.

    `took_s` holds the last wall time of each case, `n_left` its runs to come.  A case that has not
    run yet is taken for an average one.  `None` if no case has run.
    """
    known = [seconds for seconds in took_s if seconds is not None]
    if not known:
        return None
    average = sum(known) / len(known)
    return sum(
        left * (average if seconds is None else seconds)
        for seconds, left in zip(took_s, n_left, strict=True)
    )


def measure(
    plans: Sequence[Plan],
    backend: Backend,
    *,
    repeats: int,
    warmup: int | None,
    seed: int,
    once: bool,
    on_trace: OnTrace,
    on_progress: OnProgress | None = None,
    controls: Collection[Case] = (),
    on_block: Callable[[Block], None] | None = None,
    on_warm: Callable[[int, bool | None], None] | None = None,
    wants_more: Callable[[], bool] | None = None,
) -> Course:
    """Run every plan as often as asked for; hand each trace to `on_trace` as its run ends.

    A warm-up is not handed on, unless its case ended in a way that leaves no other trace of it.
    `warmup` `None` goes on until times settle.  `controls` run a second time in each timed block.
    `on_warm` is told how the warm-up went (see `Course`), `on_block` of each timed block that is
    over; after `repeats` of them `wants_more` says
    whether there is to be another.  What the backend raises (`DeviceFailed`) and
    `KeyboardInterrupt` pass through: the traces so far have been handed on.
    """
    loop = _Loop(plans, backend, controls, seed, on_trace, on_progress)
    loop.n_planned = planned_blocks(repeats=repeats, warmup=warmup, once=once)
    if once:
        loop.run(Block(measured=Pass.TIMED, repetition=1, is_kept=True), has_controls=False)
        return Course(given_up=tuple(loop.given_up), n_warmups=0, is_settled=None, n_blocks=1)
    n_warmups, is_settled = _warm_up(loop, warmup)
    if on_warm is not None:
        on_warm(n_warmups, is_settled)
    loop.run(Block(measured=Pass.TRACED, repetition=1, is_kept=True), has_controls=False)
    n_blocks = 0
    while n_blocks < repeats or (wants_more is not None and wants_more()):
        n_blocks += 1
        if n_blocks > repeats:
            loop.n_planned += 1
        block = Block(measured=Pass.TIMED, repetition=n_blocks, is_kept=True)
        loop.run(block, has_controls=True)
        if on_block is not None:
            on_block(block)
        if not loop.is_anything_left:
            break
    return Course(
        given_up=tuple(loop.given_up),
        n_warmups=n_warmups,
        is_settled=is_settled,
        n_blocks=n_blocks,
    )


def _warm_up(loop: _Loop, warmup: int | None) -> tuple[int, bool | None]:
    """How many blocks it took, and whether times had settled then."""
    block = Block(measured=Pass.TIMED, repetition=0, is_kept=False)
    if warmup is not None:
        for _ in range(warmup):
            loop.run(block, has_controls=False)
        return warmup, None
    before = loop.run(block, has_controls=False)
    for n_warmups in range(2, MAX_WARMUPS + 1):
        if n_warmups > 2:
            loop.n_planned += 1
        now = loop.run(block, has_controls=False)
        changes = sorted(abs(now[key] / before[key] - 1) for key in now if before.get(key))
        if not changes or changes[len(changes) // 2] <= SETTLED_SHARE:
            return n_warmups, True
        before = now
    return MAX_WARMUPS, False


class _Loop:
    """Blocks of one measurement, one by one.  `n_planned` blocks are known of so far."""

    def __init__(
        self,
        plans: Sequence[Plan],
        backend: Backend,
        controls: Collection[Case],
        seed: int,
        on_trace: OnTrace,
        on_progress: OnProgress | None,
    ) -> None:
        self._plans = plans
        self._backend = backend
        self._rng = random.Random(seed)
        self._order = [(index, False) for index in range(len(plans))]
        self._controls = [
            (index, True) for index, plan in enumerate(plans) if plan.case in set(controls)
        ]
        self._both = self._order + self._controls
        self._on_trace = on_trace
        self._on_progress = on_progress
        self._took_s: list[float | None] = [None] * len(plans)
        self._is_out = [False] * len(plans)
        self._n_blocks = 0
        self._n_runs = 0
        self.n_planned = 0
        self.given_up: list[GivenUp] = []

    @property
    def is_anything_left(self) -> bool:
        return not all(self._is_out)

    def run(self, block: Block, *, has_controls: bool) -> dict[Case, float]:
        """Every case that has not been given up, in a new order; the last makespan of each."""
        order = self._both if has_controls else self._order
        self._rng.shuffle(order)
        self._n_blocks += 1
        found: dict[Case, float] = {}
        for index, is_control in order:
            if self._is_out[index]:
                continue
            plan = self._plans[index]
            started = time.monotonic()
            trace = self._backend.run(plan, measured=block.measured, repetition=block.repetition)
            self._took_s[index] = time.monotonic() - started
            self._n_runs += 1
            if is_control:
                trace = replace(trace, measured=Pass.CONTROL)
            is_hopeless = trace.status in GIVEN_UP
            if is_hopeless:
                self._give_up(index, trace)
            elif len(trace.makespan_ns):
                found[plan.case] = float(trace.makespan_ns[-1])
            if block.is_kept or is_hopeless:
                self._on_trace(trace)
            self._tell(plan.case)
        return found

    def _give_up(self, index: int, trace: Trace) -> None:
        self._is_out[index] = True
        n_dropped = self.n_planned - self._n_blocks
        if n_dropped:
            self.given_up.append(GivenUp(case=trace.case, status=trace.status, n_dropped=n_dropped))

    def _tell(self, case: Case) -> None:
        if self._on_progress is None:
            return
        n_dropped = sum(gone.n_dropped for gone in self.given_up)
        n_runs = self.n_planned * len(self._plans)
        n_runs += len(self._controls) * max(0, self.n_planned - 3)
        n_done = min(n_runs, self._n_runs + n_dropped)
        left = [0 if is_out else self.n_planned - self._n_blocks for is_out in self._is_out]
        self._on_progress(
            Progress(
                case=case,
                n_done=n_done,
                n_runs=n_runs,
                n_dropped=n_dropped,
                left_s=estimate_left_s(self._took_s, left),
            )
        )
