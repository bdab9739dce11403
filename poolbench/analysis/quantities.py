"""Values of columns, and the same as text: short, with their unit.

Pure.  For sentences and claims; tables have their own formats.
"""

from __future__ import annotations

from poolbench.columns import Unit
from poolbench.findings import CaseResult
from poolbench.units import SIZE_UNITS


def metric(result: CaseResult, key: str) -> float | None:
    """The number in a column, `None` where there is none."""
    if key == "release_threshold":
        return result.release_threshold
    value = getattr(result.findings, key, None)
    return value if isinstance(value, int | float) else None


def say_us(value: float) -> str:
    """`960 us`, `1.3 us`, `12.5 ms`: the unit that keeps it short."""
    if value >= 10_000:
        return f"{value / 1000:.1f} ms" if value < 100_000 else f"{value / 1000:.0f} ms"
    if value >= 1000 or value == int(value):
        return f"{value:.0f} us"
    return f"{value:.1f} us"


def say_us_span(low: float, high: float) -> str:
    """`480 us`, `4.3 to 21.6 ms`: one unit for both, one figure where they read alike."""
    first, last = say_us(low), say_us(high)
    if last.endswith("ms") and not first.endswith("ms"):
        first = f"{low / 1000:.1f} ms"
    return last if first == last else f"{first.split()[0]} to {last}"


def say_size(size: float) -> str:
    """`64MiB`, `1.5GiB`, `0B`."""
    for unit, scale in sorted(SIZE_UNITS.items(), key=lambda item: -item[1]):
        if size >= scale:
            return (
                f"{size / scale:.4g}{unit}" if size < 1000 * scale else f"{size / scale:.0f}{unit}"
            )
    return "0B"


def say(value: float, unit: Unit) -> str:
    match unit:
        case Unit.MICROSECONDS:
            return say_us(value)
        case Unit.BYTES:
            return say_size(value)
        case Unit.RATIO:
            return f"{value:.3g}"
        case Unit.COUNT | Unit.TEXT | Unit.FLAG:
            return f"{value:g}"


def say_count(number: int, one: str, many: str = "") -> str:
    """`1 wait`, `2 waits`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
