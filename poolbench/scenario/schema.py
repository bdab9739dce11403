"""The scenario language: what a file may say, as pydantic models.

Pure; no YAML and no places here (`source`, `load`).  The models see plain values that are already
typed by the YAML 1.2 core schema.  Names may be templates (`x$i`), values may be `Ref` or `Draw`;
both are resolved by `poolbench.plan.expand`.  Sizes are bytes, durations nanoseconds.

Every validator raises `PydanticCustomError` whose type is a code of `poolbench.scenario.codes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

from poolbench.domain import (
    THRESHOLD_MAX,
    CopyKind,
    Issue,
    MemoryKind,
    OnOom,
    Outcome,
    Status,
    StreamKind,
    StreamPriority,
)
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


def _ref(raw: object) -> Ref | None:
    match = REF.fullmatch(raw) if isinstance(raw, str) else None
    return Ref(name=match[1] or match[2]) if match else None


def _value(read: Callable[[object], int], *, can_draw: bool) -> Callable[[object], Value]:
    def value(raw: object) -> Value:
        ref = _ref(raw)
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
    ref = _ref(raw)
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


def _as_tuple(raw: object) -> object:
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
Names = Annotated[tuple[Name, ...], BeforeValidator(_as_tuple)]
Share = Annotated[float, BeforeValidator(_share), WithJsonSchema({"type": ["string", "number"]})]
Flops = Annotated[int, BeforeValidator(_flops), WithJsonSchema({"type": "number", "minimum": 1})]
Scalar = str | int | float | bool
Number = Annotated[int, Strict()] | Annotated[float, Strict()]
"""Not `true`, which is a whole number to Python."""
Arguments = Annotated[tuple[Scalar | dict[str, Number], ...], BeforeValidator(_as_tuple)]
Scalars = Annotated[tuple[Scalar, ...], BeforeValidator(_as_tuple)]


class Model(BaseModel):
    """Base of all models: frozen, strict about keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


# --- the head of a file ---------------------------------------------------------------------


class PoolModel(Model):
    """The memory pool of every row that has one."""

    max_size: Limit = Field(default=0, description="the pool's maxSize; none = no limit")
    release_threshold: Threshold = Field(
        default=0, description="bytes kept at a synchronisation; rows that set their own win"
    )
    prime: FixedSize = Field(
        default=0, description="bytes allocated, freed and synchronised before the first step"
    )


class DeviceModel(Model):
    leave_free: FixedSize | None = Field(
        default=None, description="ballast takes all device memory but this much"
    )


class StreamModel(Model):
    kind: StreamKind = StreamKind.NON_BLOCKING
    priority: StreamPriority = StreamPriority.NORMAL
    count: Count | None = Field(
        default=None, description="declares NAME0 .. NAME<count-1> instead of NAME"
    )


class BufferModel(Model):
    """A buffer that exists before the first step and after the last."""

    size: FixedSize
    memory: MemoryKind = MemoryKind.DEVICE
    count: Count | None = None


class KernelModel(Model):
    """A kernel of one's own in CUDA C, compiled by NVRTC."""

    source: str | None = Field(default=None, description="CUDA C in the file")
    file: str | None = Field(default=None, description="CUDA C in a file beside the scenario")
    entry: str | None = Field(default=None, description='extern "C" name; default: the key')
    predicted: FixedDuration | None = Field(
        default=None, description="duration that the model assumes; it cannot run CUDA C"
    )


# --- steps ----------------------------------------------------------------------------------


class StepModel(Model):
    """What every step can say besides its own keys."""

    label: Name | None = Field(default=None, description="a name for expectations and tables")
    when: FlagField = Field(default=True, description="false leaves the step out")
    every: Count = Field(
        default=1, description="only each n-th pass of the innermost repeat; 0 = never"
    )


class AllocStep(StepModel):
    """`cuMemAllocFromPoolAsync`."""

    alloc: Name
    size: Size
    stream: Name


class FreeStep(StepModel):
    """`cuMemFreeAsync`."""

    free: Name
    stream: Name


