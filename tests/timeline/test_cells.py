"""A timeline in characters."""

from __future__ import annotations

import pytest

from poolbench.timeline.cells import Axis, cells, strip, ticks
from poolbench.timeline.values import Kind, Lane, Level, Span


def span(kind: Kind, begin_us: float, end_us: float, row: int = 0) -> Span:
    return Span(kind=kind, begin_us=begin_us, end_us=end_us, name="s", line=1, row=row)


def text(axis: Axis, *spans: Span, marks: dict[int, str] | None = None) -> str:
    return "".join(one.text for one in cells(Lane(name="a", spans=spans), axis, marks or {}))


TEN = Axis(begin_us=0, end_us=100, width=10)


def test_each_cell_shows_what_fills_it() -> None:
    """Whole, half and hardly filled cells; a wait with its number."""
    assert text(TEN, span(Kind.KERNEL, 0, 40)) == "████      "
    assert text(TEN, span(Kind.KERNEL, 0, 23)) == "██▌       "
    assert text(TEN, span(Kind.KERNEL, 51, 52)) == "     ▌    "
    drawn = text(TEN, span(Kind.INSERTED_WAIT, 20, 60, row=7), marks={7: "1"})
    assert drawn == "  1×××    "


def test_what_is_short_and_rare_is_seen() -> None:
    """A wait of a microsecond beside a kernel that fills the rest of its cell."""
    drawn = text(TEN, span(Kind.KERNEL, 0, 15), span(Kind.INSERTED_WAIT, 15, 16))
    assert drawn == "█×        "
    assert text(TEN, span(Kind.CALL, 0, 9), span(Kind.GROWTH, 9, 9.5)) == "G         "


def test_a_part_of_the_axis() -> None:
    """Spans outside are not drawn, those across the edge in part."""
    axis = Axis(begin_us=50, end_us=60, width=10)
    spans = (span(Kind.KERNEL, 0, 20), span(Kind.KERNEL, 40, 52), span(Kind.COPY, 58, 90))
    assert text(axis, *spans) == "██      ▓▓"
    assert text(axis, span(Kind.KERNEL, 60, 70)) == " " * 10


@pytest.mark.parametrize("end_us", [0.5, 7.0, 99.0, 1234.5, 98765.0, 3.2e6])
@pytest.mark.parametrize("width", [20, 69, 200])
def test_ticks_are_round_and_fit(end_us: float, width: int) -> None:
    """Numbers stand under their marks, none over another."""
    marks, numbers = ticks(Axis(begin_us=0, end_us=end_us, width=width), unit="us", divisor=1.0)
    assert len(marks) == width
    assert len(numbers) <= width
    words = numbers.replace(" us", "").split()
    assert marks.count("┬") == len(words) >= 1
    values = [float(word) for word in words]
    assert values == sorted(values)


def test_memory_is_drawn_in_eighths_of_its_peak() -> None:
    """The highest level of each cell, never below what it was."""
    levels = [
        Level(at_us=0, reserved=80, used=10),
        Level(at_us=30, reserved=80, used=80),
        Level(at_us=31, reserved=80, used=0),
    ]
    assert strip(levels, TEN, "reserved", 80) == "██████████"
    assert strip(levels, TEN, "used", 80) == "▁▁▁█      "
    assert strip([], TEN, "used", 80) == " " * 10
    assert strip(levels, TEN, "used", 0) == " " * 10
