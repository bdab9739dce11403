"""What is left of a head without its faulty parts, so that the faults of the rest are found too.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from poolbench.scenario.scenario import Path

_HARMLESS = {"status": "ok"}
"""Stands for an expectation that is no mapping at all."""


def without(head: Mapping[str, Any], wrong: Iterable[Path]) -> Mapping[str, Any]:
    """A copy less what is at `wrong`; every index stays that of the file."""
    left: Any = head
    for path in wrong:
        left = _less(left, _to_a_key(path)) if path else {}
    return {key: value for key, value in left.items() if value is not None}


def _to_a_key(path: Path) -> Path:
    """Up to the innermost key: less items of lists, but for an expectation."""
    while len(path) > 2 and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _less(value: Any, path: Path) -> Any:
    first, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(first, int):
        if not rest:
            return [_HARMLESS if index == first else item for index, item in enumerate(value)]
        changed = _less(value[first], rest)
        if len(rest) == 1:  # it said something, even if it was wrong
            changed = {**_HARMLESS, **changed}
        return [changed if index == first else item for index, item in enumerate(value)]
    if not isinstance(value, dict) or first not in value:
        return value  # a fault further out has taken it away
    if not rest:
        return {key: item for key, item in value.items() if key != first}
    return {key: _less(item, rest) if key == first else item for key, item in value.items()}