class KernelStep(StepModel):
    """A kernel launch: `spin`, `stream`, `compute`, or a name from `kernels`."""

    kernel: Name
    stream: Name
    duration: Duration | None = Field(default=None, description="spin only")
    flops: Flops | None = Field(default=None, description="compute only")
    reads: Names = Field(default=(), description="buffers that the kernel reads")
    writes: Names = Field(default=(), description="buffers that the kernel writes")
    arguments: Arguments = Field(
        default=(),
        description="own kernels: buffer names, or typed scalars such as {u64: 1024}, {f32: 2.0}",
    )
    share: Share | None = Field(default=None, description="fraction of the multiprocessors")
    blocks: Count | None = None
    threads: Count | None = None


class MemcpyStep(StepModel):
    """`cuMemcpyAsync`; the size defaults to the smaller buffer's."""

    memcpy: CopyKind
    dst: Name
    src: Name
    stream: Name
    size: Size | None = None


class MemsetStep(StepModel):
    """`cuMemsetD8Async`."""

    memset: Name
    stream: Name
    value: Annotated[int, Field(ge=0, le=255, strict=True)] = 0
    size: Size | None = None


class RecordStep(StepModel):
    """`cuEventRecord`; the event exists from its first mention on."""

    record: Name
    stream: Name


class WaitStep(StepModel):
    """`cuStreamWaitEvent`."""

    wait: Name
    stream: Name


class SyncStep(StepModel):
    """The host waits: `cuStreamSynchronize`, `cuEventSynchronize`, `cuCtxSynchronize`."""

    sync: Literal["stream", "event", "device"]
    stream: Name | None = None
    event: Name | None = None


class QueryStep(StepModel):
    """The host asks and goes on: `cuStreamQuery`, `cuEventQuery`."""

    query: Literal["stream", "event"]
    stream: Name | None = None
    event: Name | None = None


class HostStep(StepModel):
    """The host works (spins) for a while and issues nothing."""

    host: Duration


class HoldStep(StepModel):
    """Stops a stream with a latch; each hold needs a `release` of its own."""

    hold: Name


class ReleaseStep(StepModel):
    """Opens the oldest latch of a stream that is still closed."""

    release: Name


class TrimStep(StepModel):
    """`cuMemPoolTrimTo`: keep at least this many bytes."""

    trim: Size


class SampleStep(StepModel):
    """Reads the pool's reserved and used bytes, under a name."""

    sample: Name


class FillStep(StepModel):
    """Writes a pattern of its own into a whole buffer."""

    fill: Name
    stream: Name


class CheckStep(StepModel):
    """Counts the bytes of a buffer that differ from its last `fill`."""

    check: Name
    stream: Name


class CreateStep(StepModel):
    """Creates a declared stream here instead of before the first step."""

    create: Name


class DestroyStep(StepModel):
    """`cuStreamDestroy`, with work pending or not."""

    destroy: Name


class RepeatStep(StepModel):
    """Its `steps` (kept apart, by the loader), so many times; `$index` counts from 0."""

    repeat: Count
    index: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$", max_length=40)] = "i"


AnyStep = (
    AllocStep
    | FreeStep
    | KernelStep
    | MemcpyStep
    | MemsetStep
    | RecordStep
    | WaitStep
    | SyncStep
    | QueryStep
    | HostStep
    | HoldStep
    | ReleaseStep
    | TrimStep
    | SampleStep
    | FillStep
    | CheckStep
    | CreateStep
    | DestroyStep
    | RepeatStep
)

STEP_MODELS: dict[str, type[StepModel]] = {
    "alloc": AllocStep,
    "free": FreeStep,
    "kernel": KernelStep,
    "memcpy": MemcpyStep,
    "memset": MemsetStep,
    "record": RecordStep,
    "wait": WaitStep,
    "sync": SyncStep,
    "query": QueryStep,
    "host": HostStep,
    "hold": HoldStep,
    "release": ReleaseStep,
    "trim": TrimStep,
    "sample": SampleStep,
    "fill": FillStep,
    "check": CheckStep,
    "create": CreateStep,
    "destroy": DestroyStep,
    "repeat": RepeatStep,
}
"""Step kind (the key that says what a step does) -> its model."""


