"""What the head of a scenario must hold beyond the form of its keys.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from poolbench.columns import BY_KEY, Column, Unit
from poolbench.conditions import ConditionError, parse_condition
from poolbench.domain import COMBINATIONS, PRESETS, BackendKind, Baseline, row_name
from poolbench.scenario.fields import Faults
from poolbench.scenario.fieldtypes import Scalar, read_threshold
from poolbench.scenario.kernels import BUILT_IN
from poolbench.scenario.nearest import near
from poolbench.scenario.scenario import Path
from poolbench.scenario.schema import AXIS_SETTINGS, DeviceModel, ExpectModel, HeadModel, PoolModel
from poolbench.scenario.wording import describe, form, shown

MAX_AXES_PRODUCT = 256

WHERE_KEYS = (
    "row",
    "backend",
    "follow_event_dependencies",
    "allow_opportunistic",
    "allow_internal_dependencies",
    "release_threshold",
)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_PARAMETER = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


_WANTED: Mapping[str, tuple[str, ...]] = {
    "row": tuple(row_name(row) for row in (*COMBINATIONS, *PRESETS, *Baseline)),
    "backend": tuple(BackendKind),
}

Where = Mapping[str, Scalar | tuple[Scalar, ...]]


def check_head(head: HeadModel, parameters: Iterable[str], faults: Faults) -> None:
    """Names, axes and expectations; every fault is noted.

    `head` may lack what has faults of its own; `parameters` are all that the file names.
    """
    for section in ("streams", "buffers", "kernels"):
        _check_names(section, getattr(head, section), faults)
    for name in head.kernels:
        if name in BUILT_IN:
            message = f"{name} is a built-in kernel; choose another name"
            faults.add_key(("kernels", name), message, "name-taken")
    for name in head.parameters:
        if not _PARAMETER.fullmatch(name) or len(name) > 40:
            message = "a parameter is named with a-z, 0-9 and _, a letter first"
            faults.add_key(("parameters", name), message, "bad-name")
    _check_axes(head, parameters, faults)
    for index, expect in enumerate(head.expect):
        _check_expect(expect, ("expect", index), [*head.axes, *parameters], faults)


def _check_names(section: str, names: Iterable[str], faults: Faults) -> None:
    for name in names:
        if not _PLAIN_NAME.fullmatch(name) or len(name) > 60:
            message = f"{shown(name)} is not a plain name of letters, digits, '_', '.' and '-'"
            faults.add_key((section, name), message, "bad-name")


def _check_axes(head: HeadModel, parameters: Iterable[str], faults: Faults) -> None:
    product = 1
    for name, values in head.axes.items():
        path: Path = ("axes", name)
        known = [*parameters, *AXIS_SETTINGS]
        if name not in known:
            hint = faults.suggestion(name, known)
            message = f"no parameter or setting is called {shown(name)}{hint}"
            faults.add_key(path, message, "unknown-axis")
        if not values:
            faults.add(path, "an axis needs at least one value", "bad-axis")
        seen: set[tuple[bool, str]] = set()
        for index, value in enumerate(values):
            text = (isinstance(value, bool), str(value))
            if text in seen:
                faults.add((*path, index), f"{shown(value)} is on this axis twice", "bad-axis")
            seen.add(text)
            if name in AXIS_SETTINGS:
                _check_setting(name, value, (*path, index), faults)
        product *= max(1, len(values))
    if product > MAX_AXES_PRODUCT:
        message = f"the axes make {product} combinations; the most is {MAX_AXES_PRODUCT}"
        faults.add_key(("axes",), message, "too-many-values")


def _check_setting(name: str, value: Any, path: Path, faults: Faults) -> None:
    """An axis value of a setting must be one that the setting itself could have."""
    models: Mapping[str, type[BaseModel]] = {"pool": PoolModel, "device": DeviceModel}
    group, _, key = name.rpartition(".")
    model = models.get(group, HeadModel)
    try:
        model.model_validate({key: value})
    except ValidationError as fault:
        for _, message, code in describe(fault.errors(include_url=False), value):
            faults.add(path, f"{name}: {message}", code)


# --- expectations ---------------------------------------------------------------------------


def _check_expect(expect: ExpectModel, path: Path, names: Sequence[str], faults: Faults) -> None:
    """`names` are the axes and parameters that rows can be picked by."""
    _check_where(expect.where, (*path, "where"), names, faults)
    for key, wanted in expect.metrics.items():
        column = _numeric_column(key, (*path, "metrics", key), faults)
        if column is not None:
            _check_condition(wanted, column.unit, (*path, "metrics", key), faults)
    for key, ratio in expect.ratios.items():
        inside = (*path, "ratios", key)
        _numeric_column(key, inside, faults)
        _check_where(ratio.over, (*inside, "over"), names, faults)
        _check_condition(ratio.value, Unit.RATIO, (*inside, "value"), faults)
    for name, figures in expect.samples.items():
        for key, condition in figures.items():
            _check_condition(condition, Unit.BYTES, (*path, "samples", name, key), faults)
    for name, text in expect.host_time.items():
        _check_condition(text, Unit.MICROSECONDS, (*path, "host_time", name), faults)
    claims = expect.model_fields_set - {"where"}
    if not claims:
        faults.add(path, "an expectation that expects nothing", "empty-expectation")


def _check_where(where: Where, path: Path, names: Sequence[str], faults: Faults) -> None:
    known = [*WHERE_KEYS, *names]
    for key, wanted in where.items():
        if key not in known and key not in AXIS_SETTINGS:
            message = f"rows cannot be picked by {shown(key)}{faults.suggestion(key, known)}"
            faults.add_key((*path, key), message, "unknown-where")
        elif key in WHERE_KEYS and key not in names:
            values = wanted if isinstance(wanted, tuple) else (wanted,)
            for index, value in enumerate(values):
                where_from = (*path, key, index) if isinstance(wanted, tuple) else (*path, key)
                _check_wanted(key, value, where_from, faults)


def _check_wanted(key: str, value: Scalar, path: Path, faults: Faults) -> None:
    """A value of `where` that no row can have."""
    if key == "release_threshold":
        try:
            read_threshold(value)
        except PydanticCustomError as fault:
            faults.add(path, fault.message(), fault.type)
        return
    known = _WANTED.get(key, ())
    if known and str(value) not in known:
        found = near(str(value), known)
        hint = f"did you mean {found}?" if found else f"known: {', '.join(known)}"
        faults.add(path, f"there is no {key} {shown(value)}; {hint}", "bad-choice")
    elif not known and not isinstance(value, bool):
        faults.add(path, f"expected true or false, found {form(value)}", "wrong-type")


def _numeric_column(key: str, path: Path, faults: Faults) -> Column | None:
    numeric = [column.key for column in BY_KEY.values() if column.unit is not Unit.TEXT]
    if key not in numeric:
        message = f"no column of numbers is called {shown(key)}{faults.suggestion(key, numeric)}"
        faults.add_key(path, message, "unknown-column")
        return None
    return BY_KEY[key]


def _check_condition(wanted: str | float, unit: Unit, path: Path, faults: Faults) -> None:
    try:
        parse_condition(wanted, unit)
    except ConditionError as fault:
        faults.add(path, str(fault), "bad-condition")
