"""Lanes from the steps of a traced run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from poolbench.timeline.build import iterations_of, timeline_of, usual_iteration
from poolbench.timeline.values import HOST, Kind, Span, Timeline
from tests.analysis.hand_made import MIB, plan_of
from tests.analysis.random_plans import random_plan
from tests.timeline.frames import TWO, frame_of, hand_over, predicted


def lane(timeline: Timeline, name: str) -> tuple[Span, ...]:
    return next(one.spans for one in timeline.lanes if one.name == name)


def spans(timeline: Timeline, name: str) -> list[tuple[Kind, float, float]]:
    return [(one.kind, one.begin_us, one.end_us) for one in lane(timeline, name)]


def test_a_wait_is_linked_to_its_free(tmp_path: Path) -> None:
    """b's lane shows the wait, and the link says for whose free."""
    found = timeline_of(*frame_of(tmp_path, *hand_over("111")), 0)
    assert [one.name for one in found.lanes] == ["a", "b", HOST]
    assert spans(found, "a") == [(Kind.KERNEL, 19.0, 519.0)]
    assert spans(found, "b") == [
        (Kind.INSERTED_WAIT, 60.0, 522.0),
        (Kind.KERNEL, 525.0, 1005.0),
    ]
    assert [one.kind for one in lane(found, HOST)] == [Kind.GROWTH, *[Kind.CALL] * 5]
    (link,) = found.links
    assert link.text() == "y (line 13) on b waited 462.0 us for x's free (line 12) on a"
    assert (link.free_us, link.free_row) == (520.0, 2)
    assert [(one.reserved, one.used) for one in found.levels] == [
        (64 * MIB, 64 * MIB),
        (64 * MIB, 0),
        (64 * MIB, 64 * MIB),
        (64 * MIB, 0),
    ]


def test_a_failure_is_a_failure_and_what_was_not_issued_is_not_there(tmp_path: Path) -> None:
    """Without internal dependencies."""
    found = timeline_of(*frame_of(tmp_path, *hand_over("110")), 0)
    assert [one.name for one in found.lanes] == ["a", HOST]
    (failure,) = found.failures
    assert (failure.name, failure.line, failure.is_final) == ("y", 13, True)
    assert lane(found, HOST)[-1].kind is Kind.FAILED
    assert found.n_steps == 4


def test_waits_of_the_scenarios_own(tmp_path: Path) -> None:
    """An event, a latch and a synchronisation, each from when it began to hold until it did not."""
    plan = plan_of(
        [
            ("kernel", "a", 400),
            ("record", "e", "a"),
            ("wait", "e", "b"),
            ("kernel", "b", 100),
            ("sync", "b"),
            ("hold", "a"),
            ("kernel", "a", 50),
            ("host", 300),
            ("release", "a"),
        ],
        streams=TWO,
    )
    found = timeline_of(*predicted(tmp_path, plan), 0)
    wait, kernel = lane(found, "b")
    first, held, second = lane(found, "a")
    assert wait.kind is Kind.EXPLICIT_WAIT
    assert wait.end_us == pytest.approx(first.end_us, abs=5)
    assert kernel.begin_us >= wait.end_us
    assert held.kind is Kind.HELD
    assert held.length_us == pytest.approx(300, abs=40)
    assert second.begin_us >= held.end_us
    blocked = [one for one in lane(found, HOST) if one.kind is Kind.BLOCKED]
    assert [one.name for one in blocked] == ["sync b"]


def test_results_of_an_older_poolbench(tmp_path: Path) -> None:
    """Events are found by their names, and long synchronisations count as blocked."""
    plan = plan_of(
        [
            ("kernel", "a", 400),
            ("record", "e", "a"),
            ("wait", "e", "b"),
            ("kernel", "b", 100),
            ("sync", "b"),
        ],
        streams=TWO,
    )
    result, frame = predicted(tmp_path, plan)
    old = timeline_of(result, frame.drop(columns=["size", "record", "blocked"]), 0)
    assert old.lanes == timeline_of(result, frame, 0).lanes


def test_iterations_begin_at_nought(tmp_path: Path) -> None:
    """Each on its own axis; the second is the usual one."""
    steps = [("alloc", "x", "a", MIB), ("kernel", "a", 50), ("free", "x", "a")]
    result, frame = predicted(tmp_path, plan_of(steps, iterations=3))
    assert iterations_of(frame) == 3
    assert [usual_iteration(n) for n in (0, 1, 2, 9)] == [0, 0, 1, 1]
    for iteration in range(3):
        found = timeline_of(result, frame, iteration)
        assert lane(found, HOST)[0].begin_us == 0
        assert len(lane(found, "a")) == 1
        assert found.end_us < 300
    first, second = (timeline_of(result, frame, k) for k in (0, 1))
    assert lane(first, HOST)[0].kind is Kind.GROWTH
    assert lane(second, HOST)[0].kind is Kind.CALL


def test_no_two_spans_of_a_lane_overlap(tmp_path: Path) -> None:
    """Whatever the plan: formats that nest spans depend on it."""
    for seed in range(40):
        result, frame = predicted(tmp_path, random_plan(seed))
        for iteration in range(iterations_of(frame)):
            found = timeline_of(result, frame, iteration)
            for one in found.lanes:
                assert all(left.end_us <= right.begin_us for left, right in pairwise(one.spans))
                assert all(span.begin_us <= span.end_us for span in one.spans)