# --- expectations ---------------------------------------------------------------------------


class RatioModel(Model):
    """This row's column over the same column of another row of the run."""

    over: dict[str, Scalar | Scalars] = Field(
        description="conditions as in `where` that pick the other rows; axes not named are equal"
    )
    value: str | Number = Field(description='e.g. ">= 5" or "0.9..1.1"')


class ExpectModel(Model):
    """What the rows that `where` picks must show.

    Keys of `where`: `row` (a row's name or a list of names), the three reuse attributes, `backend`,
    `follow`/`opportunistic`/`internal` are not keys; any axis name.  A value may be a list.
    Conditions: a literal, or text `">= 450us"`, `"< 3"`, `"0.9..1.1"`, `"450us..515us"`, where a
    quantity may carry a unit that is converted to the column's.
    """

    where: dict[str, Scalar | Scalars] = Field(default_factory=dict)
    status: Status | None = None
    outcomes: dict[str, Outcome | Annotated[tuple[Outcome, ...], BeforeValidator(_as_tuple)]] = (
        Field(
            default_factory=dict,
            description="allocation (label or buffer name, * and ? allowed) -> outcome or outcomes",
        )
    )
    waits_for: dict[str, str] = Field(
        default_factory=dict, description="allocation -> stream whose free it waited for"
    )
    metrics: dict[str, str | Number] = Field(
        default_factory=dict, description="column -> condition"
    )
    ratios: dict[str, RatioModel] = Field(default_factory=dict)
    held: dict[str, Literal["ran", "returned", "waited"]] = Field(
        default_factory=dict,
        description="step label -> while a latch was closed, the step's device work ran, its host "
        "call returned, or it waited for the latch",
    )
    samples: dict[str, dict[Literal["reserved", "used"], str | Number]] = Field(
        default_factory=dict, description="sample -> condition on its bytes"
    )
    host_time: dict[str, str] = Field(
        default_factory=dict,
        description="step label -> condition on the median host time of its calls",
    )


class HeadModel(Model):
    """Everything of a scenario file but its steps."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)] | None = (
        Field(default=None, description="default: the file's name")
    )
    question: str = Field(default="", description="the question that the scenario answers")
    known: str = Field(default="", description="what is known of the answer, and from where")
    parameters: dict[str, Scalar] = Field(
        default_factory=dict, description="names for values, used as $name; --set changes them"
    )
    axes: dict[str, Scalars] = Field(
        default_factory=dict,
        description="parameter, or setting such as pool.max_size -> its values, one block each",
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] = 0
    iterations: Count = Field(default=1, description="passes over the steps in the same pool")
    issue: Issue | Annotated[Ref, BeforeValidator(_ref)] = Issue.LIVE
    pace: FixedDuration = Field(
        default=0, description="least time from one host call to the next; live only"
    )
    on_oom: OnOom | Annotated[Ref, BeforeValidator(_ref)] = OnOom.FAIL
    latch_limit: Annotated[
        FixedDuration, Field(description="a latch opens by itself after this long")
    ] = 100_000_000
    pool: PoolModel = PoolModel()
    device: DeviceModel = DeviceModel()
    streams: dict[str, StreamModel | None] = Field(default_factory=dict)
    buffers: dict[str, BufferModel] = Field(default_factory=dict)
    kernels: dict[str, KernelModel] = Field(default_factory=dict)
    expect: Annotated[tuple[ExpectModel, ...], BeforeValidator(_as_tuple)] = ()


AXIS_SETTINGS: tuple[str, ...] = (
    "pool.max_size",
    "pool.release_threshold",
    "pool.prime",
    "device.leave_free",
    "on_oom",
    "issue",
    "pace",
    "iterations",
)
"""Settings of the head that an axis or `--set` can vary; every other axis names a parameter."""
