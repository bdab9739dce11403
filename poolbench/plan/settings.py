"""`--set` and `--axis`: a scenario with other values than its file has.

Pure.  Values stay texts; a parameter's text is parsed where it is used, a setting's is tried here
so that a bad one is a fault of the command line and not of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from poolbench.domain import Issue, OnOom
from poolbench.errors import BadUsage
from poolbench.plan.names import suggestion
from poolbench.plan.scope import Unreadable, read_enum_text, read_text
from poolbench.scenario.fieldtypes import (
    Scalar,
    read_count,
    read_duration,
    read_limit,
    read_size,
    read_threshold,
)
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.schema import AXIS_SETTINGS, DeviceModel, HeadModel, PoolModel

MAX_TEXT = 200


def read_setting(name: str, text: str) -> int | OnOom | Issue:
    """The value of a setting of `AXIS_SETTINGS`; raises `Unreadable`."""
    match name:
        case "pool.max_size":
            return read_text(text, read_limit)
        case "pool.release_threshold":
            return read_text(text, read_threshold)
        case "pool.prime" | "device.leave_free":
            return read_text(text, read_size)
        case "on_oom":
            return read_enum_text(text, OnOom)
        case "issue":
            return read_enum_text(text, Issue)
        case "pace":
            return read_text(text, read_duration)
        case "iterations":
            number = read_text(text, read_count)
            if number == 0:
                raise Unreadable("there must be at least one iteration", "out-of-range")
            return number
        case _:
            raise KeyError(name)


def apply_setting(head: HeadModel, name: str, value: int | OnOom | Issue) -> HeadModel:
    """The head with another value for a setting of `AXIS_SETTINGS`."""
    group, _, key = name.rpartition(".")
    inner: PoolModel | DeviceModel
    match group:
        case "":
            return head.model_copy(update={name: value})
        case "pool":
            inner = head.pool
        case "device":
            inner = head.device
        case _:
            raise KeyError(name)
    return head.model_copy(update={group: inner.model_copy(update={key: value})})


def _checked(option: str, name: str, text: str) -> None:
    """Raises `BadUsage` for a text that cannot be a value of `name`."""
    told = f"{option} {name}={text[:60]}"
    if not text.strip():
        raise BadUsage(f"{told}: the value is missing", hint=f"write {option} {name}=VALUE")
    if len(text) > MAX_TEXT:
        raise BadUsage(f"{told}...: the value is longer than {MAX_TEXT} characters")
    if name in AXIS_SETTINGS:
        try:
            read_setting(name, text)
        except Unreadable as fault:
            raise BadUsage(f"{told}: {fault}") from None


def with_settings(
    scenario: Scenario, *, sets: Mapping[str, str], axes: Mapping[str, tuple[str, ...]]
) -> Scenario:
    """A scenario in which `sets` have one value each and `axes` several.

    A name is a parameter, an axis of the file, or a setting of `schema.AXIS_SETTINGS`.  An axis
    that is set to one value is an axis no more; a new axis comes after those of the file.  Raises
    `BadUsage` that names the option.
    """
    head = scenario.head
    known = [*head.parameters, *(name for name in head.axes if name not in head.parameters)]
    known += [name for name in AXIS_SETTINGS if name not in known]
    for option, names in (("--set", tuple(sets)), ("--axis", tuple(axes))):
        for name in names:
            if name not in known:
                near = suggestion(name, known)
                raise BadUsage(
                    f"{option} {name}: {scenario.name} has no parameter or setting {name!r}{near}",
                    hint=f"it has: {', '.join(known)}",
                )
    for name in axes:
        if name in sets:
            raise BadUsage(f"{name} is given to both --set and --axis; it can only be one of them")

    parameters: dict[str, Scalar] = dict(head.parameters)
    new_axes = dict(head.axes)
    for name, text in sets.items():
        _checked("--set", name, text)
        new_axes.pop(name, None)
        if name in AXIS_SETTINGS:
            head = apply_setting(head, name, read_setting(name, text))
        else:
            parameters[name] = text
    for name, texts in axes.items():
        if not texts:
            raise BadUsage(f"--axis {name}: no values", hint=f"write --axis {name}=V1,V2")
        for text in texts:
            _checked("--axis", name, text)
        doubles = sorted({text for text in texts if texts.count(text) > 1})
        if doubles:
            raise BadUsage(f"--axis {name}: {doubles[0]} is there twice")
        new_axes[name] = texts
    head = head.model_copy(update={"parameters": parameters, "axes": new_axes})
    return replace(scenario, head=head)
