"""A case as a flat list of steps: what both backends run.

Pure, picklable values.  A plan holds one iteration; the backend runs it `n_iterations` times in the
same pool and closes each iteration with a device synchronisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from poolbench.domain import Case, Issue, MemoryKind, OnOom, StreamKind, StreamPriority
from poolbench.plan.steps import GraphNode, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """`is_created_by_step`: a `create` step makes it; otherwise it exists before the first step."""

    name: str
    kind: StreamKind
    priority: StreamPriority
    is_created_by_step: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSpec:
    """One buffer.

    A pool buffer (`memory is None`) lives from `alloc_step` to `free_step` (step indices); every
    execution of an `alloc` step is a buffer of its own, even if it reuses a name.  A pool buffer
    without an `alloc_step` is a graph's.  Any other buffer exists during the whole run.
    """

    name: str
    size: int
    memory: MemoryKind | None = None
    alloc_step: int = -1
    free_step: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """CUDA C of a kernel of the scenario's own; `predicted_ns` is the model's assumption."""

    name: str
    entry: str
    text: str
    predicted_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """Where a step stands in the file (line and column count from 1)."""

    line: int
    column: int
    kind: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Steps that are captured before the first step and launched as one.

    nodes
        in the order of capture; `stream` is an index into `branches`, `event` counts within the
        graph, buffers are the plan's.
    branches
        streams of the plan; the capture begins and ends on the first.
    buffers
        those that the graph allocates.
    slots, slot_of
        sizes of the buffers that stand in for them where a row has no allocation, and by buffer
        (as in `buffers`) the slot that it lives in.
    """

    name: str
    nodes: tuple[GraphNode, ...]
    branches: tuple[int, ...]
    n_events: int
    buffers: tuple[int, ...]
    slots: tuple[int, ...]
    slot_of: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`steps[k]` came from `places[origin[k]]`; `names[k]` is its label, or its buffer, event or
    sample name with every reference replaced ("x3").

    `slots` and `slot_of` exist for the baseline `preallocated` only: sizes of the buffers that a
    program without allocation would hold, and the slot that each buffer (by index) lives in; -1 for
    buffers that are no pool buffers.
    """

    case: Case
    steps: tuple[Step, ...]
    origin: tuple[int, ...]
    names: tuple[str, ...]
    places: Sequence[StepPlace]
    streams: tuple[StreamSpec, ...]
    buffers: tuple[BufferSpec, ...]
    events: tuple[str, ...]
    kernels: tuple[KernelSource, ...]
    n_iterations: int
    max_size: int
    release_threshold: int
    prime: int
    leave_free: int | None
    on_oom: OnOom
    issue: Issue
    pace_ns: int
    latch_limit_ns: int
    slots: tuple[int, ...] = ()
    slot_of: tuple[int, ...] = ()
    graphs: tuple[Graph, ...] = ()

    @property
    def n_steps(self) -> int:
        return len(self.steps)

    def place(self, step: int) -> StepPlace:
        return self.places[self.origin[step]]
