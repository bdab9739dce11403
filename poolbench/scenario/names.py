"""Names that YAML takes for numbers, as the file writes them: `stream: 010` is the stream `010`.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poolbench.scenario.scenario import Path

_NAME_KEYS = frozenset(
    ("alloc", "free", "kernel", "memset", "record", "wait", "hold", "release", "sample", "fill",
     "check", "create", "destroy", "graph", "stream", "event", "dst", "src", "label")
)  # fmt: skip
_NAMES_KEYS = ("reads", "writes")


def names_as_written(step: Mapping[str, Any], path: Path, written: Mapping[Path, str]) -> Any:
    """A step whose names are texts."""
    named = {
        key: written.get((*path, key), value) if key in _NAME_KEYS else value
        for key, value in step.items()
    }
    for key in _NAMES_KEYS:
        if isinstance(named.get(key), list):
            named[key] = [
                written.get((*path, key, index), name) for index, name in enumerate(named[key])
            ]
    return named


def rows_as_written(value: Any, path: Path, written: Mapping[Path, str]) -> Any:
    """Expectations in which the `row` of each `where` and `over` is text: `000` is not 0."""
    if isinstance(value, list):
        return [rows_as_written(item, (*path, index), written) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return written.get(path, value) if "row" in path[-2:] else value
    return {key: rows_as_written(item, (*path, key), written) for key, item in value.items()}


def names_of(head: Mapping[str, Any], section: str) -> frozenset[str]:
    """The names that a section of the head declares, whatever is wrong with the entries."""
    entries = head.get(section)
    return frozenset(entries) if isinstance(entries, dict) else frozenset()
