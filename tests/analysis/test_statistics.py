"""Medians and ranges of few numbers, by hand and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from poolbench.analysis.statistics import (
    Measured,
    are_same,
    band,
    iqr_us,
    max_us,
    median_us,
    min_us,
)


def test_nothing_has_no_median() -> None:
    """Of no value there is no figure, and of one there is no spread."""
    assert median_us([]) is None
    assert min_us([]) is None
    assert max_us([]) is None
    assert iqr_us([1000]) is None


def test_medians_and_quartiles_by_hand() -> None:
    """Quartiles interpolate between the order statistics at (n - 1) q / 4."""
    assert median_us([3000, 1000, 2000]) == 2.0
    assert median_us([1000, 2000]) == 1.5
    assert iqr_us([1000, 2000, 3000, 4000]) == 1.5
    assert iqr_us([1000, 2000, 3000, 4000, 5000]) == 2.0
    assert iqr_us([7000, 7000]) == 0.0


@given(some.lists(some.integers(0, 10**12), min_size=2, max_size=40))
def test_they_agree_with_numpy(values: list[int]) -> None:
    """The exact figures are those of numpy's default method."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    assert median_us(values) == pytest.approx(middle / 1000, rel=1e-9, abs=1e-6)
    assert iqr_us(values) == pytest.approx((high - low) / 1000, rel=1e-6, abs=1e-3)


def test_the_band_is_two_percent_or_the_noise() -> None:
    """Medians are the same within the larger of 2 % and both interquartile ranges."""
    quiet = Measured(median=100.0, iqr=0.5, repeats=5)
    loud = Measured(median=110.0, iqr=12.0, repeats=5)
    assert band(quiet, quiet) == 2.0
    assert band(quiet, loud) == 12.5
    assert are_same(quiet, loud)
    assert not are_same(quiet, Measured(median=110.0, iqr=0.5, repeats=5))


def test_two_repetitions_decide_nothing_unless_exact() -> None:
    """A simulation needs no repetition, a measurement three."""
    assert not Measured(median=1.0, iqr=0.0, repeats=2).is_enough
    assert Measured(median=1.0, iqr=0.0, repeats=3).is_enough
    assert Measured(median=1.0, iqr=None, repeats=1, is_exact=True).is_enough
