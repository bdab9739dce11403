"""What the head of a scenario must hold beyond the form of its keys.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from poolbench.columns import BY_KEY, Column, Unit
from poolbench.conditions import ConditionError, parse_condition
from poolbench.scenario.fields import Faults
from poolbench.scenario.kernels import BUILT_IN
from poolbench.scenario.scenario import Path
from poolbench.scenario.schema import (
    AXIS_SETTINGS,
    DeviceModel,
    ExpectModel,
    HeadModel,
    PoolModel,
)

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


def check_head(head: HeadModel, faults: Faults) -> None:
    """Names, axes and expectations; every fault is noted."""
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
    _check_axes(head, faults)
    for index, expect in enumerate(head.expect):
        _check_expect(expect, ("expect", index), head, faults)


def _check_names(section: str, names: Iterable[str], faults: Faults) -> None:
    for name in names:
        if not _PLAIN_NAME.fullmatch(name) or len(name) > 60:
            message = f"{name[:40]!r} is not a plain name of letters, digits, '_', '.' and '-'"
            faults.add_key((section, name), message, "bad-name")


def _check_axes(head: HeadModel, faults: Faults) -> None:
    product = 1
    for name, values in head.axes.items():
        path: Path = ("axes", name)
        known = [*head.parameters, *AXIS_SETTINGS]
        if name not in known:
            hint = faults.suggestion(name, known)
            message = f"no parameter or setting is called {name[:40]!r}{hint}"
            faults.add_key(path, message, "unknown-axis")
        if not values:
            faults.add(path, "an axis needs at least one value", "bad-axis")
        seen: set[str] = set()
        for index, value in enumerate(values):
            if str(value) in seen:
                faults.add((*path, index), f"{value!s:.40} is on this axis twice", "bad-axis")
            seen.add(str(value))
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
        message = str(fault.errors(include_url=False)[0]["msg"])
        code = str(fault.errors(include_url=False)[0]["type"])
        faults.add(path, f"{name}: {message}", code if "-" in code else "bad-choice")


# --- expectations ---------------------------------------------------------------------------


def _check_expect(expect: ExpectModel, path: Path, head: HeadModel, faults: Faults) -> None:
    _check_where(expect.where, (*path, "where"), head, faults)
    for key, wanted in expect.metrics.items():
        column = _numeric_column(key, (*path, "metrics", key), faults)
        if column is not None:
            _check_condition(wanted, column.unit, (*path, "metrics", key), faults)
    for key, ratio in expect.ratios.items():
        inside = (*path, "ratios", key)
        _numeric_column(key, inside, faults)
        _check_where(ratio.over, (*inside, "over"), head, faults)
        _check_condition(ratio.value, Unit.RATIO, (*inside, "value"), faults)
    for name, figures in expect.samples.items():
        for key, condition in figures.items():
            _check_condition(condition, Unit.BYTES, (*path, "samples", name, key), faults)
    for name, text in expect.host_time.items():
        _check_condition(text, Unit.MICROSECONDS, (*path, "host_time", name), faults)
    claims = expect.model_fields_set - {"where"}
    if not claims:
        faults.add(path, "an expectation that expects nothing", "empty-expectation")


def _check_where(where: Iterable[str], path: Path, head: HeadModel, faults: Faults) -> None:
    known = [*WHERE_KEYS, *head.axes, *head.parameters]
    for key in where:
        if key not in known and key not in AXIS_SETTINGS:
            message = f"rows cannot be picked by {key[:40]!r}{faults.suggestion(key, known)}"
            faults.add_key((*path, key), message, "unknown-where")


def _numeric_column(key: str, path: Path, faults: Faults) -> Column | None:
    numeric = [column.key for column in BY_KEY.values() if column.unit is not Unit.TEXT]
    if key not in numeric:
        message = f"no column of numbers is called {key[:40]!r}{faults.suggestion(key, numeric)}"
        faults.add_key(path, message, "unknown-column")
        return None
    return BY_KEY[key]


def _check_condition(wanted: str | float, unit: Unit, path: Path, faults: Faults) -> None:
    try:
        parse_condition(wanted, unit)
    except ConditionError as fault:
        faults.add(path, str(fault), "bad-condition")
