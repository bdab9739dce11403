"""The steps of a recorded program as those of a plan.

Pure.  A kernel becomes one that spins for the recorded time on as many blocks as were recorded, up
to `MAX_BLOCKS`: each block spins for the whole time, so that all of them have to run at once.  Each
row of the recording is a step, and its place is its number: line 17 is the seventeenth step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from poolbench.domain import CopyKind, MemoryKind
from poolbench.errors import Place
from poolbench.plan import steps as st
from poolbench.plan.plan import BufferSpec, StepPlace, StreamSpec
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.step_models import HostStep
from poolbench.scenario.workload import COLUMNS, OPS, Workload

_KINDS = {
    "sync_stream": "sync",
    "sync_event": "sync",
    "sync_device": "sync",
    "query_stream": "query",
    "query_event": "query",
}
MAX_BLOCKS = 128
"""Of a kernel that stands for a recorded one: a block for each multiprocessor of a large GPU."""
_HOST_SIDE = (MemoryKind.PINNED, MemoryKind.PAGEABLE)


@dataclass(frozen=True, slots=True)
class RecordedPlaces(Sequence[StepPlace]):
    """The places of all rows: a number and a kind, made when somebody asks."""

    ops: bytes

    def __len__(self) -> int:
        return len(self.ops)

    @overload
    def __getitem__(self, index: int) -> StepPlace: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[StepPlace, ...]: ...

    def __getitem__(self, index: int | slice) -> StepPlace | tuple[StepPlace, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self.ops))))
        op = OPS[self.ops[index]]
        return StepPlace(line=index + 1, column=1, kind=_KINDS.get(op, op), label="")


@dataclass(frozen=True, slots=True)
class RecordedNodes(Sequence[StepNode]):
    """The same for whoever asks for steps of a file: a recording has none."""

    ops: bytes

    def __len__(self) -> int:
        return len(self.ops)

    @overload
    def __getitem__(self, index: int) -> StepNode: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[StepNode, ...]: ...

    def __getitem__(self, index: int | slice) -> StepNode | tuple[StepNode, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self.ops))))
        op = OPS[self.ops[index]]
        place = Place(line=index + 1, column=1)
        return StepNode(kind=_KINDS.get(op, op), step=_NO_STEP, place=place, places={})


_NO_STEP = HostStep(host=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSteps:
    """`origin[k]` is the row that step `k` came from."""

    steps: tuple[st.Step, ...]
    origin: tuple[int, ...]
    names: tuple[str, ...]
    buffers: tuple[BufferSpec, ...]
    events: tuple[str, ...]


def recorded_steps(
    workload: Workload,
    streams: Sequence[StreamSpec],
    lasting: Sequence[BufferSpec],
    *,
    keeps_host: bool,
) -> RecordedSteps:
    """`streams` and `lasting` (buffers) are those of the head, in its order; `keeps_host`: with the
    program's own time between its calls."""
    return _Translation(workload, streams, lasting).run(keeps_host=keeps_host)


