"""Order, repetitions, cases that are given up, and the estimate of the time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np
import pytest

from poolbench.backends.base import Backend
from poolbench.domain import COMBINATIONS, BackendKind, Case, Pass, Status
from poolbench.errors import DeviceFailed
from poolbench.measure import Course, GivenUp, Progress, estimate_left_s, measure
from poolbench.plan.plan import Plan
from poolbench.results.environment import Environment
from poolbench.trace import Trace
from tests.measure.plans import empty_plan

PLANS = tuple(empty_plan(Case(scenario="s", row=row)) for row in COMBINATIONS)
ROWS = [row.name for row in COMBINATIONS]


class Recorder(Backend):
    """Runs nothing; remembers what it was asked for and answers as told."""

    def __init__(self, answers: dict[str, Status] | None = None, fails_after: int = -1) -> None:
        self.asked: list[tuple[str, Pass, int]] = []
        self.answers = answers or {}
        self.fails_after = fails_after
        self.makespans: Iterator[int] = repeat(1000)

    @property
    def kind(self) -> BackendKind:
        return BackendKind.CUDA

    def environment(self) -> Environment:
        raise NotImplementedError

    def renew(self) -> None:
        """Nothing is left behind."""

    def close(self) -> None:
        raise NotImplementedError

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        if len(self.asked) == self.fails_after:
            raise DeviceFailed("gone")
        name = getattr(plan.case.row, "name", "")
        self.asked.append((name, measured, repetition))
        return Trace(
            case=plan.case,
            backend=self.kind,
            measured=measured,
            repetition=repetition,
            status=self.answers.get(name, Status.OK),
            makespan_ns=np.array([next(self.makespans)]),
            host_ns=np.array([500]),
        )


def run(backend: Recorder, **changed: object) -> tuple[list[Trace], tuple[GivenUp, ...]]:
    traces, course = run_course(backend, **changed)
    return traces, course.given_up


def run_course(backend: Recorder, **changed: object) -> tuple[list[Trace], Course]:
    traces: list[Trace] = []
    effort = {"repeats": 3, "warmup": 1, "seed": 7, "once": False} | changed
    course = measure(PLANS, backend, on_trace=traces.append, **effort)  # type: ignore[arg-type]
    return traces, course


def test_blocks_are_complete() -> None:
    """Each block holds every case once: a warm-up, a traced one, then the repetitions."""
    backend = Recorder()
    run(backend)
    blocks = [backend.asked[start : start + 8] for start in range(0, len(backend.asked), 8)]
    kinds = [(block[0][1], block[0][2]) for block in blocks]
    timed = [(Pass.TIMED, repetition) for repetition in (1, 2, 3)]
    assert kinds == [(Pass.TIMED, 0), (Pass.TRACED, 1), *timed]
    for block, kind in zip(blocks, kinds, strict=True):
        assert sorted(name for name, _, _ in block) == ROWS
        assert {(measured, repetition) for _, measured, repetition in block} == {kind}


def test_order_follows_from_the_seed() -> None:
    """Equal seeds give equal orders; blocks differ from each other and from another seed's."""
    first, again, other = Recorder(), Recorder(), Recorder()
    run(first)
    run(again)
    run(other, seed=8)
    assert first.asked == again.asked
    assert first.asked != other.asked
    orders = {
        tuple(name for name, _, _ in first.asked[start : start + 8]) for start in range(0, 40, 8)
    }
    assert len(orders) > 1


def test_warm_ups_are_not_kept() -> None:
    """Only traced and timed runs are handed on, each as it ends."""
    traces, given_up = run(Recorder(), warmup=2)
    assert Counter((trace.measured, trace.repetition) for trace in traces) == {
        (Pass.TRACED, 1): 8,
        **{(Pass.TIMED, repetition): 8 for repetition in (1, 2, 3)},
    }
    assert given_up == ()


def test_once_is_one_timed_run() -> None:
    """A profiler sees every case exactly once, without warm-up and without tracing."""
    backend = Recorder()
    traces, _ = run(backend, once=True, warmup=3, repeats=9)
    assert sorted(backend.asked) == [(name, Pass.TIMED, 1) for name in ROWS]
    assert len(traces) == 8


