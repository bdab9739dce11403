"""The steps of the scenario language, one pydantic model a kind.

Pure.  Names may be templates (`x$i`), values may be `Ref` or `Draw`; both are resolved by
`poolbench.plan.expand`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from poolbench.domain import CopyKind, HostCall
from poolbench.scenario.fieldtypes import (
    Arguments,
    Count,
    Duration,
    FlagField,
    Flops,
    Model,
    Name,
    Names,
    Share,
    Size,
)


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


class CallStep(StepModel):
    """A driver call outside of every stream: `pool_create`, `pool_destroy`, `host_alloc`,
    `host_free`, `module_load`."""

    call: HostCall


class CallbackStep(StepModel):
    """`cuLaunchHostFunc`: a host function in the stream, which sleeps for a while."""

    callback: Duration
    stream: Name


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


class GraphStep(StepModel):
    """Its `steps` (kept apart, by the loader) as a CUDA graph: captured once, launched here."""

    graph: Name
    stream: Name


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
    | CallStep
    | CallbackStep
    | HoldStep
    | ReleaseStep
    | TrimStep
    | SampleStep
    | FillStep
    | CheckStep
    | CreateStep
    | DestroyStep
    | GraphStep
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
    "call": CallStep,
    "callback": CallbackStep,
    "hold": HoldStep,
    "release": ReleaseStep,
    "trim": TrimStep,
    "sample": SampleStep,
    "fill": FillStep,
    "check": CheckStep,
    "create": CreateStep,
    "destroy": DestroyStep,
    "graph": GraphStep,
    "repeat": RepeatStep,
}
"""Step kind (the key that says what a step does) -> its model."""

WITH_STEPS = ("repeat", "graph")
"""Kinds that hold steps."""

IN_A_GRAPH = (
    "alloc", "free", "kernel", "memcpy", "memset", "record", "wait", "callback", "repeat"
)  # fmt: skip
"""What a graph can hold: work in streams, and nothing that the host waits for."""
