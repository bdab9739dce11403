"""What a scalar of YAML means: the core schema of YAML 1.2.

Pure.  PyYAML resolves YAML 1.1, where `on` and `no` are booleans, `1:30` is 90, `010` is 8 and
`1e6` is text.  By the core schema (YAML 1.2.2, section 10.3) they are text, text, 10 and a number.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

CORE_TAG = "tag:yaml.org,2002:"

INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
"""Whole numbers fit in 64 bits, with or without a sign."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGERS = (
    (re.compile(r"[-+]?[0-9]+", re.ASCII), 10),
    (re.compile(r"0o[0-7]+", re.ASCII), 8),
    (re.compile(r"0x[0-9a-fA-F]+", re.ASCII), 16),
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)

_MOST_DIGITS = 100
"""More is never handed to `int`, which takes quadratic time and has a limit of its own."""


class ScalarError(ValueError):
    """A scalar that has no value here; `code` is the problem code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def plain_scalar(text: str) -> Scalar:
    """The value of a scalar without quotes.  Raises `ScalarError`."""
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(text):
            return _integer(text if base == 10 else text[2:], base)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
        raise ScalarError("this number is too large", "bad-number")
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is no number that a scenario can use", "bad-number")
    return text


def _integer(digits: str, base: int) -> int:
    value = int(digits, base) if len(digits) <= _MOST_DIGITS else INTEGER_MAX + 1
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        raise ScalarError("this whole number does not fit in 64 bits", "bad-number")
    return value


def tagged_scalar(text: str, tag: str, *, is_plain: bool) -> Scalar:
    """The value of a scalar with a tag: `!!str 5` is text.  Raises `ScalarError`."""
    name = tag.removeprefix(CORE_TAG)
    if tag == "!" or (name == "str" and name != tag):
        return text
    if name == tag or name not in ("null", "bool", "int", "float"):
        raise ScalarError(f"the tag {name[:40]!r} has no meaning here", "bad-tag")
    value = plain_scalar(text) if is_plain else text
    is_fitting = {
        "null": value is None,
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
    }[name]
    if not is_fitting:
        raise ScalarError(f"this is no value of the tag !!{name}", "bad-tag")
    return float(value) if name == "float" and isinstance(value, int) else value
