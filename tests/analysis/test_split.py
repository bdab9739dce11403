"""The critical path: splits known by construction, and that the parts always add up."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.analysis.split import PARTS, IterationSplit, Part, split_iterations
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OUTCOMES, Outcome, Pass
from poolbench.plan.plan import Plan
from poolbench.trace import LatchOpening
from tests.analysis.hand_made import MIB, US, Recording, plan_of, trace_of
from tests.analysis.random_plans import random_plan
from tests.model.predicted import CHUNK

MODEL = ModelBackend()


def predicted(plan: Plan) -> IterationSplit:
    return split_iterations(plan, MODEL.run(plan, measured=Pass.TRACED, repetition=1))[-1]


def us(split: IterationSplit) -> dict[str, float]:
    """Parts that are not nothing."""
    return {part.value: length / US for part, length in split.parts.items() if length}


def recorded(
    recording: Recording, makespan_us: float, latches: tuple[LatchOpening, ...] = ()
) -> IterationSplit:
    plan = recording.plan
    trace = trace_of(plan, steps=recording.steps, makespan_us=(makespan_us,), latches=latches)
    (split,) = split_iterations(plan, trace)
    assert sum(split.parts.values()) == split.makespan_ns
    return split


# --- by hand --------------------------------------------------------------------------------


def test_work_behind_work_in_one_stream() -> None:
    """Two kernels, the second issued long before its turn: work, and the gap between them."""
    plan = plan_of([("kernel", "a", 100), ("kernel", "a", 50)])
    recording = Recording(plan).host(0, 0, 5).host(1, 5, 9)
    recording.device(0, 8, 108).device(1, 110, 160)
    split = recorded(recording, 163)
    assert us(split) == {"work": 150, "contention": 2 + 3, "host_call": 5, "rest": 3}


def test_a_host_that_is_not_ahead() -> None:
    """The second kernel could not start because the host was at something else."""
    plan = plan_of([("kernel", "a", 10), ("host", 200), ("kernel", "a", 10)])
    recording = Recording(plan).host(0, 0, 5).host(1, 6, 206).host(2, 208, 213)
    recording.device(0, 7, 17).device(2, 216, 226)
    split = recorded(recording, 226)
    assert us(split) == {
        "work": 10,
        "contention": 3,
        "host_call": 5 + 5,
        "host_own": 200 + 2 + 1,
    }


def test_an_event_leads_to_the_other_stream() -> None:
    """b's kernel starts 2 us after a's, which it waits for: the path goes on with a's work."""
    steps: list[tuple[Any, ...]] = [
        ("kernel", "a", 300),
        ("record", "e", "a"),
        ("wait", "e", "b"),
        ("kernel", "b", 40),
    ]
    recording = Recording(plan_of(steps)).host(0, 0, 5)
    for row in (1, 2, 3):
        recording.host(row, 4 + row, 5 + row)
    recording.device(0, 8, 308).device(3, 310, 350)
    split = recorded(recording, 350)
    assert us(split) == {"work": 340, "explicit_wait": 2, "contention": 3, "host_call": 5}


def test_a_synchronisation_leads_to_what_it_waited_for() -> None:
    """The host was in the call until 6 us after the kernel's end."""
    steps: list[tuple[Any, ...]] = [("kernel", "a", 100), ("sync", "a"), ("kernel", "b", 20)]
    recording = Recording(plan_of(steps)).host(0, 0, 5).host(1, 5, 114).host(2, 114, 119)
    recording.device(0, 8, 108).device(2, 122, 142)
    split = recorded(recording, 142)
    assert us(split) == {"work": 120, "explicit_wait": 6, "host_call": 10, "contention": 6}


def test_an_inserted_wait_is_what_would_be_won_without_it() -> None:
    """b's allocation waits from its call's return (30) to a's free (500): 470 us of the end's 560
    are the driver's, whatever a does meanwhile."""
    steps: list[tuple[Any, ...]] = [
        ("kernel", "a", 480),
        ("free", "x", "a"),
        ("alloc", "y", "b", CHUNK),
        ("kernel", "b", 50),
    ]
    plan = plan_of([("alloc", "x", "a", CHUNK), *steps])
    recording = Recording(plan)
    for row, (begin, end) in enumerate([(0, 4), (5, 10), (11, 14), (20, 30), (31, 36)]):
        recording.host(row, begin, end)
    recording.device(0, 1, 5).device(1, 12, 492).device(2, 493, 500)
    recording.device(3, 19, 501).device(4, 503, 553)
    recording.steps.outcome[3] = OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY)
    recording.steps.waited_for[3] = 2
    split = recorded(recording, 556)
    found = us(split)
    assert found["inserted_wait"] == 471
    assert found["work"] == 50
    assert split.waits == {3: 471 * US}