@pytest.mark.parametrize(
    "status", [Status.ERROR, Status.TIMEOUT, Status.UNSUPPORTED, Status.SKIPPED]
)
def test_a_hopeless_case_is_given_up(status: Status) -> None:
    """It is run once, its trace is kept although it was the warm-up, the others go on."""
    backend = Recorder({"010": status})
    traces, given_up = run(backend)
    assert [ask for ask in backend.asked if ask[0] == "010"] == [("010", Pass.TIMED, 0)]
    assert [trace.status for trace in traces if trace.case == PLANS[2].case] == [status]
    assert given_up == (GivenUp(case=PLANS[2].case, status=status, n_dropped=4),)
    assert len(backend.asked) == 7 * 5 + 1


def test_out_of_memory_is_a_result() -> None:
    """A case that runs out of memory is repeated like any other."""
    backend = Recorder({"000": Status.OUT_OF_MEMORY})
    _, given_up = run(backend)
    assert len(backend.asked) == 8 * 5
    assert given_up == ()


def test_a_failing_device_ends_it() -> None:
    """What ended before has been handed on; the fault passes through."""
    traces: list[Trace] = []
    with pytest.raises(DeviceFailed):
        measure(
            PLANS,
            Recorder(fails_after=13),
            repeats=3,
            warmup=1,
            seed=0,
            once=False,
            on_trace=traces.append,
        )
    assert len(traces) == 5


def test_progress_counts_dropped_runs_as_done() -> None:
    """The bar reaches its end even if a case was given up."""
    told: list[Progress] = []
    measure(
        PLANS,
        Recorder({"111": Status.ERROR}),
        repeats=2,
        warmup=0,
        seed=0,
        once=False,
        on_trace=lambda _: None,
        on_progress=told.append,
    )
    assert [now.n_done for now in told] == sorted(now.n_done for now in told)
    assert told[-1].n_done == told[-1].n_runs == 24
    assert told[-1].n_dropped == 2
    assert told[-1].left_s == 0


def test_estimate_weighs_by_case() -> None:
    """Runs to come count what their own case took, unknown cases the average; no guess at first."""
    assert estimate_left_s([None, None], [3, 3]) is None
    assert estimate_left_s([1.0, 10.0], [5, 1]) == 15.0
    assert estimate_left_s([1.0, 3.0, None], [0, 0, 4]) == 8.0


def test_controls_run_a_second_time_in_timed_blocks() -> None:
    """The same plan under another name, wherever in the block; not in warm-ups, nor traced."""
    backend = Recorder()
    traces, course = run_course(backend, controls=[PLANS[7].case])
    counts = Counter((trace.case, trace.measured) for trace in traces)
    assert counts[PLANS[7].case, Pass.CONTROL] == counts[PLANS[7].case, Pass.TIMED] == 3
    assert sum(n for (_, measured), n in counts.items() if measured is Pass.CONTROL) == 3
    assert len(backend.asked) == 8 * 5 + 3
    assert course.n_blocks == 3


def test_warm_up_ends_when_times_settle() -> None:
    """Two blocks that agree are enough; while they do not it goes on, and says so in the end."""
    _, quiet = run_course(Recorder(), warmup=None)
    assert (quiet.n_warmups, quiet.is_settled) == (2, True)
    late = Recorder()
    late.makespans = chain(repeat(2000, 8), repeat(1500, 8), repeat(1000))
    _, course = run_course(late, warmup=None)
    assert (course.n_warmups, course.is_settled) == (4, True)
    never = Recorder()
    never.makespans = iter(range(10_000, 10**9, 2000))
    _, course = run_course(never, warmup=None)
    assert (course.n_warmups, course.is_settled) == (4, False)


def test_more_blocks_run_while_they_are_wanted() -> None:
    """Asked after the planned ones and after each further one; each has a number of its own."""
    told: list[int] = []
    answers = iter([True, True, False])
    backend = Recorder()
    _, course = run_course(
        backend,
        on_block=lambda block: told.append(block.repetition),
        wants_more=lambda: next(answers),
    )
    assert told == [1, 2, 3, 4, 5]
    assert course.n_blocks == 5
    assert len(backend.asked) == 8 * 7
