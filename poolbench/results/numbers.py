"""Numbers as a table shows them: one unit and one number of decimals for a whole column.

Pure.  Times come in as microseconds, sizes as bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from poolbench.domain import THRESHOLD_MAX
from poolbench.units import format_size

ABSENT = "–"
"""What stands where there is no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How a column writes its numbers: `value / divisor` with so many decimals."""

    unit: str
    divisor: float
    n_decimals: int

    def text(self, value: float | None) -> str:
        """Exactly zero is `0`: nothing at all looks different from very little."""
        if value is None:
            return ABSENT
        return "0" if value == 0 else f"{value / self.divisor:.{self.n_decimals}f}"


def _n_decimals(values: list[float], *, at_most: int) -> int:
    """Three significant digits for the smallest value, but no more than six for the largest."""
    if not values:
        return 0
    wanted = 2 - math.floor(math.log10(min(values)))
    room = 5 - math.floor(math.log10(max(values)))
    return max(0, min(wanted, room, at_most))


def _nonzero(values: Iterable[float | None]) -> list[float]:
    return [abs(value) for value in values if value]


def time_scale(values_us: Iterable[float | None]) -> Scale:
    """Microseconds; milliseconds from 10 ms on, seconds from 10 s on."""
    values = _nonzero(values_us)
    largest = max(values, default=0.0)
    unit, divisor = "us", 1.0
    if largest >= 1e7:
        unit, divisor = "s", 1e6
    elif largest >= 1e4:
        unit, divisor = "ms", 1e3
    scaled = [value / divisor for value in values]
    n_decimals = _n_decimals(scaled, at_most=1 if unit == "us" else 3)
    return Scale(unit=unit, divisor=divisor, n_decimals=n_decimals)


def size_scale(sizes: Iterable[float | None]) -> Scale:
    """MiB; GiB where every size has several of them, KiB or B where all are small."""
    values = _nonzero(sizes)
    unit, divisor = "MiB", 2.0**20
    if values and max(values) < 2**10:
        unit, divisor = "B", 1.0
    elif values and max(values) < 2**20:
        unit, divisor = "KiB", 2.0**10
    elif values and min(values) >= 10 * 2**30:
        unit, divisor = "GiB", 2.0**30
    scaled = [value / divisor for value in values]
    is_whole = all(value == int(value) for value in scaled)
    n_decimals = 0 if is_whole else _n_decimals(scaled, at_most=2)
    return Scale(unit=unit, divisor=divisor, n_decimals=n_decimals)


def ratio_scale(values: Iterable[float | None]) -> Scale:
    """Two decimals, fewer where the largest is 100 or more."""
    largest = max(_nonzero(values), default=0.0)
    n_decimals = 2 if largest < 100 else 1 if largest < 1000 else 0
    return Scale(unit="", divisor=1.0, n_decimals=n_decimals)


def count_scale() -> Scale:
    return Scale(unit="", divisor=1.0, n_decimals=0)


def threshold_text(threshold: int | None) -> str:
    """A release threshold as a scenario would write it."""
    if threshold is None:
        return ABSENT
    return "max" if threshold == THRESHOLD_MAX else format_size(threshold)
