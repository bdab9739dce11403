"""What a scenario comes to under one combination of axis values.  Pure values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from poolbench.errors import Place
from poolbench.plan.faults import Fault
from poolbench.plan.head import Settings
from poolbench.plan.plan import BufferSpec, KernelSource, StepPlace, StreamSpec
from poolbench.plan.recorded import RecordedNodes, RecordedPlaces
from poolbench.plan.steps import Step
from poolbench.scenario.scenario import StepNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """All that the plans of one combination of axis values share.

    `sources[origin[k]]` is the step of the file that step `k` came from; `written[b]` is buffer
    `b`'s name as the file has it.  With faults, the steps are those that could be made;
    `is_complete` is false if one is missing, and then their order means nothing.
    """

    axes: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    origin: tuple[int, ...]
    names: tuple[str, ...]
    sources: Sequence[StepNode]
    graphs: tuple[GraphBody, ...] = ()
    streams: tuple[StreamSpec, ...]
    stream_places: tuple[Place, ...]
    buffers: tuple[BufferSpec, ...]
    written: tuple[str, ...]
    events: tuple[str, ...]
    kernels: tuple[KernelSource, ...]
    settings: Settings
    faults: tuple[Fault, ...]
    is_complete: bool
    is_recorded: bool = False
    """What a recorded program did is not judged: there are no faults of order in it."""

    def place(self, step: int, key: str = "") -> Place:
        """Where a step stands, or the value of one of its keys."""
        node = self.sources[self.origin[step]]
        return node.places.get(key, node.place)

    @property
    def places(self) -> Sequence[StepPlace]:
        if isinstance(self.sources, RecordedNodes):
            return RecordedPlaces(self.sources.ops)
        return tuple(
            StepPlace(
                line=node.place.line,
                column=node.place.column,
                kind=node.kind,
                label=node.step.label or main_name(node),
            )
            for node in self.sources
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBody:
    """What a `graph` step captures; `stream` is the one that it is launched on, which captures.

    The body's buffers are the lasting ones, as in the scenario, and then its own.
    """

    name: str
    stream: int
    expansion: Expansion

    @property
    def identity(self) -> tuple[object, ...]:
        """Bodies alike are one graph."""
        return (self.stream, self.expansion.steps, self.expansion.buffers)


def main_name(node: StepNode) -> str:
    """The value of a step's own key where that is a name: `x$i` of `alloc: x$i`."""
    value = getattr(node.step, node.kind)
    return value if isinstance(value, str) else ""
