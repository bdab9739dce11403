"""Calls, streams and memory of traced runs whose answers are known by construction."""

from __future__ import annotations

import pytest

from poolbench.analysis.calls import CallKind
from poolbench.analysis.concurrency import Cause
from poolbench.analysis.detail import Traced, examine
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OUTCOMES, OnOom, Outcome, Pass
from poolbench.findings import CallTimes, Detail
from poolbench.plan.plan import Plan
from poolbench.trace import LatchOpening
from tests.analysis.hand_made import MIB, US, Recording, plan_of, stream, trace_of
from tests.analysis.random_plans import random_plan

MODEL = ModelBackend()
TWO = (stream("a"), stream("b"))


def of_recording(
    recording: Recording, makespan_us: tuple[float, ...] = (1000.0,), **fields: object
) -> Detail:
    trace = trace_of(
        recording.plan,
        steps=recording.steps,
        makespan_us=makespan_us,
        **fields,  # type: ignore[arg-type]
    )
    return examine(recording.plan, trace, event_floor_ns=1000).detail


def of_model(plan: Plan) -> Traced:
    trace = MODEL.run(plan, measured=Pass.TRACED, repetition=1)
    return examine(plan, trace, event_floor_ns=MODEL.environment().floors.event_pair_ns)


def call(detail: Detail, kind: CallKind, *, first: bool = False) -> CallTimes:
    (found,) = (one for one in detail.calls if one.kind == kind and one.is_first_iteration is first)
    return found


# --- calls ----------------------------------------------------------------------------------


def test_kinds_of_calls_are_told_apart() -> None:
    """A growth, a hit, frees, a launch and a sync that had to wait."""
    plan = plan_of(
        [
            ("alloc", "x", "a", MIB),
            ("free", "x", "a"),
            ("alloc", "y", "a", MIB),
            ("kernel", "a", 50),
            ("free", "y", "a"),
            ("sync", "a"),
            ("sync", "a"),
        ]
    )
    recording = Recording(plan).host(0, 0, 74).device(3, 35, 85).host(5, 50, 90).host(6, 91, 93)
    recording.device(4, 85, 86)
    recording.steps.outcome[0] = OUTCOMES.index(Outcome.GROWN)
    recording.steps.outcome[2] = OUTCOMES.index(Outcome.SAME_STREAM)
    detail = of_recording(recording)
    growth = call(detail, CallKind.GROWTH)
    assert (growth.n, growth.median_us, growth.n_blocked) == (1, 74.0, 0)
    assert call(detail, CallKind.HIT).max_us == 1.0
    assert call(detail, CallKind.FREE).n == 2
    assert call(detail, CallKind.LAUNCH).n == 1
    sync = call(detail, CallKind.SYNC)
    assert (sync.n, sync.n_blocked, sync.total_us, sync.p99_us) == (2, 1, 42.0, 40.0)


def test_the_first_iteration_stands_apart() -> None:
    """Four iterations: one first call, three others."""
    plan = plan_of([("kernel", "a", 5)], iterations=4)
    detail = of_recording(Recording(plan).host(0, 0, 30), (10.0,) * 4)
    assert call(detail, CallKind.LAUNCH, first=True).median_us == 30.0
    others = call(detail, CallKind.LAUNCH)
    assert (others.n, others.max_us) == (3, 1.0)


def test_a_call_that_a_latch_blocked_is_marked() -> None:
    """The watchdog opened the latch while the host was in the call."""
    plan = plan_of([("hold", "a"), ("kernel", "b", 5), ("release", "a")])
    recording = Recording(plan).host(1, 10, 500)
    latch = LatchOpening(stream=0, row=0, closed_ns=0, opened_ns=400 * US, by_watchdog=True)
    detail = of_recording(recording, latches=(latch,))
    assert call(detail, CallKind.LAUNCH).n_blocked == 1


def test_a_retry_counts_as_blocked() -> None:
    """The program synchronises before it tries again."""
    plan = plan_of([("alloc", "x", "a", MIB)], on_oom=OnOom.SYNC_RETRY)
    detail = of_recording(Recording(plan).failed(0).at(0, 0, 32))
    failed = call(detail, CallKind.FAILED)
    assert (failed.n, failed.n_blocked) == (1, 1)


def test_cudamalloc_is_named_after_its_calls() -> None:
    """And preallocated memory has no calls at all."""
    steps = [("alloc", "x", "a", MIB), ("kernel", "a", 100), ("free", "x", "a")]
    plain = of_model(plan_of(steps, row="cudamalloc")).detail
    assert call(plain, CallKind.PLAIN_ALLOC).n == 1
    assert call(plain, CallKind.PLAIN_FREE).n_blocked == 1
    before = of_model(plan_of(steps, row="preallocated")).detail
    assert {one.kind for one in before.calls} == {CallKind.LAUNCH}


# --- streams --------------------------------------------------------------------------------


def test_known_overlap() -> None:
    """100 us and 60 us on two streams, 40 us of them together; 60 could have been."""
    plan = plan_of([("kernel", "a", 100), ("kernel", "b", 60)], streams=TWO)
    recording = Recording(plan).device(0, 10, 110).device(1, 70, 130)
    (pair,) = of_recording(recording).pairs
    assert (pair.both_us, pair.could_us, pair.lost_us) == (40.0, 60.0, 20.0)
    assert of_recording(recording).serialised == ()


