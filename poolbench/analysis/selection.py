"""Which cases of a run a `where` or an `over` picks.

Pure.  Values are compared as they are written (`64MiB` is not `65536KiB`), lists mean "one of".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from poolbench.domain import (
    COMBINATIONS,
    PRESETS,
    AttributeSet,
    BackendKind,
    Baseline,
    Case,
    Row,
    row_name,
)
from poolbench.findings import CaseResult
from poolbench.plan.names import text_of
from poolbench.plan.settings import read_setting
from poolbench.scenario.fieldtypes import Scalar, read_threshold
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.schema import AXIS_SETTINGS

Where = Mapping[str, Scalar | tuple[Scalar, ...]]

ATTRIBUTES = (
    "follow_event_dependencies",
    "allow_opportunistic",
    "allow_internal_dependencies",
)
ALL_ROWS: tuple[Row, ...] = (*COMBINATIONS, *PRESETS, *Baseline)

_OF_A_ROW = ("row", "release_threshold", *ATTRIBUTES)


class Why(Enum):
    """Why a `where` picks no case."""

    NOT_RUN = auto()
    """The rows, axis values or backend that it is about were left out of this run."""
    NOTHING = auto()
    """There is nothing that it could ever pick."""


def texts(value: Scalar | Sequence[Scalar]) -> tuple[str, ...]:
    if isinstance(value, str | int | float):
        return (text_of(value),)
    return tuple(text_of(item) for item in value)


def describe(where: Where) -> str:
    """`pool.max_size 64MiB, allow_opportunistic true or false`; empty for an empty `where`."""
    return ", ".join(f"{key} {' or '.join(texts(value))}" for key, value in where.items())


def _threshold_is(wanted: tuple[str, ...], threshold: int | None) -> bool:
    return threshold is not None and any(read_threshold(text) == threshold for text in wanted)


def row_matches(where: Where, row: Row, threshold: int | None) -> bool:
    """A baseline matches only where `row` names it: elsewhere a `where` is about pools.

    `threshold` is the one in force; `None` where it is not known.
    """
    if "row" in where:
        if row_name(row) not in texts(where["row"]):
            return False
    elif isinstance(row, Baseline):
        return False
    for key in ATTRIBUTES:
        if key in where:
            if not isinstance(row, AttributeSet):
                return False
            if text_of(getattr(row, key)) not in texts(where[key]):
                return False
    if "release_threshold" in where:
        return _threshold_is(texts(where["release_threshold"]), threshold)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """The cases of one run, ready to be picked from.

    `backend` is `None` where no run left a trace that says who made it.
    """

    scenario: Scenario
    results: tuple[CaseResult, ...]
    backend: BackendKind | None

    def pick(self, where: Where) -> tuple[int, ...]:
        """Indices of the cases that `where` picks."""
        return tuple(
            index for index, result in enumerate(self.results) if self._picks(where, result)
        )

    def pick_others(self, over: Where, own: CaseResult) -> tuple[int, ...]:
        """Indices of the cases that `over` picks for `own`: equal in all that it does not name."""
        return tuple(
            index
            for index, result in enumerate(self.results)
            if result is not own and self._is_other(over, own, result)
        )

    def why_none(self, where: Where) -> Why:
        """Why a `where` (or an `over`) that picked nothing picked nothing."""
        if "backend" in where and self.backend is not None:
            known = set(texts(where["backend"])) & set(BackendKind)
            if known and self.backend not in known:
                return Why.NOT_RUN
        about_row = {key: where[key] for key in ("row", *ATTRIBUTES) if key in where}
        if not any(row_matches(about_row, row, None) for row in ALL_ROWS):
            return Why.NOTHING
        if not any(row_matches(about_row, result.case.row, None) for result in self.results):
            return Why.NOT_RUN
        axes = [key for key in where if key not in _OF_A_ROW and key != "backend"]
        is_changed = any(not self._is_as_written(name) for name in axes)
        return Why.NOT_RUN if is_changed else Why.NOTHING

    def _picks(self, where: Where, result: CaseResult) -> bool:
        if not row_matches(where, result.case.row, result.release_threshold):
            return False
        return all(
            self._axis_is(key, texts(value), result.case)
            for key, value in where.items()
            if key not in _OF_A_ROW
        )

    def _is_other(self, over: Where, own: CaseResult, other: CaseResult) -> bool:
        if not self._is_other_row(over, own.case.row, other):
            return False
        for name, text in other.case.axes:
            if name in over:
                if text not in texts(over[name]):
                    return False
            elif (name, text) not in own.case.axes:
                return False
        return all(
            self._axis_is(key, texts(value), other.case)
            for key, value in over.items()
            if key not in _OF_A_ROW
        )

    def _is_other_row(self, over: Where, own: Row, other: CaseResult) -> bool:
        row = other.case.row
        if "row" in over:
            return row_matches(over, row, other.release_threshold)
        if not any(key in over for key in _OF_A_ROW):
            return row == own
        if not isinstance(own, AttributeSet) or not isinstance(row, AttributeSet):
            return False
        is_equal = all(
            key in over or getattr(row, key) == getattr(own, key) for key in ATTRIBUTES
        ) and ("release_threshold" in over or row.release_threshold == own.release_threshold)
        return is_equal and row_matches(over, row, other.release_threshold)

    def _axis_is(self, name: str, wanted: tuple[str, ...], case: Case) -> bool:
        if name == "backend":
            return self.backend is None or self.backend in wanted
        for axis, text in case.axes:
            if axis == name:
                return text in wanted
        return self._fixed_is(name, wanted)

    def _fixed_is(self, name: str, wanted: tuple[str, ...]) -> bool:
        """An axis that was set to one value is a parameter or a setting now."""
        head = self.scenario.head
        if name in head.parameters:
            return text_of(head.parameters[name]) in wanted
        if name not in AXIS_SETTINGS:
            return False
        value: object = head
        for part in name.split("."):
            value = getattr(value, part)
        return any(read_setting(name, text) == value for text in wanted)

    def _is_as_written(self, name: str) -> bool:
        """The axis has the values of the file, not others from the command line."""
        values = self.scenario.head.axes.get(name)
        places = [path for path in self.scenario.places if path[:2] == ("axes", name)]
        if values is None:
            return not places
        places = [path for path in places if len(path) == 3]
        if len(places) != len(values):
            return False
        lines = self.scenario.text.splitlines()
        for path, value in zip(sorted(places, key=lambda one: int(one[2])), values, strict=True):
            place = self.scenario.places[path]
            at = lines[place.line - 1][place.column - 1 :] if place.line <= len(lines) else ""
            if not at.lstrip("\"'").startswith(text_of(value)):
                return False
        return True
