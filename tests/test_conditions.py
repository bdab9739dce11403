"""Conditions of expectations: what they hold for, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.columns import Unit
from poolbench.conditions import ConditionError, parse_condition

bounded = settings(derandomize=True, database=None, deadline=None)
NUMBERS = st.integers(0, 10**9)


@bounded
@given(NUMBERS, NUMBERS)
def test_bounds_compare(limit: int, value: int) -> None:
    """A bound holds exactly where Python's comparison does."""
    for sign, holds in (
        (">=", value >= limit),
        ("<=", value <= limit),
        (">", value > limit),
        ("<", value < limit),
        ("==", value == limit),
        ("", value == limit),
    ):
        assert parse_condition(f"{sign} {limit}", Unit.COUNT).holds(value) is holds


@bounded
@given(NUMBERS, NUMBERS, NUMBERS)
def test_ranges_include_both_ends(one: int, other: int, value: int) -> None:
    """A range holds from its first to its last value, both included."""
    low, high = sorted((one, other))
    assert parse_condition(f"{low}..{high}", Unit.RATIO).holds(value) is (low <= value <= high)
    assert parse_condition(f"{low} .. {high}", Unit.RATIO).holds(low)
    assert parse_condition(f"{low}..{high}", Unit.RATIO).holds(high)


@bounded
@given(st.integers(0, 3600 * 10**9))
def test_durations_are_microseconds(ns: int) -> None:
    """A duration is compared in the column's microseconds."""
    condition = parse_condition(f"{ns}ns", Unit.MICROSECONDS)
    assert condition.holds(ns / 1000)
    assert not condition.holds(ns / 1000 + 1)


@bounded
@given(st.integers(0, 2**20))
def test_sizes_are_bytes(mebibytes: int) -> None:
    """A size is compared in bytes."""
    assert parse_condition(f"{mebibytes}MiB", Unit.BYTES).holds(mebibytes * 2**20)


@bounded
@given(st.one_of(st.text(max_size=120), st.floats(), st.integers()), st.sampled_from(Unit))
def test_anything_is_read_or_refused(wanted: str | float, unit: Unit) -> None:
    """Nothing but `ConditionError` comes of a value, and a condition shows its text."""
    try:
        condition = parse_condition(wanted, unit)
    except ConditionError:
        return
    assert str(condition) == str(wanted).strip()
    assert condition.low <= condition.high


def test_a_literal_may_be_a_number() -> None:
    """`n_grown: 0` and `overlap: 0.5` are conditions without quotes."""
    assert parse_condition(0, Unit.COUNT).holds(0)
    assert parse_condition(0.5, Unit.RATIO).holds(0.5)
    assert not parse_condition(0.5, Unit.RATIO).holds(0.25)


@pytest.mark.parametrize(
    ("wanted", "unit", "words"),
    [
        ("450", Unit.MICROSECONDS, "450 has no unit"),
        ("64MB", Unit.BYTES, "did you mean MiB?"),
        ("3us", Unit.COUNT, "this column has no unit"),
        ("5..3", Unit.RATIO, "the smaller value comes first"),
        ("=> 3", Unit.COUNT, "write a value"),
        ("3..", Unit.COUNT, "write a value"),
        ("-3", Unit.COUNT, "write a value"),
        ("some", Unit.COUNT, "write a value"),
        ("", Unit.COUNT, "write a value"),
        ("1" * 101, Unit.COUNT, "is not a condition"),
        (True, Unit.COUNT, "is not a condition"),
        (float("nan"), Unit.RATIO, "is not a condition"),
    ],
)
def test_bad_conditions(wanted: str | float, unit: Unit, words: str) -> None:
    """A condition that cannot be read says why."""
    with pytest.raises(ConditionError, match=words.replace("?", r"\?")):
        parse_condition(wanted, unit)
