"""In which order the cases run, how often, and what becomes of the time that is left.

Knows no CUDA and no files: plans go in, traces come out one by one.  A *block* holds every case
once, in a shuffled order, so that a clock that drifts falls on all rows alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


OnTrace = Callable[[Trace], None]
OnProgress = Callable[[Progress], None]


def blocks_of(*, repeats: int, warmup: int, once: bool) -> tuple[Block, ...]:
    """The blocks of a measurement, in order.

    `once` is for a profiler: one timed run of each case and nothing else.
    """
    if once:
        return (Block(measured=Pass.TIMED, repetition=1, is_kept=True),)
    warm = Block(measured=Pass.TIMED, repetition=0, is_kept=False)
    traced = Block(measured=Pass.TRACED, repetition=1, is_kept=True)
    timed = (Block(measured=Pass.TIMED, repetition=k + 1, is_kept=True) for k in range(repeats))
    return (*(warm for _ in range(warmup)), traced, *timed)


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
    warmup: int,
    seed: int,
    once: bool,
    on_trace: OnTrace,
    on_progress: OnProgress | None = None,
) -> tuple[GivenUp, ...]:
    """Run every plan as often as asked for; hand each trace to `on_trace` as its run ends.

    A warm-up is not handed on, unless its case ended in a way that leaves no other trace of it.
    Returns the cases of which runs were dropped.  What the backend raises (`DeviceFailed`) and
    `KeyboardInterrupt` pass through: the traces so far have been handed on.
    """
    blocks = blocks_of(repeats=repeats, warmup=warmup, once=once)
    rng = random.Random(seed)
    order = list(range(len(plans)))
    n_left = [len(blocks)] * len(plans)
    took_s: list[float | None] = [None] * len(plans)
    given_up: list[GivenUp] = []
    for block in blocks:
        rng.shuffle(order)
        for index in order:
            if not n_left[index]:
                continue
            plan = plans[index]
            started = time.monotonic()
            trace = backend.run(plan, measured=block.measured, repetition=block.repetition)
            took_s[index] = time.monotonic() - started
            n_left[index] -= 1
            is_hopeless = trace.status in GIVEN_UP
            if is_hopeless and n_left[index]:
                given_up.append(
                    GivenUp(case=plan.case, status=trace.status, n_dropped=n_left[index])
                )
                n_left[index] = 0
            if block.is_kept or is_hopeless:
                on_trace(trace)
            if on_progress is not None:
                on_progress(
                    Progress(
                        case=plan.case,
                        n_done=len(blocks) * len(plans) - sum(n_left),
                        n_runs=len(blocks) * len(plans),
                        n_dropped=sum(gone.n_dropped for gone in given_up),
                        left_s=estimate_left_s(took_s, n_left),
                    )
                )
    return tuple(given_up)
