"""Long timelines made shorter: nothing rare is lost, and what is merged is counted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from poolbench.timeline.build import timeline_of
from poolbench.timeline.reduce import reduced
from poolbench.timeline.values import Kind, Lane, Level, Span, Timeline
from tests.timeline.frames import frame_of, hand_over


def span(kind: Kind, begin_us: float, end_us: float, row: int = 0) -> Span:
    return Span(kind=kind, begin_us=begin_us, end_us=end_us, name="s", line=1, row=row)


def timeline(tmp_path: Path, *spans: Span, levels: tuple[Level, ...] = ()) -> Timeline:
    some = timeline_of(*frame_of(tmp_path, *hand_over("111")), 0)
    end = max(one.end_us for one in spans)
    return replace(some, lanes=(Lane(name="a", spans=spans),), levels=levels, end_us=end)


def test_short_ones_stay_as_they_are(tmp_path: Path) -> None:
    """No reduction without need."""
    some = timeline_of(*frame_of(tmp_path, *hand_over("111")), 0)
    found = reduced(some, 100)
    assert found.is_whole
    assert found.timeline == some


def test_neighbours_are_drawn_as_one_with_their_number_and_busy_time(tmp_path: Path) -> None:
    """10,000 kernels of 1 us every 3 us."""
    many = [span(Kind.KERNEL, 3 * k, 3 * k + 1, k) for k in range(10_000)]
    found = reduced(timeline(tmp_path, *many), 500)
    spans = found.timeline.lanes[0].spans
    assert found.n_spans == 10_000
    assert 1 <= len(spans) <= 500
    assert sum(one.n for one in spans) == 10_000
    assert abs(sum(one.busy_us for one in spans) - 10_000) < 1e-6
    assert all(left.end_us <= right.begin_us for left, right in pairwise(spans))


def test_a_rare_wait_among_many_kernels_survives(tmp_path: Path) -> None:
    """It keeps its own place, length and row."""
    many = [span(Kind.KERNEL, 3 * k, 3 * k + 1, k) for k in range(10_000)]
    many[5000] = span(Kind.INSERTED_WAIT, 15_000, 15_000.5, 5000)
    found = reduced(timeline(tmp_path, *many), 500)
    (wait,) = (one for one in found.timeline.lanes[0].spans if one.kind is Kind.INSERTED_WAIT)
    assert (wait.begin_us, wait.end_us, wait.row, wait.n) == (15_000, 15_000.5, 5000, 1)


def test_memory_keeps_its_peaks(tmp_path: Path) -> None:
    """One high moment among many low ones."""
    many = [span(Kind.KERNEL, 3 * k, 3 * k + 1, k) for k in range(10_000)]
    levels = tuple(
        Level(at_us=3 * k, reserved=100 if k == 777 else 10, used=k % 2) for k in range(10_000)
    )
    found = reduced(timeline(tmp_path, *many, levels=levels), 500).timeline.levels
    assert len(found) <= 501
    assert max(one.reserved for one in found) == 100
