"""Names to indices while a scenario is expanded: streams, buffers, events, latches, fills.

The tables grow with the steps and live for one expansion.  A buffer's name means the latest buffer
that an `alloc` gave it, freed or not: what was freed is for `lifetimes` to complain about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from poolbench.domain import MemoryKind
from poolbench.errors import Note, Place
from poolbench.plan.faults import Faults
from poolbench.plan.head import Head
from poolbench.plan.names import suggestion
from poolbench.plan.plan import BufferSpec, StreamSpec


@dataclass(slots=True)
class Buffer:
    """A buffer in the making; `written` is its name as the file has it.

    `size` 0 stands for a size that could not be read.
    """

    name: str
    written: str
    size: int
    memory: MemoryKind | None = None
    alloc_step: int = -1
    free_step: int = -1
    seed: int = 0
    """Of the last fill; 0 = none."""

    @property
    def is_device(self) -> bool:
        return self.memory in (None, MemoryKind.DEVICE)

    @property
    def spec(self) -> BufferSpec:
        return BufferSpec(
            name=self.name,
            size=self.size,
            memory=self.memory,
            alloc_step=self.alloc_step,
            free_step=self.free_step,
        )


@dataclass(slots=True)
class Tables:
    """`is_complete` is false once a step had to be left out: the order of the rest is not the
    scenario's."""

    faults: Faults
    streams: list[StreamSpec]
    buffers: list[Buffer]
    stream_index: dict[str, int]
    buffer_index: dict[str, int]
    kernel_index: dict[str, int]
    event_index: dict[str, int] = field(default_factory=dict)
    event_mentions: dict[int, tuple[Place, str]] = field(default_factory=dict)
    recorded: set[int] = field(default_factory=set)
    unknown_buffers: list[tuple[Place, str, str]] = field(default_factory=list)
    n_held: dict[int, int] = field(default_factory=dict)
    n_released: dict[int, int] = field(default_factory=dict)
    created: set[int] = field(default_factory=set)
    destroyed: set[int] = field(default_factory=set)
    n_fills: int = 0
    is_complete: bool = True
    outside: Mapping[str, int] = field(default_factory=dict)
    """In a graph: the buffers around it, which it cannot use."""

    @classmethod
    def of(cls, head: Head, faults: Faults) -> Tables:
        buffers = [
            Buffer(name=spec.name, written=spec.name, size=spec.size, memory=spec.memory)
            for spec in head.buffers
        ]
        return cls(
            faults=faults,
            streams=list(head.streams),
            buffers=buffers,
            stream_index={stream.name: index for index, stream in enumerate(head.streams)},
            buffer_index={buffer.name: index for index, buffer in enumerate(buffers)},
            kernel_index={kernel.name: index for index, kernel in enumerate(head.kernels)},
        )

    def in_graph(self) -> Tables:
        """Those of a graph's body: the same streams, kernels and lasting buffers, and nothing else
        that this knows."""
        lasting = [buffer for buffer in self.buffers if buffer.memory is not None]
        return Tables(
            faults=self.faults,
            streams=self.streams,
            buffers=lasting,
            stream_index=self.stream_index,
            buffer_index={buffer.name: index for index, buffer in enumerate(lasting)},
            kernel_index=self.kernel_index,
            outside=self.buffer_index,
        )

    def stream(self, name: str, place: Place, written: str) -> int | None:
        index = self.stream_index.get(name)
        if index is None:
            self.faults.error(
                place,
                "unknown-stream",
                lambda: f"there is no stream {name}{suggestion(name, self.stream_index)}",
                written=written,
            )
        return index

    def buffer(self, name: str, place: Place, written: str) -> int | None:
        """A buffer that exists or existed; whether another one comes later is seen at the end."""
        index = self.buffer_index.get(name)
        if index is None:
            self.unknown_buffers.append((place, name, written))
        return index

    def event(self, name: str, place: Place, written: str) -> int:
        """An event exists from its first mention on; `close` sees if nothing records it."""
        index = self.event_index.setdefault(name, len(self.event_index))
        self.event_mentions.setdefault(index, (place, written))
        return index

    def hold(self, stream: int) -> int:
        self.n_held[stream] = self.n_held.get(stream, 0) + 1
        return self.n_held[stream]

    def release(self, stream: int) -> int:
        """The ticket of the oldest closed latch; one too many if there is none."""
        self.n_released[stream] = self.n_released.get(stream, 0) + 1
        return self.n_released[stream]

    def note_create(self, stream: int) -> None:
        """A stream whose first such step creates it is not there before."""
        if stream not in self.destroyed and stream not in self.created:
            self.created.add(stream)

    def note_destroy(self, stream: int) -> None:
        if stream not in self.created:
            self.destroyed.add(stream)

    def close(self, alloc_places: Sequence[tuple[str, Place]]) -> None:
        """Faults that are certain only after the last step.

        `alloc_places` holds (name, place) of every allocation.
        """
        places = dict(reversed(alloc_places))

        def no_buffer(name: str) -> str:
            return f"there is no buffer {name}{suggestion(name, self.buffer_index)}"

        for place, name, written in self.unknown_buffers:
            if name in places:
                self.faults.error(
                    place,
                    "use-before-alloc",
                    f"buffer {name} is used before it is allocated",
                    written=written,
                    notes=(Note(place=places[name], message="allocated here, later"),),
                )
            elif name in self.outside:
                self.faults.error(
                    place,
                    "graph-outer-buffer",
                    f"buffer {name} is allocated outside of this graph, which keeps the addresses "
                    "of its capture",
                    written=written,
                )
            else:
                self.faults.error(
                    place, "unknown-buffer", partial(no_buffer, name), written=written
                )
        recorded = [name for name, index in self.event_index.items() if index in self.recorded]

        def no_event(name: str) -> str:
            return f"no step records event {name}{suggestion(name, recorded)}"

        for name, index in self.event_index.items():
            if index not in self.recorded:
                place, written = self.event_mentions[index]
                self.faults.error(place, "unknown-event", partial(no_event, name), written=written)
                self.is_complete = False
        self.is_complete = self.is_complete and not self.unknown_buffers

    def final_streams(self) -> tuple[StreamSpec, ...]:
        return tuple(
            StreamSpec(
                name=stream.name,
                kind=stream.kind,
                priority=stream.priority,
                is_created_by_step=index in self.created,
            )
            for index, stream in enumerate(self.streams)
        )
