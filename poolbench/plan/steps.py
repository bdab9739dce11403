"""The steps of a plan: concrete, with indices instead of names.

Pure values; a plan is picklable and goes to the worker process as it is.  Sizes are bytes,
durations nanoseconds.  `stream`, `buffer` and `event` are indices into the plan's tuples.
"""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.domain import CopyKind, HostCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """How much of the GPU a kernel fills: `share` of the multiprocessors, whole and alone, or
    `blocks` x `threads`.  Exactly one of `share` and `blocks` is set."""

    share: float | None = None
    blocks: int | None = None
    threads: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Spin:
    """Every block runs until `%globaltimer` says that the time is over."""

    duration_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Reads all bytes of `reads` and writes all bytes of `writes` (buffer indices)."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Fused multiply-adds in float32: two operations each."""

    flops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom:
    """A kernel of the scenario's own.

    `kernel` indexes `Plan.kernels`.  An argument is a buffer index (`int`) or a typed scalar
    (`(type, value)`, type one of i32 u32 i64 u64 f32 f64).
    """

    kernel: int
    arguments: tuple[int | tuple[str, int | float], ...]


Work = Spin | Touch | Compute | Custom


@dataclass(frozen=True, slots=True, kw_only=True)
class Alloc:
    stream: int
    buffer: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    stream: int
    buffer: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """`buffers` are all buffers that the kernel uses, whatever `work` does with them; `writes` are
    those of them that count as written."""

    stream: int
    work: Work
    grid: Grid
    buffers: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memcpy:
    """`is_pageable`: the host side is pageable memory, so that the host call takes the time."""

    stream: int
    kind: CopyKind
    dst: int
    src: int
    size: int
    is_pageable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memset:
    stream: int
    buffer: int
    value: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    stream: int
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    stream: int
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStream:
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncEvent:
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncDevice:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStream:
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEvent:
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    duration_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDriver:
    """A call on a thing of its own, which exists for this step alone."""

    call: HostCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A host function in the stream: a thread of the driver sleeps for so long."""

    stream: int
    duration_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The stream waits until its latch counter reaches `ticket` (1, 2, ... per iteration)."""

    stream: int
    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Sets the stream's latch counter to `ticket`."""

    stream: int
    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """Writes the pattern of `seed` (differs for every fill of a plan)."""

    stream: int
    buffer: int
    seed: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Counts bytes that differ from the pattern of `seed`, the buffer's last fill."""

    stream: int
    buffer: int
    seed: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream:
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyStream:
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchGraph:
    """`graph` indexes `Plan.graphs`.

    `reads` and `writes` are the lasting buffers that its steps use, as for a launch; `changes`
    those whose bytes it certainly changes.
    """

    stream: int
    graph: int
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    changes: tuple[int, ...] = ()


GraphNode = Alloc | Free | Launch | Memcpy | Memset | Record | Wait | Callback
"""What a graph can be made of."""

Step = (
    Alloc
    | Free
    | Launch
    | Memcpy
    | Memset
    | Record
    | Wait
    | SyncStream
    | SyncEvent
    | SyncDevice
    | QueryStream
    | QueryEvent
    | HostWork
    | CallDriver
    | Callback
    | LaunchGraph
    | Hold
    | Release
    | Trim
    | Sample
    | Fill
    | Check
    | CreateStream
    | DestroyStream
)

DEVICE_STEPS = (
    Alloc, Free, Launch, Memcpy, Memset, Record, Wait, Callback, LaunchGraph, Hold, Fill, Check
)  # fmt: skip
"""Steps that take a place in a stream."""

BUSY_STEPS = (Launch, Memcpy, Memset, Callback, LaunchGraph, Fill, Check)
"""Steps in a stream that do something for a while."""

BRACKETED_STEPS = (Memcpy, Memset, Callback, LaunchGraph)
"""Those of them that cannot stamp their own begin and end: in the traced pass they stand between
two timing events."""

KIND_NAMES: dict[type, str] = {
    Alloc: "alloc",
    Free: "free",
    Launch: "kernel",
    Memcpy: "memcpy",
    Memset: "memset",
    Record: "record",
    Wait: "wait",
    SyncStream: "sync",
    SyncEvent: "sync",
    SyncDevice: "sync",
    QueryStream: "query",
    QueryEvent: "query",
    HostWork: "host",
    CallDriver: "call",
    Callback: "callback",
    LaunchGraph: "graph",
    Hold: "hold",
    Release: "release",
    Trim: "trim",
    Sample: "sample",
    Fill: "fill",
    Check: "check",
    CreateStream: "create",
    DestroyStream: "destroy",
}
"""Step class -> the key that the scenario language has for it."""