class _Translation:
    """One pass over the rows."""

    def __init__(
        self, workload: Workload, streams: Sequence[StreamSpec], lasting: Sequence[BufferSpec]
    ) -> None:
        self._workload = workload
        of_stream = {spec.name: index for index, spec in enumerate(streams)}
        self._streams = [of_stream[name] for name in workload.streams]
        self._names = workload.names or ("",)
        by_name = {spec.name: index for index, spec in enumerate(lasting)}
        self._buffers = [*lasting]
        self._lasting = [by_name[name] for name in workload.buffers]
        self._index: list[int] = [*self._lasting]
        """Number of a buffer in the workload -> in the plan."""
        self._launches: dict[tuple[int, int, int, int], st.Launch] = {}
        """Equal launches are one value."""
        self._alloc_step: dict[int, int] = {}
        self._free_step: dict[int, int] = {}

    def run(self, *, keeps_host: bool) -> RecordedSteps:
        steps: list[st.Step] = []
        origin: list[int] = []
        names: list[str] = []
        for row, (op, *cells) in enumerate(self._rows()):
            if op == "host" and not keeps_host:
                continue
            step, name = self._step(op, len(steps), *cells)
            steps.append(step)
            origin.append(row)
            names.append(name)
        return RecordedSteps(
            steps=tuple(steps),
            origin=tuple(origin),
            names=tuple(names),
            buffers=tuple(self._finished()),
            events=tuple(f"e{number}" for number in range(self._workload.n_events)),
        )

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        columns = self._workload.columns
        order = [name for name in COLUMNS if name != "op"]
        ops = (OPS[code] for code in columns["op"].tolist())
        return zip(ops, *(columns[name].tolist() for name in order), strict=True)

    def _finished(self) -> Iterator[BufferSpec]:
        for index, spec in enumerate(self._buffers):
            if index not in self._alloc_step:
                yield spec
                continue
            yield BufferSpec(
                name=spec.name,
                size=spec.size,
                alloc_step=self._alloc_step[index],
                free_step=self._free_step.get(index, -1),
            )

    def _step(
        self,
        op: str,
        at: int,
        stream: int,
        buffer: int,
        source: int,
        size: int,
        duration_ns: int,
        event: int,
        blocks: int,
        threads: int,
        name: int,
    ) -> tuple[st.Step, str]:
        told = self._names[name] if name >= 0 else ""
        on = stream
        stream = self._streams[stream] if stream >= 0 else stream
        match op:
            case "alloc":
                return self._alloc(at, stream, size, told)
            case "free":
                index = self._index[buffer]
                self._free_step[index] = at
                return st.Free(stream=stream, buffer=index), self._buffers[index].name
            case "kernel":
                key = (stream, duration_ns, blocks, threads)
                launch = self._launches.get(key)
                if launch is None:
                    blocks = min(MAX_BLOCKS, max(1, blocks))
                    grid = st.Grid(blocks=blocks, threads=min(1024, max(32, threads)))
                    work = st.Spin(duration_ns=duration_ns)
                    launch = st.Launch(stream=stream, work=work, grid=grid)
                    self._launches[key] = launch
                return launch, told or "kernel"
            case "memcpy":
                return self._memcpy(stream, buffer, source, size), told or "memcpy"
            case "memset":
                index = self._index[buffer]
                size = min(size, self._buffers[index].size)
                return st.Memset(stream=stream, buffer=index, value=0, size=size), told or "memset"
            case "record":
                return st.Record(stream=stream, event=event), f"e{event}"
            case "wait":
                return st.Wait(stream=stream, event=event), f"e{event}"
            case "sync_stream":
                return st.SyncStream(stream=stream), self._workload.streams[on]
            case "sync_event":
                return st.SyncEvent(event=event), f"e{event}"
            case "sync_device":
                return st.SyncDevice(), "device"
            case "query_stream":
                return st.QueryStream(stream=stream), self._workload.streams[on]
            case "query_event":
                return st.QueryEvent(event=event), f"e{event}"
            case "trim":
                return st.Trim(keep=size), ""
            case _:
                return st.HostWork(duration_ns=duration_ns), ""

    def _alloc(self, at: int, stream: int, size: int, told: str) -> tuple[st.Step, str]:
        index = len(self._buffers)
        name = told or f"b{len(self._index) - len(self._lasting)}"
        self._buffers.append(BufferSpec(name=name, size=size))
        self._index.append(index)
        self._alloc_step[index] = at
        return st.Alloc(stream=stream, buffer=index, size=size), name

    def _memcpy(self, stream: int, buffer: int, source: int, size: int) -> st.Step:
        dst, src = self._index[buffer], self._index[source]
        of_dst, of_src = self._buffers[dst], self._buffers[src]
        kind = CopyKind.D2D
        if of_src.memory in _HOST_SIDE:
            kind = CopyKind.H2D
        elif of_dst.memory in _HOST_SIDE:
            kind = CopyKind.D2H
        return st.Memcpy(
            stream=stream,
            kind=kind,
            dst=dst,
            src=src,
            size=min(size, of_dst.size, of_src.size),
            is_pageable=MemoryKind.PAGEABLE in (of_dst.memory, of_src.memory),
        )
