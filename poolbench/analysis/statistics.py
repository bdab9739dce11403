"""Order statistics of few, whole numbers: exact, without assumptions, without p-values.

Pure.  Times come in as integer nanoseconds and leave as microseconds.

Quartiles interpolate linearly between order statistics (Hyndman and Fan's type 7, the default of
numpy and of spreadsheets): with the sorted values `x[0..n-1]`, the quartile `q` of 4 lies at the
position `(n - 1) * q / 4`.  All of that is done on whole numbers, so that equal input gives
bit-equal output everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_REPEATS = 3
"""Fewer repetitions than this decide nothing: two values have a distance, not a noise."""

SAME_SHARE = 0.02
"""Medians closer than this share of the smaller one are the same, however quiet the runs were."""


def _quartile_ns(ordered: Sequence[int], quarter: int) -> int:
    """Four times the quartile, so that it stays a whole number."""
    whole, part = divmod((len(ordered) - 1) * quarter, 4)
    above = ordered[min(whole + 1, len(ordered) - 1)]
    return (4 - part) * ordered[whole] + part * above


def median_us(values_ns: Sequence[int]) -> float | None:
    """The median in microseconds; `None` of nothing."""
    if not values_ns:
        return None
    return _quartile_ns(sorted(values_ns), 2) / 4000


def percentile_us(values_ns: Sequence[int], percent: int) -> float | None:
    """The smallest value that is no less than `percent` of all of them (nearest rank)."""
    if not values_ns:
        return None
    rank = max(1, -(-len(values_ns) * percent // 100))
    return sorted(values_ns)[rank - 1] / 1000


def iqr_us(values_ns: Sequence[int]) -> float | None:
    """The interquartile range in microseconds; `None` for fewer than two values."""
    if len(values_ns) < 2:
        return None
    ordered = sorted(values_ns)
    return (_quartile_ns(ordered, 3) - _quartile_ns(ordered, 1)) / 4000


def min_us(values_ns: Sequence[int]) -> float | None:
    return min(values_ns) / 1000 if values_ns else None


def max_us(values_ns: Sequence[int]) -> float | None:
    return max(values_ns) / 1000 if values_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A median with what is known of its noise; `is_exact` for a deterministic simulation."""

    median: float
    iqr: float | None
    repeats: int
    is_exact: bool = False

    @property
    def is_enough(self) -> bool:
        return self.is_exact or self.repeats >= MIN_REPEATS


def band(left: Measured, right: Measured) -> float:
    """The difference of two medians below which they are not told apart.

    The larger of 2 % of the smaller median and the two interquartile ranges together: each median
    may lie anywhere in its own half, so that only a gap wider than both halves and as much again
    counts as a difference.
    """
    noise = (left.iqr or 0.0) + (right.iqr or 0.0)
    return max(SAME_SHARE * min(left.median, right.median), noise)


def are_same(left: Measured, right: Measured) -> bool:
    return abs(left.median - right.median) <= band(left, right)
