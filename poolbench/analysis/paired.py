"""Ratios between two rows from blocks that are paired in time, with intervals that are exact.

Pure; deterministic.  A block holds every row once, so that what drifts over minutes falls on both
sides of a ratio alike.  The estimate is the median of the ratios block by block.  Its interval is
the one between two order statistics (Hahn and Meeker, *Statistical Intervals*, ch. 5): it holds
whatever the distribution, and it says when there are too few blocks for the level that is asked
for.  The level of one comparison is `1 - ERROR_RATE / m` where `m` rows are compared (Bonferroni).

Successive blocks may resemble each other.  Where their correlation is more than chance would make
it, `n` blocks are worth `n_effective` independent ones only, and the interval is that of so many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ERROR_RATE = 0.05
"""Of a whole table: how often at least one row may be called other than it is."""

_CHANCE = 1.645
"""A correlation of `n` independent values exceeds `_CHANCE / sqrt(n)` in one case of twenty."""

_RESAMPLES = 2000
Sample = float | None
"""One block's value; `None` where the row has none in that block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`low` and `high` are `None` where there are too few blocks for the level.

    n, n_effective
        paired blocks, and what they are worth.
    level
        of the interval: one minus the rate of errors of this comparison.
    """

    ratio: float
    low: float | None
    high: float | None
    n: int
    n_effective: float
    level: float

    @property
    def half_width(self) -> float | None:
        """Of the interval, relative to the ratio."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / self.ratio


def least_blocks(n_compared: int) -> int:
    """So many independent blocks have an interval at the level of `n_compared` comparisons."""
    return math.ceil(math.log2(2 * max(1, n_compared) / ERROR_RATE))


def paired_ratio(
    first: Sequence[Sample], second: Sequence[Sample], *, n_compared: int
) -> Estimate | None:
    """`second` over `first`, block by block; `None` without a block that has both."""
    pairs = [
        (one, two) for one, two in zip(first, second, strict=False) if one and two and one > 0 < two
    ]
    if not pairs:
        return None
    logs = np.array([math.log(two / one) for one, two in pairs])
    return _estimate(logs, level=1 - ERROR_RATE / max(1, n_compared))


def contrast(logs: Sequence[float], *, n_compared: int) -> Estimate | None:
    """The same for values that are logarithms of ratios already, one for each block."""
    if not logs:
        return None
    return _estimate(np.array(logs), level=1 - ERROR_RATE / max(1, n_compared))


def _estimate(logs: npt.NDArray[np.float64], *, level: float) -> Estimate:
    worth = n_effective(logs)
    bounds = _bounds(len(logs), worth, level)
    ordered = np.sort(logs)
    low = high = None
    if bounds is not None:
        low, high = math.exp(ordered[bounds[0]]), math.exp(ordered[bounds[1]])
    return Estimate(
        ratio=math.exp(float(np.median(ordered))),
        low=low,
        high=high,
        n=len(logs),
        n_effective=worth,
        level=level,
    )


def n_effective(values: npt.NDArray[np.float64]) -> float:
    """`n (1 - r) / (1 + r)` for a correlation `r` of neighbours that is more than chance, else `n`
    (first-order autoregression)."""
    n = len(values)
    centred = values - values.mean() if n else values
    square = float(centred @ centred)
    if n < 4 or square == 0:
        return float(n)
    correlation = float(centred[1:] @ centred[:-1]) / square
    if correlation <= _CHANCE / math.sqrt(n):
        return float(n)
    return n * (1 - correlation) / (1 + correlation)


def _bounds(n: int, worth: float, level: float) -> tuple[int, int] | None:
    """Indices of the order statistics between which the median lies at `level`; `None` where not
    even the smallest and the largest do."""
    n_worth = math.floor(worth)
    outside = _outside(n_worth, level)
    if outside < 0:
        return None
    # As far in from the ends, in proportion, as with so many independent values.
    index = math.floor((outside + 1) / (n_worth + 1) * (n + 1)) - 1
    index = max(0, min(index, (n - 1) // 2))
    return index, n - 1 - index


def _outside(n: int, level: float) -> int:
    """How many order statistics may be left out at each end; -1: none reaches the level."""
    left, tail, found = 1 - level, 0.0, -1
    for k in range(n // 2 + 1):
        tail += math.comb(n, k) * 0.5**n
        if 2 * tail > left:
            break
        found = k
    return found


def blocks_to_decide(found: Estimate, *, band: float) -> int | None:
    """How many more blocks like these would make a verdict likely: the interval narrows with the
    square root of their number.  `None` where the estimate lies on the edge of what would be called
    the same, so that no number can be named."""
    needed = math.ceil(math.log2(2 / (1 - found.level)) - 1e-9)
    if found.low is None or found.high is None:
        return max(1, math.ceil((needed - found.n_effective) * found.n / found.n_effective))
    width = math.log(found.high / found.low) / 2
    distance = abs(math.log(found.ratio))
    room = max(distance, math.log1p(band) - distance)
    if room <= 0.001:
        return None
    return max(1, math.ceil(found.n * ((width / room) ** 2 - 1)))


def median_interval(values: Sequence[Sample], *, seed: int = 0) -> tuple[float, float] | None:
    """Bootstrap interval (percentiles, 95 %) of the median; `None` for fewer than three values.

    For showing how sure a figure is; verdicts go by `paired_ratio`.
    """
    known = np.array([value for value in values if value is not None])
    if len(known) < 3:
        return None
    drawn = np.random.default_rng(seed).choice(known, size=(_RESAMPLES, len(known)))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return float(low), float(high)


def unpaired_ratio(
    first: Sequence[Sample], second: Sequence[Sample], *, n_compared: int, seed: int = 0
) -> Estimate | None:
    """`second` over `first` for blocks of two runs, which nothing pairs: a bootstrap of both
    medians.  Without an interval below as many blocks as a paired one would need."""
    one = np.array([value for value in first if value])
    two = np.array([value for value in second if value])
    if not len(one) or not len(two):
        return None
    level = 1 - ERROR_RATE / max(1, n_compared)
    ratio = float(np.median(two) / np.median(one))
    worth = min(n_effective(one), n_effective(two))
    low = high = None
    if worth >= least_blocks(n_compared):
        dice = np.random.default_rng(seed)
        tops = np.median(dice.choice(two, size=(_RESAMPLES, len(two))), axis=1)
        bottoms = np.median(dice.choice(one, size=(_RESAMPLES, len(one))), axis=1)
        edges = [50 * (1 - level), 100 - 50 * (1 - level)]
        bounds = np.percentile(np.log(tops / bottoms) - math.log(ratio), edges)
        wider = math.sqrt(min(len(one), len(two)) / worth)
        low, high = (ratio * math.exp(float(edge) * wider) for edge in bounds)
    n = min(len(one), len(two))
    return Estimate(ratio=ratio, low=low, high=high, n=n, n_effective=worth, level=level)
