"""The values that keys of a scenario can have: how each is read, and its JSON Schema.

Pure.  The readers see plain values that are already typed by the YAML 1.2 core schema, and raise
`PydanticCustomError` whose type is a code of `poolbench.scenario.codes`.  Sizes are bytes,
durations nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

from poolbench.domain import THRESHOLD_MAX
from poolbench.scenario.nearest import near
from poolbench.scenario.values import NAME_TEMPLATE, REF, Draw, DrawKind, Flag, Ref, Value
from poolbench.units import UnitError, parse_duration, parse_size

MAX_COUNT = 1_000_000


def _fail(code: str, message: str) -> PydanticCustomError:
    return PydanticCustomError(code, "{text}", {"text": message})


def _fail_inside(parts: list[tuple[tuple[str | int, ...], str, str]]) -> PydanticCustomError:
    """Several faults inside of one value, each with its path in it, message and code."""
    _, message, code = parts[0]
    return PydanticCustomError(code, "{text}", {"text": message, "parts": tuple(parts)})


def _scalar(parse: Callable[[str], int], what: str) -> Callable[[object], int]:
    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise _fail("wrong-type", f"expected a {what}")
        try:
            is_whole = isinstance(raw, float) and raw.is_integer()
            return parse(str(int(raw) if is_whole else raw))
        except UnitError as fault:
            raise _fail(fault.code, str(fault)) from None

    return read


read_size = _scalar(parse_size, "size")
read_duration = _scalar(parse_duration, "duration")


def read_count(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise _fail("wrong-type", "expected a whole number")
    if not 0 <= raw <= MAX_COUNT:
        raise _fail("out-of-range", f"{raw} is not between 0 and {MAX_COUNT}")
    return raw


def _size_or(word: str, raw: object) -> int:
    if isinstance(raw, str) and not raw.strip()[:1].isdigit():
        raise _fail("bad-size", f"{raw[:40]!r} is neither a size such as 64MiB nor `{word}`")
    return read_size(raw)


def read_threshold(raw: object) -> int:
    return THRESHOLD_MAX if raw == "max" else _size_or("max", raw)


def read_limit(raw: object) -> int:
    """A pool's maximum: 0 (`none`) is no limit of its own."""
    return 0 if raw == "none" else _size_or("none", raw)


def read_ref(raw: object) -> Ref | None:
    match = REF.fullmatch(raw) if isinstance(raw, str) else None
    return Ref(name=match[1] or match[2]) if match else None


def _value(read: Callable[[object], int], *, can_draw: bool) -> Callable[[object], Value]:
    def value(raw: object) -> Value:
        ref = read_ref(raw)
        if ref is not None:
            return ref
        if not (can_draw and isinstance(raw, dict)):
            return read(raw)
        if len(raw) != 1 or next(iter(raw)) not in set(DrawKind):
            found = near(next(iter(raw)), DrawKind) if len(raw) == 1 else None
            hint = f"did you mean {found}?" if found else f"one of: {', '.join(DrawKind)}"
            raise _fail("bad-draw", f"a drawn value is a mapping with one key; {hint}")
        name, items = next(iter(raw.items()))
        if not isinstance(items, list | tuple) or not 1 <= len(items) <= 1000:
            raise _fail("bad-draw", f"{name} needs a list of 1 to 1000 values")
        drawn: list[int] = []
        parts: list[tuple[tuple[str | int, ...], str, str]] = []
        for index, item in enumerate(items):
            try:
                drawn.append(read(item))
            except PydanticCustomError as fault:
                parts.append(((name, index), fault.message(), fault.type))
        if parts:
            raise _fail_inside(parts)
        kind = DrawKind(name)
        if kind in (DrawKind.UNIFORM, DrawKind.LOG_UNIFORM):
            if len(drawn) != 2 or drawn[0] > drawn[1]:
                raise _fail("bad-draw", f"{name} needs two values, the smaller first")
            if kind is DrawKind.LOG_UNIFORM and drawn[0] == 0:
                raise _fail("bad-draw", "log_uniform cannot start at 0")
        return Draw(kind=kind, items=tuple(drawn))

    return value


def _flag(raw: object) -> Flag:
    ref = read_ref(raw)
    if ref is not None:
        return ref
    if not isinstance(raw, bool):
        raise _fail("wrong-type", "expected true or false")
    return raw


