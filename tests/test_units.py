"""Quantities with units: what is read, what is written back, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.units import (
    DURATION_LIMIT_NS,
    DURATION_UNITS,
    SIZE_LIMIT,
    SIZE_UNITS,
    UnitError,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)

bounded = settings(derandomize=True, database=None, deadline=None)


@bounded
@given(st.integers(0, SIZE_LIMIT))
def test_sizes_come_back(size: int) -> None:
    """Every size is read back from its spelling."""
    assert parse_size(format_size(size)) == size


@bounded
@given(st.integers(0, DURATION_LIMIT_NS))
def test_durations_come_back(ns: int) -> None:
    """Every duration is read back from its spelling."""
    assert parse_duration(format_duration(ns)) == ns


@bounded
@given(st.integers(0, 2**20), st.sampled_from(sorted(SIZE_UNITS)))
def test_units_of_sizes_are_binary(number: int, unit: str) -> None:
    """A size is its number times a power of 1024."""
    if number * SIZE_UNITS[unit] <= SIZE_LIMIT:
        assert parse_size(f"{number}{unit}") == number * SIZE_UNITS[unit]
        assert parse_size(f" {number:_} {unit} ") == number * SIZE_UNITS[unit]


@bounded
@given(st.integers(0, 3600), st.integers(0, 999), st.sampled_from(["us", "ms"]))
def test_fractions_of_durations_are_exact(whole: int, thousandths: int, unit: str) -> None:
    """A decimal fraction is exact, not the nearest binary one."""
    wanted = whole * DURATION_UNITS[unit] + thousandths * DURATION_UNITS[unit] // 1000
    assert parse_duration(f"{whole}.{thousandths:03}{unit}") == wanted


@bounded
@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but `UnitError` comes of a text."""
    for parse in (parse_size, parse_duration):
        try:
            read = parse(text)
        except UnitError:
            continue
        assert read >= 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("0.0", 0), ("00", 0), ("1B", 1), ("1.5GiB", 3 * 2**29), ("1024TiB", 2**50)],
)
def test_sizes(text: str, size: int) -> None:
    """Only 0 goes without a unit; the largest size is 1024 TiB."""
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("64", "unit-missing", "needs one of B, KiB, MiB, GiB, TiB"),
        ("64MB", "unknown-unit", "did you mean MiB?"),
        ("64m", "unknown-unit", "did you mean MiB?"),
        ("64mib", "unknown-unit", "did you mean MiB?"),
        ("64bytes", "unknown-unit", "did you mean B?"),
        ("64us", "unknown-unit", "known: B, KiB"),
        ("1.5B", "bad-size", "whole number of bytes"),
        ("1025TiB", "bad-size", "more than 1024 TiB"),
        ("-1MiB", "bad-size", "write it like 64MiB"),
        ("", "bad-size", "write it like 64MiB"),
        ("1" * 70 + "B", "bad-size", "write it like 64MiB"),
        ("１MiB", "bad-size", "write it like 64MiB"),
    ],
)
def test_bad_sizes(text: str, code: str, words: str) -> None:
    """A size that cannot be read says why, and names the nearest unit."""
    with pytest.raises(UnitError) as caught:
        parse_size(text)
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("5", "unit-missing", "needs one of ns, us, ms, s"),
        ("5µs", "unknown-unit", "did you mean us?"),
        ("5\u03bcs", "unknown-unit", "did you mean us?"),
        ("5 milliseconds", "unknown-unit", "did you mean ms?"),
        ("5sec", "unknown-unit", "did you mean s?"),
        ("5S", "unknown-unit", "did you mean s?"),
        ("5min", "unknown-unit", "known: ns, us, ms, s"),
        ("5MiB", "unknown-unit", "known: ns, us, ms, s"),
        ("0.5ns", "bad-duration", "whole number of nanoseconds"),
        ("3601s", "bad-duration", "longer than an hour"),
        ("1:30", "bad-duration", "write it like 500us"),
    ],
)
def test_bad_durations(text: str, code: str, words: str) -> None:
    """A duration that cannot be read says why, and names the nearest unit."""
    with pytest.raises(UnitError) as caught:
        parse_duration(text)
    assert caught.value.code == code
    assert words in str(caught.value)
