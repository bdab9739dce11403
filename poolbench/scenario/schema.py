"""The scenario language: the head of a file and its expectations, as pydantic models.

Pure; no YAML and no places here (`source`, `load`).  The steps are in `step_models`, the values of
the keys in `fieldtypes`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from poolbench.domain import Issue, MemoryKind, OnOom, Outcome, Status, StreamKind, StreamPriority
from poolbench.scenario.fieldtypes import (
    Count,
    FixedDuration,
    FixedSize,
    Limit,
    Model,
    Number,
    Scalar,
    Scalars,
    Threshold,
    as_tuple,
    read_ref,
)
from poolbench.scenario.values import Ref


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


class RecordedModel(Model):
    """Steps of a program that was recorded or imported, in place of `steps`."""

    steps: str = Field(description="the file beside the scenario that holds them")
    host: Literal["keep", "drop"] = Field(
        default="keep", description="the program's own time between calls: kept, or left out"
    )


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
    outcomes: dict[str, Outcome | Annotated[tuple[Outcome, ...], BeforeValidator(as_tuple)]] = (
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
    issue: Issue | Annotated[Ref, BeforeValidator(read_ref)] = Issue.LIVE
    pace: FixedDuration = Field(
        default=0, description="least time from one host call to the next; live only"
    )
    on_oom: OnOom | Annotated[Ref, BeforeValidator(read_ref)] = OnOom.FAIL
    latch_limit: Annotated[
        FixedDuration, Field(description="a latch opens by itself after this long")
    ] = 100_000_000
    pool: PoolModel = PoolModel()
    device: DeviceModel = DeviceModel()
    streams: dict[str, StreamModel | None] = Field(default_factory=dict)
    buffers: dict[str, BufferModel] = Field(default_factory=dict)
    kernels: dict[str, KernelModel] = Field(default_factory=dict)
    recorded: RecordedModel | None = Field(
        default=None, description="steps of a recorded program, in place of `steps`"
    )
    expect: Annotated[tuple[ExpectModel, ...], BeforeValidator(as_tuple)] = ()


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
