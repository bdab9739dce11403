"""Intervals of ratios: what they cover, when there is none, what planted effects give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poolbench.analysis.paired import (
    ERROR_RATE,
    blocks_to_decide,
    contrast,
    least_blocks,
    median_interval,
    n_effective,
    paired_ratio,
    unpaired_ratio,
)


def noisy(rng: np.random.Generator, n: int, median: float, share: float) -> list[float]:
    return [median * math.exp(share * float(rng.standard_normal())) for _ in range(n)]


def test_the_median_of_the_ratios_and_its_order_statistics() -> None:
    """Ten blocks at the level of one comparison: from the second smallest to the second largest
    (the chance that the median lies outside is 22 in 1024)."""
    first = [100.0] * 10
    second = [101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 108.0, 109.0, 110.0]
    found = paired_ratio(first, second[::2] + second[1::2], n_compared=1)
    assert found is not None
    assert found.ratio == pytest.approx(math.sqrt(1.05 * 1.06))
    assert found.low == pytest.approx(1.02)
    assert found.high == pytest.approx(1.09)
    assert found.level == 1 - ERROR_RATE


@pytest.mark.parametrize(("n_compared", "n"), [(1, 6), (2, 7), (9, 9), (18, 10)])
def test_too_few_blocks_have_no_interval(n_compared: int, n: int) -> None:
    """More rows compared need more blocks; one block less says nothing."""
    assert least_blocks(n_compared) == n
    blocks = [1.0, 2.0] * n
    for size, has in ((n - 1, False), (n, True)):
        found = paired_ratio(blocks[:size], blocks[:size], n_compared=n_compared)
        assert found is not None
        assert (found.low is not None) is has


def test_blocks_without_a_value_do_not_count() -> None:
    first, second = [1.0, None, 2.0, 4.0], [2.0, 9.0, None, 8.0]
    found = paired_ratio(first, second, n_compared=1)
    assert found is not None
    assert (found.n, found.ratio) == (2, pytest.approx(2.0))
    assert paired_ratio([None], [1.0], n_compared=1) is None
    assert contrast([], n_compared=1) is None


def test_pairing_takes_out_what_drifts() -> None:
    """A machine that slows down by half in the course of a run: the ratio does not notice."""
    rng = np.random.default_rng(1)
    drift = np.linspace(1.0, 1.5, 12)
    first = [100 * d * math.exp(0.002 * rng.standard_normal()) for d in drift]
    second = [103 * d * math.exp(0.002 * rng.standard_normal()) for d in drift]
    found = paired_ratio(first, second, n_compared=9)
    assert found is not None
    assert found.low is not None
    assert found.low > 1.02
    assert found.ratio == pytest.approx(1.03, abs=0.004)


def test_blocks_that_resemble_each_other_are_worth_less() -> None:
    """First-order autoregression with 0.8: a ninth of them; independent ones: all of them."""
    rng = np.random.default_rng(2)
    values = [0.0]
    for _ in range(999):
        values.append(0.8 * values[-1] + float(rng.standard_normal()))
    assert n_effective(np.array(values)) == pytest.approx(1000 / 9, rel=0.3)
    worths = [n_effective(rng.standard_normal(12)) for _ in range(200)]
    assert sum(worth == 12 for worth in worths) > 180


@pytest.mark.parametrize("n", [9, 12, 20])
def test_intervals_cover_at_their_level(n: int) -> None:
    """Skewed noise, nine comparisons: of 400 tables fewer than 5 % miss in any row."""
    rng = np.random.default_rng(3)
    n_missed = 0
    for _ in range(400):
        base = [math.exp(0.05 * float(rng.exponential())) for _ in range(n)]
        is_missed = False
        for _ in range(9):
            row = [math.exp(0.05 * float(rng.exponential())) for _ in range(n)]
            found = paired_ratio(base, row, n_compared=9)
            assert found is not None
            if found.low is not None and found.high is not None:
                is_missed |= not found.low <= 1.0 <= found.high
        n_missed += is_missed
    assert n_missed <= 0.05 * 400 + 2 * math.sqrt(400 * 0.05 * 0.95)


def test_the_number_of_blocks_that_would_decide() -> None:
    """An interval twice as wide as the effect needs four times the blocks; too few need the rest;
    on the edge nothing can be said."""
    first = [1.0] * 16
    wide = [1.02 * math.exp(x) for x in np.linspace(-0.08, 0.08, 16)]
    np.random.default_rng(4).shuffle(wide)
    found = paired_ratio(first, wide, n_compared=1)
    assert found is not None
    more = blocks_to_decide(found, band=0.0)
    assert more is not None
    assert found.high is not None
    assert found.low is not None
    width = math.log(found.high / found.low) / 2
    assert more == math.ceil(found.n * ((width / math.log(found.ratio)) ** 2 - 1))
    few = paired_ratio([1.0] * 3, [1.0, 2.0, 3.0], n_compared=9)
    assert few is not None
    assert blocks_to_decide(few, band=0.02) == 6


def test_median_interval_is_the_bootstraps() -> None:
    """Of a hundred normal values about 1.25 standard errors each way, twice; of two none."""
    values = list(np.random.default_rng(5).normal(100, 1, 100))
    bounds = median_interval(values)
    assert bounds is not None
    assert bounds[0] < 100.1
    assert bounds[1] > 99.9
    assert 0.3 < bounds[1] - bounds[0] < 0.8
    assert median_interval(values) == bounds
    assert median_interval([1.0, None, 2.0]) is None


def test_two_runs_have_no_pairs() -> None:
    """The same medians, the order does not matter; few blocks have no interval."""
    rng = np.random.default_rng(6)
    first, second = noisy(rng, 12, 100, 0.01), noisy(rng, 12, 110, 0.01)
    found = unpaired_ratio(first, second, n_compared=4)
    again = unpaired_ratio(first[::-1], second, n_compared=4)
    assert found is not None
    assert again is not None
    assert found.ratio == again.ratio == pytest.approx(1.1, rel=0.02)
    assert found.low is not None
    assert found.high is not None
    assert 1.07 < found.low < found.ratio < found.high < 1.13
    few = unpaired_ratio(first[:5], second, n_compared=4)
    assert few is not None
    assert few.low is None
    assert unpaired_ratio([None], second, n_compared=1) is None
