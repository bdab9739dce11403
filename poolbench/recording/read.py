"""The files of a recording, read; rows by what they are.

Pure but for `read`.  A program that was killed leaves its last row half written: it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poolbench.recording import raw
from poolbench.recording.raw import WIDTH, What

Rows = npt.NDArray[np.int64]
"""Of shape (n, WIDTH)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """`rows` in the order in which they were taken down, which is that of nothing in particular.

    about
        what the recorder said at the end; empty for a program that did not get that far.
    n_others
        Python processes of the program that were not recorded.
    """

    rows: Rows
    texts: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    n_others: int = 0

    def of(self, first: What, last: What | None = None) -> Rows:
        """The rows whose kind is between these two."""
        what = self.rows[:, 0]
        return self.rows[(what >= first) & (what <= (first if last is None else last))]

    def text(self, number: int) -> str:
        return self.texts[number] if 0 <= number < len(self.texts) else ""


def cells(names: Sequence[str]) -> dict[str, int]:
    """Name of a column -> its number."""
    return {name: index for index, name in enumerate(names)}


def read(folder: Path) -> Recording:
    """Raises `OSError`."""
    path = folder / raw.ROWS
    numbers = np.fromfile(path, dtype="<i8") if path.is_file() else np.zeros(0, dtype="<i8")
    n_rows = len(numbers) // WIDTH
    return Recording(
        rows=numbers[: n_rows * WIDTH].reshape(n_rows, WIDTH).astype(np.int64, copy=False),
        texts=_texts(folder / raw.TEXTS),
        about=_mapping(folder / raw.ABOUT),
        n_others=len(_lines(folder / raw.OTHERS)),
    )


def refusal(folder: Path) -> Mapping[str, Any] | None:
    """Why the recorder could not start, if it could not."""
    return _mapping(folder / raw.FAILED) or None


def has_started(folder: Path) -> bool:
    return (folder / raw.STARTED).exists()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _texts(path: Path) -> tuple[str, ...]:
    found = []
    for line in _lines(path):
        try:
            found.append(str(json.loads(line)))
        except ValueError:  # cut off
            break
    return tuple(found)


def _mapping(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