def _name(raw: object) -> str:
    if isinstance(raw, int) and not isinstance(raw, bool):
        raw = str(raw)
    if not isinstance(raw, str):
        raise _fail("wrong-type", "expected a name")
    if len(raw) > 100 or not NAME_TEMPLATE.fullmatch(raw):
        letters = "letters, digits, '_', '.', '-' and $references"
        raise _fail("bad-name", f"{raw[:40]!r} is not a name: up to 100 {letters}")
    return raw


def _share(raw: object) -> float:
    text = str(raw)
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if isinstance(raw, bool) or not 0 < share <= 1:
        raise _fail("bad-share", "expected a share of the GPU: 25%, or a number over 0 and up to 1")
    return share


def _flops(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise _fail("wrong-type", "expected a number of floating-point operations")
    if not 1 <= raw <= 1e18:
        raise _fail("out-of-range", f"{raw} is not between 1 and 1e18")
    return int(raw)


def as_tuple(raw: object) -> object:
    return tuple(raw) if isinstance(raw, list) else raw


_NUMBER = r"\s*[0-9][0-9_]*(\.[0-9]+)?\s*"
_SIZE_TEXT = {"type": "string", "pattern": rf"^({_NUMBER}(B|KiB|MiB|GiB|TiB)\s*|0|\$.+)$"}
_TIME_TEXT = {"type": "string", "pattern": rf"^({_NUMBER}(ns|us|ms|s)\s*|0|\$.+)$"}
_ZERO = {"const": 0}
_REF_TEXT = {"type": "string", "pattern": r"^\$"}
_COUNT_NUMBER = {"type": "integer", "minimum": 0, "maximum": MAX_COUNT}


def _drawn(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "object",
            "properties": {kind: {"type": "array", "items": item, "minItems": 1}},
            "required": [kind],
            "additionalProperties": False,
        }
        for kind in DrawKind
    ]


Size = Annotated[
    Value,
    BeforeValidator(_value(read_size, can_draw=True)),
    WithJsonSchema({"anyOf": [_SIZE_TEXT, _ZERO, *_drawn({"anyOf": [_SIZE_TEXT, _ZERO]})]}),
]
Duration = Annotated[
    Value,
    BeforeValidator(_value(read_duration, can_draw=True)),
    WithJsonSchema({"anyOf": [_TIME_TEXT, _ZERO, *_drawn({"anyOf": [_TIME_TEXT, _ZERO]})]}),
]
FixedSize = Annotated[
    int | Ref,
    BeforeValidator(_value(read_size, can_draw=False)),
    WithJsonSchema({"anyOf": [_SIZE_TEXT, _ZERO]}),
]
FixedDuration = Annotated[
    int | Ref,
    BeforeValidator(_value(read_duration, can_draw=False)),
    WithJsonSchema({"anyOf": [_TIME_TEXT, _ZERO]}),
]
Threshold = Annotated[
    int | Ref,
    BeforeValidator(_value(read_threshold, can_draw=False)),
    WithJsonSchema({"anyOf": [{"const": "max"}, _SIZE_TEXT, _ZERO]}),
]
Limit = Annotated[
    int | Ref,
    BeforeValidator(_value(read_limit, can_draw=False)),
    WithJsonSchema({"anyOf": [{"const": "none"}, _SIZE_TEXT, _ZERO]}),
]
Count = Annotated[
    int | Ref,
    BeforeValidator(_value(read_count, can_draw=False)),
    WithJsonSchema({"anyOf": [_COUNT_NUMBER, _REF_TEXT]}),
]
FlagField = Annotated[
    Flag,
    BeforeValidator(_flag),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, _REF_TEXT]}),
]
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": ["string", "integer"]})]
Names = Annotated[tuple[Name, ...], BeforeValidator(as_tuple)]
Share = Annotated[float, BeforeValidator(_share), WithJsonSchema({"type": ["string", "number"]})]
Flops = Annotated[int, BeforeValidator(_flops), WithJsonSchema({"type": "number", "minimum": 1})]
Scalar = str | int | float | bool
Number = Annotated[int, Strict()] | Annotated[float, Strict()]
"""Not `true`, which is a whole number to Python."""
Arguments = Annotated[tuple[Scalar | dict[str, Number], ...], BeforeValidator(as_tuple)]
Scalars = Annotated[tuple[Scalar, ...], BeforeValidator(as_tuple)]


class Model(BaseModel):
    """Base of all models: frozen, strict about keys."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        defer_build=True,  # most files use a few of the models
    )