@pytest.mark.parametrize(
    ("host_us", "cause"), [(15, Cause.CONTENTION), (400, Cause.HOST)], ids=["device", "host"]
)
def test_unordered_steps_one_after_the_other(host_us: float, cause: Cause) -> None:
    """Nothing orders them; who is to blame depends on when the second was issued."""
    plan = plan_of([("kernel", "a", 100), ("kernel", "b", 60)], streams=TWO)
    recording = Recording(plan).device(0, 10, 110).device(1, 500, 560).host(1, host_us, host_us + 2)
    (found,) = of_recording(recording).serialised
    assert (found.first_line, found.second_line, found.cause) == (10, 11, cause)
    assert (found.n, found.lost_us) == (1, 60.0)


def test_what_the_scenario_orders_is_not_lost() -> None:
    """An event, a synchronisation, a latch: none of the steps could have run together."""
    by_event = [
        ("kernel", "a", 100),
        ("record", "e", "a"),
        ("wait", "e", "b"),
        ("kernel", "b", 60),
    ]
    by_sync = [("kernel", "a", 100), ("sync", "a"), ("kernel", "b", 60)]
    by_latch = [
        ("hold", "b"),
        ("kernel", "b", 60),
        ("kernel", "a", 100),
        ("sync", "a"),
        ("release", "b"),
    ]
    for steps in (by_event, by_sync, by_latch):
        traced = of_model(plan_of(steps, streams=TWO))
        (pair,) = traced.detail.pairs
        assert (pair.could_us, pair.lost_us) == (0.0, 0.0)
        assert traced.detail.serialised == ()


def test_an_inserted_wait_serialises() -> None:
    """The pool is full and a's block pending: b's kernel comes only after a's."""
    size = 32 * MIB
    plan = plan_of(
        [
            ("alloc", "x", "a", size),
            ("kernel", "a", 500),
            ("free", "x", "a"),
            ("alloc", "y", "b", size),
            ("kernel", "b", 300),
            ("free", "y", "b"),
        ],
        streams=TWO,
        max_size=size,
    )
    traced = of_model(plan)
    (found,) = traced.detail.serialised
    assert found.cause == Cause.INSERTED_WAIT
    assert (found.first_stream, found.second_stream) == ("a", "b")
    assert found.lost_us == pytest.approx(300, abs=1)
    (pair,) = traced.detail.pairs
    assert pair.both_us == 0.0
    assert pair.could_us == pytest.approx(300, abs=1)


def test_overlap_that_could_be_is_no_less_than_what_fits() -> None:
    """On any plan: never negative, never longer than either stream is busy."""
    for seed in range(60):
        plan = random_plan(seed)
        trace = MODEL.run(plan, measured=Pass.TRACED, repetition=1)
        for pair in examine(plan, trace, event_floor_ns=1000).detail.pairs:
            assert pair.could_us >= 0
            assert 0 <= pair.both_us <= max(trace.makespan_ns) / 1000 + 1


# --- memory ---------------------------------------------------------------------------------


def test_asked_for_is_counted_in_the_order_of_calls() -> None:
    """Two of three buffers live at once."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 10 * MIB),
            ("alloc", "y", "a", 20 * MIB),
            ("free", "x", "a"),
            ("alloc", "z", "a", 5 * MIB),
        ]
    )
    recording = Recording(plan).at(0, 0, 32).at(1, 10, 32).at(3, 0, 32)
    assert of_recording(recording).asked_high_bytes == 30 * MIB


def test_fragmentation_at_a_failed_allocation() -> None:
    """Two free blocks of 8 MiB around a live one, and one that another stream still uses."""
    plan = plan_of(
        [
            ("alloc", "p", "a", 8 * MIB),
            ("alloc", "q", "a", 8 * MIB),
            ("alloc", "r", "a", 8 * MIB),
            ("alloc", "s", "b", 8 * MIB),
            ("kernel", "b", 900),
            ("free", "p", "a"),
            ("free", "r", "a"),
            ("free", "s", "b"),
            ("alloc", "big", "a", 16 * MIB),
        ],
        row="110",
        max_size=32 * MIB,
    )
    recording = Recording(plan)
    for row in range(4):
        recording.at(row, 8 * row, 32)
        recording.pool(row, 32, 8 * (row + 1))
    recording.device(4, 45, 945).device(7, 945, 946)
    for row, used in ((5, 24), (6, 16), (7, 8)):
        recording.pool(row, 32, used)
    recording.failed(8)
    (found,) = of_recording(recording).failed
    assert (found.line, found.n, found.asked) == (18, 1, 16 * MIB)
    assert found.free == 24 * MIB
    assert found.largest_run == 16 * MIB
    assert found.usable_run == 8 * MIB


def test_failures_of_one_place_are_one_entry() -> None:
    """A model run of a pool that is too small, tried again behind synchronisations."""
    size = 32 * MIB
    steps: list[tuple[object, ...]] = []
    for k in range(3):
        on = "ab"[k % 2]
        steps += [("alloc", f"x{k}", on, size), ("kernel", on, 300), ("free", f"x{k}", on)]
    plan = plan_of(steps, row="000", max_size=size, on_oom=OnOom.SYNC_RETRY)
    failed = of_model(plan).detail.failed
    assert [one.n for one in failed] == [1, 1]
    assert all((one.free, one.usable_run) == (size, 0) for one in failed)