def test_a_wait_beside_the_path_costs_nothing() -> None:
    """b waits 400 us for a block and is done long before a is: nothing of it reaches the end."""
    steps: list[tuple[Any, ...]] = [
        ("alloc", "x", "a", CHUNK),
        ("kernel", "a", 400),
        ("free", "x", "a"),
        ("kernel", "a", 2000),
        ("alloc", "y", "b", CHUNK),
        ("kernel", "b", 50),
        ("free", "y", "b"),
    ]
    split = predicted(plan_of(steps, row="001", max_size=CHUNK, prime=CHUNK))
    assert split.waits == {}
    assert split.parts[Part.INSERTED_WAIT] == 0
    assert split.parts[Part.WORK] == 2400 * US


def test_a_latch_leads_to_the_call_that_opened_it() -> None:
    """The kernel runs when the host lets the stream go, and not when it was queued."""
    steps: list[tuple[Any, ...]] = [
        ("hold", "a"),
        ("kernel", "a", 50),
        ("host", 300),
        ("release", "a"),
    ]
    recording = Recording(plan_of(steps))
    for row, (begin, end) in enumerate([(0, 5), (6, 10), (10, 310), (310, 320)]):
        recording.host(row, begin, end)
    recording.device(1, 325, 375)
    opening = LatchOpening(stream=0, row=0, closed_ns=5 * US, opened_ns=318 * US, by_watchdog=False)
    split = recorded(recording, 375, (opening,))
    assert us(split) == {
        "work": 50,
        "explicit_wait": 7,
        "host_own": 301,
        "host_call": 8 + 4 + 5,
    }


# --- on the model ---------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [200, 700, 3000])
def test_planted_waits_are_found(busy: int) -> None:
    """One block, one wait: what is left of a's work when b asks, within 5 us."""
    steps: list[tuple[Any, ...]] = [
        ("alloc", "x", "a", CHUNK),
        ("kernel", "a", busy),
        ("free", "x", "a"),
        ("alloc", "y", "b", CHUNK),
        ("kernel", "b", 100),
        ("free", "y", "b"),
    ]
    plan = plan_of(steps, row="001", max_size=CHUNK, prime=CHUNK)
    trace = MODEL.run(plan, measured=Pass.TRACED, repetition=1)
    (split,) = split_iterations(plan, trace)
    assert trace.steps is not None
    left = trace.steps.device_end_ns[1] - trace.steps.host_end_ns[3]
    assert split.parts[Part.INSERTED_WAIT] == pytest.approx(left, abs=5 * US)
    assert split.parts[Part.WORK] == 100 * US


def test_growth_and_retries_are_the_hosts() -> None:
    """Growing for 8 GiB keeps the host for milliseconds; a retry as long as it synchronises."""
    grown = predicted(plan_of([("alloc", "x", "a", 8192 * MIB), ("kernel", "a", 10)]))
    assert grown.parts[Part.GROWTH] > 0.9 * grown.makespan_ns
    from poolbench.domain import OnOom

    steps: list[tuple[Any, ...]] = [
        ("alloc", "x", "a", CHUNK),
        ("kernel", "a", 900),
        ("free", "x", "a"),
        ("alloc", "y", "b", CHUNK),
        ("kernel", "b", 100),
    ]
    plan = plan_of(steps, row="000", max_size=CHUNK, prime=CHUNK, on_oom=OnOom.SYNC_RETRY)
    retried = predicted(plan)
    assert retried.parts[Part.RETRY] == pytest.approx(880 * US, rel=0.05)
    assert retried.parts[Part.WORK] == 100 * US


def test_parts_add_up_for_any_plan() -> None:
    """Random plans with everything in them: no part but the rest is negative, the rest is small,
    and what waits on the path is no more than what was inserted."""
    for seed in range(60):
        plan = random_plan(seed)
        trace = MODEL.run(plan, measured=Pass.TRACED, repetition=1)
        for split in split_iterations(plan, trace):
            assert sum(split.parts.values()) == split.makespan_ns
            assert set(split.parts) == set(PARTS)
            assert all(length >= 0 for part, length in split.parts.items() if part is not Part.REST)
            assert abs(split.parts[Part.REST]) <= max(20 * US, 0.02 * split.makespan_ns), seed
            assert sum(split.waits.values()) == split.parts[Part.INSERTED_WAIT]


def test_without_steps_there_is_no_split() -> None:
    plan = plan_of([("kernel", "a", 10)])
    assert split_iterations(plan, MODEL.run(plan, measured=Pass.TIMED, repetition=1)) == ()
