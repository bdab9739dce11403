"""Text to numbers with units, and back.

Pure.  Sizes are bytes, durations integer nanoseconds.  A unit is never guessed: only `0` may go
without one.
"""

from __future__ import annotations

import re
from decimal import Decimal

SIZE_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
DURATION_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

SIZE_LIMIT = 2**50
DURATION_LIMIT_NS = 3600 * 10**9

_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-zµμ]*)\s*", re.ASCII)

_IN_WORDS = {
    "µ": "us", "μ": "us", "usec": "us", "microsecond": "us", "nsec": "ns", "nanosecond": "ns",
    "msec": "ms", "millisecond": "ms", "sec": "s", "second": "s", "byte": "B",
}  # fmt: skip
"""How a unit may be written elsewhere, less a plural's s -> the unit."""


class UnitError(ValueError):
    """A quantity that cannot be read; `code` is the problem code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def _parse(text: str, units: dict[str, int], what: str, example: str) -> Decimal:
    match = _QUANTITY.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise UnitError(f"{text[:60]!r} is not a {what}; write it like {example}", f"bad-{what}")
    number, unit = Decimal(match[1].replace("_", "")), match[2]
    if not unit:
        if number == 0:
            return number
        raise UnitError(
            f"{text} has no unit; a {what} needs one of {', '.join(units)}", "unit-missing"
        )
    if unit not in units:
        near = _nearest(unit, units, what)
        ask = f"; did you mean {near}?" if near in units else f"; known: {', '.join(units)}"
        raise UnitError(f"unknown unit {unit[:20]!r} of a {what}{ask}", "unknown-unit")
    return number * units[unit]


def _nearest(unit: str, units: dict[str, int], what: str) -> str:
    for known in units:
        if known.lower() == unit.lower():
            return known
    if what == "size" and unit[0].upper() in "KMGT":
        return unit[0].upper() + "iB"
    return _IN_WORDS.get(unit.lower().removesuffix("s"), "")


def parse_size(text: str) -> int:
    """Bytes of `64MiB`, `1.5GiB`, `10B`, `0`.  Raises `UnitError`."""
    exact = _parse(text, SIZE_UNITS, "size", "64MiB")
    if exact != exact.to_integral_value():
        raise UnitError(f"{text} is not a whole number of bytes", "bad-size")
    if exact > SIZE_LIMIT:
        raise UnitError(f"{text} is more than 1024 TiB", "bad-size")
    return int(exact)


def parse_duration(text: str) -> int:
    """Nanoseconds of `500us`, `1.5ms`, `0`.  Raises `UnitError`."""
    exact = _parse(text, DURATION_UNITS, "duration", "500us")
    if exact != exact.to_integral_value():
        raise UnitError(f"{text} is not a whole number of nanoseconds", "bad-duration")
    if exact > DURATION_LIMIT_NS:
        raise UnitError(f"{text} is longer than an hour", "bad-duration")
    return int(exact)


def _exact(value: int, units: dict[str, int]) -> str | None:
    for unit, scale in sorted(units.items(), key=lambda item: -item[1]):
        if value and value % scale == 0:
            return f"{value // scale}{unit}"
    return None


def format_size(size: int) -> str:
    """The shortest exact spelling that `parse_size` reads back (`64MiB`)."""
    return _exact(size, SIZE_UNITS) or "0"


def format_duration(ns: int) -> str:
    """The shortest exact spelling that `parse_duration` reads back (`500us`)."""
    return _exact(ns, DURATION_UNITS) or "0"
