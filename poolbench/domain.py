"""The words of the field as closed sets and values: attribute sets, baselines, outcomes, statuses.

Pure; imports nothing of ours.  Sizes are bytes (`int`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

THRESHOLD_MAX = 2**64 - 1
"""Release threshold that never releases (`UINT64_MAX`)."""


class BackendKind(StrEnum):
    """Who produced a trace."""

    CUDA = "cuda"
    MODEL = "model"

    @property
    def is_measured(self) -> bool:
        return self is BackendKind.CUDA


class Pass(StrEnum):
    """How much of a run is recorded."""

    TIMED = "timed"
    """Only the outer events: what the user's program would feel."""
    TRACED = "traced"
    """Every step: host call, device span, outcome."""
    CONTROL = "control"
    """A timed run of a case that has one in the same block already: two names for one thing, so
    that what differs between them is noise (an A/A control)."""


class Status(StrEnum):
    """How a run, or a case as a whole, ended."""

    OK = "ok"
    OUT_OF_MEMORY = "out_of_memory"
    """An allocation failed and `on_oom` did not get it through."""
    CORRUPTED = "corrupted"
    """A `check` found bytes that its `fill` did not write."""
    UNSUPPORTED = "unsupported"
    """The device or driver cannot do what the scenario asks."""
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    ERROR = "error"


class HostCall(StrEnum):
    """Calls of the driver that are no part of a stream's work."""

    POOL_CREATE = "pool_create"
    """`cuMemPoolCreate`."""
    POOL_DESTROY = "pool_destroy"
    """`cuMemPoolDestroy` of another pool, which holds 32 MiB of free memory."""
    HOST_ALLOC = "host_alloc"
    """`cuMemHostAlloc` of 1 MiB of page-locked memory."""
    HOST_FREE = "host_free"
    """`cuMemFreeHost` of 1 MiB."""
    MODULE_LOAD = "module_load"
    """`cuModuleLoadData` of a small kernel."""


class Outcome(StrEnum):
    """How one allocation was served; the order of attempts of the driver (docs/model.md)."""

    SAME_STREAM = "same_stream"
    HOST_ORDERED = "host_ordered"
    EVENT_ORDERED = "event_ordered"
    OPPORTUNISTIC = "opportunistic"
    SLACK = "slack"
    REMAPPED = "remapped"
    GROWN = "grown"
    INTERNAL_DEPENDENCY = "internal_dependency"
    OUT_OF_MEMORY = "out_of_memory"
    OUTSIDE_POOL = "outside_pool"
    """Not a pool allocation: a baseline row (`cuMemAlloc`, or memory that existed before)."""


OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
"""Outcomes in a fixed order: traces store the index into this tuple."""

SERVED: tuple[Outcome, ...] = (
    Outcome.SAME_STREAM,
    Outcome.HOST_ORDERED,
    Outcome.EVENT_ORDERED,
    Outcome.OPPORTUNISTIC,
    Outcome.SLACK,
    Outcome.REMAPPED,
    Outcome.GROWN,
    Outcome.INTERNAL_DEPENDENCY,
)
"""Outcomes with memory from the pool, the weakest last: an allocation made of several pieces
is called after the one that comes last here."""


class StreamKind(StrEnum):
    NON_BLOCKING = "non_blocking"
    BLOCKING = "blocking"
    LEGACY_DEFAULT = "legacy_default"
    PER_THREAD_DEFAULT = "per_thread_default"


class StreamPriority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class MemoryKind(StrEnum):
    """Where a buffer that exists before the first step lives."""

    DEVICE = "device"
    PINNED = "pinned"
    PAGEABLE = "pageable"


class CopyKind(StrEnum):
    H2D = "h2d"
    D2H = "d2h"
    D2D = "d2d"


class OnOom(StrEnum):
    """What the program does when an allocation fails."""

    FAIL = "fail"
    SYNC_RETRY = "sync_retry"
    TRIM_RETRY = "trim_retry"


class Issue(StrEnum):
    """How the host hands steps to the streams."""

    LIVE = "live"
    """As fast as the host can (or no faster than `pace`)."""
    AHEAD = "ahead"
    """Every stream is latched until all steps are queued, or the host has to wait."""


class Baseline(StrEnum):
    """Rows without a stream-ordered pool."""

    PREALLOCATED = "preallocated"
    CUDAMALLOC = "cudamalloc"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeSet:
    """One setting of a memory pool's reuse attributes.

    `release_threshold` is `None` where the scenario's own threshold applies.
    """

    name: str
    follow_event_dependencies: bool
    allow_opportunistic: bool
    allow_internal_dependencies: bool
    release_threshold: int | None = None
    threshold_is_pool_size: bool = False
    set_by: str = ""

    @property
    def bits(self) -> str:
        """The three attributes as digits: follow, opportunistic, internal."""
        flags = (
            self.follow_event_dependencies,
            self.allow_opportunistic,
            self.allow_internal_dependencies,
        )
        return "".join("1" if flag else "0" for flag in flags)


Row = AttributeSet | Baseline
"""What varies between the rows of a table."""


def row_name(row: Row) -> str:
    return row.name if isinstance(row, AttributeSet) else row.value


def _combination(index: int) -> AttributeSet:
    return AttributeSet(
        name=f"{index:03b}",
        follow_event_dependencies=bool(index & 4),
        allow_opportunistic=bool(index & 2),
        allow_internal_dependencies=bool(index & 1),
    )


COMBINATIONS: tuple[AttributeSet, ...] = tuple(_combination(index) for index in range(8))
"""All eight combinations, `000` to `111` (follow, opportunistic, internal)."""


def _preset(
    name: str, bits: str, threshold: int | None, set_by: str, *, pool_size: bool = False
) -> AttributeSet:
    return AttributeSet(
        name=name,
        follow_event_dependencies=bits[0] == "1",
        allow_opportunistic=bits[1] == "1",
        allow_internal_dependencies=bits[2] == "1",
        release_threshold=threshold,
        threshold_is_pool_size=pool_size,
        set_by=set_by,
    )


PRESETS: tuple[AttributeSet, ...] = (
    _preset("default", "111", 0, "the driver, for every new pool"),
    _preset("pytorch", "111", THRESHOLD_MAX, "PyTorch, backend:cudaMallocAsync"),
    _preset("rmm", "111", THRESHOLD_MAX, "RAPIDS RMM, cuda_async_memory_resource"),
    _preset(
        "tensorflow-deterministic",
        "100",
        None,
        "TensorFlow, GpuCudaMallocAsyncAllocator with TF_DETERMINISTIC_ALLOCATOR",
        pool_size=True,
    ),
    _preset("oneflow", "000", THRESHOLD_MAX, "OneFlow, its stream-ordered allocator"),
)
"""Settings as drivers and frameworks make them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the experiment: scenario x axis values x row.  A pure, picklable value.

    `axes` holds (axis name, value as written) in the scenario's order.
    """

    scenario: str
    row: Row
    axes: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """A name unique within a run, e.g. `pressure[pool.max_size=128MiB]/101`."""
        inside = ",".join(f"{name}={text}" for name, text in self.axes)
        return f"{self.scenario}{f'[{inside}]' if inside else ''}/{row_name(self.row)}"
