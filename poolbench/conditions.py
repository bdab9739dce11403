"""Conditions of expectations: `3`, `>= 450us`, `< 3`, `0.9..1.1`, `450us..515us`.

Pure.  A quantity may carry a unit, which is converted to the column's: microseconds for times,
bytes for sizes.  Only 0 may go without one there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from poolbench.columns import Unit
from poolbench.units import UnitError, parse_duration, parse_size

_NUMBER = r"[0-9][0-9_]*(?:\.[0-9]+)?\s*[A-Za-z]*"
_BOUND = re.compile(rf"\s*(>=|<=|==|>|<)?\s*({_NUMBER})\s*", re.ASCII)
_RANGE = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*", re.ASCII)


class ConditionError(ValueError):
    """A condition that cannot be read; the message is in plain words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """An interval of allowed values in the column's unit; `text` is the condition as written."""

    low: float
    high: float
    low_open: bool
    high_open: bool
    text: str

    def holds(self, value: float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        return self.text


def _quantity(text: str, unit: Unit) -> float:
    text = text.strip()
    try:
        if unit is Unit.MICROSECONDS:
            return parse_duration(text) / 1000
        if unit is Unit.BYTES:
            return float(parse_size(text))
        return float(text.replace("_", ""))
    except UnitError as fault:
        raise ConditionError(str(fault)) from None
    except ValueError:
        raise ConditionError(f"{text!r} is not a plain number; this column has no unit") from None


def parse_condition(wanted: str | float, unit: Unit) -> Condition:
    """Raises `ConditionError`."""
    text = str(wanted).strip()
    if len(text) > 100 or isinstance(wanted, bool):
        raise ConditionError(f"{text[:40]!r} is not a condition")
    between = _RANGE.fullmatch(text)
    if between is not None:
        low, high = (_quantity(part, unit) for part in between.groups())
        if low > high:
            raise ConditionError(f"{text}: the smaller value comes first")
        return Condition(low=low, high=high, low_open=False, high_open=False, text=text)
    bound = _BOUND.fullmatch(text)
    if bound is None:
        raise ConditionError(
            f"{text[:40]!r} is not a condition; write a value, '>= 5', '< 3' or '0.9..1.1'"
        )
    value = _quantity(bound[2], unit)
    match bound[1]:
        case ">=" | ">":
            low, high = value, math.inf
        case "<=" | "<":
            low, high = -math.inf, value
        case _:
            low = high = value
    return Condition(
        low=low, high=high, low_open=bound[1] == ">", high_open=bound[1] == "<", text=text
    )
