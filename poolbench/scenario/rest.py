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
    paths = {_to_a_key(path) for path in wrong}
    return {} if () in paths else _less(head, paths)


def _to_a_key(path: Path) -> Path:
    """Up to the innermost key: less items of lists, but for an expectation."""
    while len(path) > 2 and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _less(value: Any, paths: Iterable[Path]) -> Any:
    inside: dict[str | int, set[Path]] = {}
    for path in paths:
        inside.setdefault(path[0], set()).add(path[1:])
    if isinstance(value, list):
        return [
            _entry(item, inside[index]) if index in inside else item
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    return {
        key: _less(item, inside[key]) if key in inside else item
        for key, item in value.items()
        if () not in inside.get(key, ())
    }


def _entry(value: Any, paths: set[Path]) -> Any:
    """An expectation, which said something even if that was wrong."""
    if () in paths:
        return _HARMLESS
    left = _less(value, paths)
    return {**_HARMLESS, **left} if isinstance(left, dict) else left
