"""One step of the file, in one pass of its loops, as a concrete step of the plan.

Faults go to the scope's list; a step that cannot be made at all is `None`, one with a bad number
goes on with a placeholder so that what depends on it is still checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from poolbench.domain import CopyKind, MemoryKind, StreamKind
from poolbench.errors import Place
from poolbench.plan import steps
from poolbench.plan.draws import draw
from poolbench.plan.launches import launch
from poolbench.plan.scope import Read, Scope
from poolbench.plan.tables import Buffer, Tables
from poolbench.scenario import schema
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.values import Draw, Value
from poolbench.units import format_size

_HOST_SIDES = {
    CopyKind.H2D: (False, True),
    CopyKind.D2H: (True, False),
    CopyKind.D2D: (False, False),
}
"""Copy kind -> whether destination and source are on the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A step of the file; `identity` sets its draws apart from those of other steps."""

    node: StepNode
    identity: str

    def place(self, key: str) -> Place:
        return self.node.places.get(key, self.node.place)


@dataclass(slots=True, kw_only=True)
class Translator:
    scope: Scope
    tables: Tables
    seed: int

    # --- the values of a step ---------------------------------------------------------------

    def error(self, source: Source, key: str, code: str, message: str, written: str = "") -> None:
        self.scope.faults.error(source.place(key), code, message, written=written)

    def number(self, source: Source, key: str, value: Value, read: Read) -> int | None:
        if isinstance(value, Draw):
            identity = f"{source.identity}|{key}"
            return draw(value, seed=self.seed, identity=identity, indices=tuple(self.scope.indices))
        return self.scope.number(value, source.place(key), read)

    def name(self, source: Source, key: str, written: str) -> str | None:
        return self.scope.name(written, source.place(key))

    def stream(self, source: Source, key: str, written: str) -> int | None:
        name = self.name(source, key, written)
        return None if name is None else self.tables.stream(name, source.place(key), written)

    def event(self, source: Source, key: str, written: str) -> int | None:
        name = self.name(source, key, written)
        return None if name is None else self.tables.event(name, source.place(key), written)

    def buffer(self, source: Source, key: str, written: str) -> int | None:
        name = self.name(source, key, written)
        return None if name is None else self.tables.buffer(name, source.place(key), written)

    def device_buffer(self, source: Source, key: str, written: str, what: str) -> int | None:
        """A buffer in device memory; another one is a fault."""
        index = self.buffer(source, key, written)
        if index is not None and not self.tables.buffers[index].is_device:
            buffer = self.tables.buffers[index]
            self.error(
                source,
                key,
                "wrong-memory",
                f"a {what} needs device memory; {buffer.name} is {buffer.memory} host memory",
                written,
            )
        return index

    def size_within(self, source: Source, value: Value | None, buffers: tuple[Buffer, ...]) -> int:
        """The size of a step on `buffers`: by default all of the smallest."""
        smallest = min(buffers, key=lambda buffer: buffer.size)
        if value is None:
            return smallest.size
        size = self.number(source, "size", value, schema.read_size)
        if size is None:
            return smallest.size
        if size == 0:
            self.error(source, "size", "zero-size", "0 bytes are nothing to do")
        elif smallest.size and size > smallest.size:
            self.error(
                source,
                "size",
                "size-too-large",
                f"{format_size(size)} is more than buffer {smallest.name} holds "
                f"({format_size(smallest.size)})",
                smallest.written,
            )
        return size

    # --- steps ------------------------------------------------------------------------------

    def step(self, source: Source, at: int) -> tuple[steps.Step | None, str]:
        """The concrete step at index `at`, and its name for messages and tables."""
        model = source.node.step
        made, name = self._step(source, model, at)
        if made is None:
            self.tables.is_complete = False
        if model.label is not None:
            label = self.name(source, "label", model.label)
            name = name if label is None else label
        return made, name

    def _step(
        self, source: Source, model: schema.StepModel, at: int
    ) -> tuple[steps.Step | None, str]:
        match model:
            case schema.AllocStep():
                return self._alloc(source, model, at)
            case schema.FreeStep():
                return self._free(source, model, at)
            case schema.KernelStep():
                return launch(self, source, model)
            case schema.MemcpyStep():
                return self._memcpy(source, model)
            case schema.MemsetStep() | schema.FillStep() | schema.CheckStep():
                return self._pattern(source, model)
            case schema.RecordStep() | schema.WaitStep():
                return self._event_step(source, model)
            case schema.SyncStep() | schema.QueryStep():
                return self._host_step(source, model)
            case schema.HostStep(host=host):
                duration_ns = self.number(source, "host", host, schema.read_duration)
                return steps.HostWork(duration_ns=duration_ns or 0), ""
            case schema.TrimStep(trim=trim):
                return steps.Trim(keep=self.number(source, "trim", trim, schema.read_size) or 0), ""
            case schema.SampleStep(sample=sample):
                name = self.name(source, "sample", sample)
                return (None, "") if name is None else (steps.Sample(name=name), name)
            case (
                schema.HoldStep()
                | schema.ReleaseStep()
                | schema.CreateStep()
                | schema.DestroyStep()
            ):
                return self._stream_step(source, model)
            case _:
                raise TypeError(f"no plan step for {type(model).__name__}")

    def _alloc(
        self, source: Source, model: schema.AllocStep, at: int
    ) -> tuple[steps.Step | None, str]:
        tables = self.tables
        name = self.name(source, "alloc", model.alloc)
        size = self.number(source, "size", model.size, schema.read_size)
        stream = self.stream(source, "stream", model.stream)
        if name is None:
            return None, ""
        if size == 0:
            self.error(source, "size", "zero-size", f"buffer {name} has 0 bytes", model.alloc)
        known = tables.buffer_index.get(name)
        if known is not None and tables.buffers[known].memory is not None:
            self.error(
                source,
                "alloc",
                "duplicate-name",
                f"{name} is a buffer that exists before the first step",
                model.alloc,
            )
            return None, name
        index = len(tables.buffers)
        tables.buffers.append(Buffer(name=name, written=model.alloc, size=size or 0, alloc_step=at))
        tables.buffer_index[name] = index
        if stream is None:
            return None, name
        return steps.Alloc(stream=stream, buffer=index, size=size or 0), name

    def _free(
        self, source: Source, model: schema.FreeStep, at: int
    ) -> tuple[steps.Step | None, str]:
        index = self.buffer(source, "free", model.free)
        stream = self.stream(source, "stream", model.stream)
        if index is None:
            return None, ""
        buffer = self.tables.buffers[index]
        if buffer.memory is not None:
            self.error(
                source,
                "free",
                "free-of-buffer",
                f"{buffer.name} exists during the whole run; only what an alloc made can be freed",
                model.free,
            )
            return None, buffer.name
        if stream is None:
            return None, buffer.name
        if buffer.free_step < 0:
            buffer.free_step = at
        return steps.Free(stream=stream, buffer=index), buffer.name

    def _memcpy(self, source: Source, model: schema.MemcpyStep) -> tuple[steps.Step | None, str]:
        dst = self.buffer(source, "dst", model.dst)
        src = self.buffer(source, "src", model.src)
        stream = self.stream(source, "stream", model.stream)
        if dst is None or src is None:
            return None, ""
        target, origin = self.tables.buffers[dst], self.tables.buffers[src]
        sides = (("dst", model.dst, target), ("src", model.src, origin))
        for (key, written, buffer), on_host in zip(sides, _HOST_SIDES[model.memcpy], strict=True):
            if buffer.is_device is on_host:
                wanted = "pinned or pageable host memory" if on_host else "device memory"
                kind = buffer.memory or MemoryKind.DEVICE
                self.error(
                    source,
                    key,
                    "wrong-memory",
                    f"the {key} of {model.memcpy} must be {wanted}; {buffer.name} is {kind}",
                    written,
                )
        if dst == src:
            self.error(
                source, "src", "copy-to-itself", f"{target.name} is copied to itself", model.src
            )
        size = self.size_within(source, model.size, (target, origin))
        if stream is None:
            return None, target.name
        is_pageable = MemoryKind.PAGEABLE in (target.memory, origin.memory)
        made = steps.Memcpy(
            stream=stream, kind=model.memcpy, dst=dst, src=src, size=size, is_pageable=is_pageable
        )
        return made, target.name

    def _pattern(
        self, source: Source, model: schema.MemsetStep | schema.FillStep | schema.CheckStep
    ) -> tuple[steps.Step | None, str]:
        match model:
            case schema.MemsetStep(memset=written):
                key = "memset"
            case schema.FillStep(fill=written):
                key = "fill"
            case schema.CheckStep(check=written):
                key = "check"
            case _:
                assert_never(model)
        index = self.device_buffer(source, key, written, key)
        stream = self.stream(source, "stream", model.stream)
        if index is None:
            return None, ""
        buffer = self.tables.buffers[index]
        if isinstance(model, schema.MemsetStep):
            size = self.size_within(source, model.size, (buffer,))
            if stream is None:
                return None, buffer.name
            memset = steps.Memset(stream=stream, buffer=index, value=model.value, size=size)
            return memset, buffer.name
        if stream is None:
            return None, buffer.name
        if isinstance(model, schema.FillStep):
            self.tables.n_fills += 1
            buffer.seed = self.tables.n_fills
            fill = steps.Fill(stream=stream, buffer=index, seed=buffer.seed, size=buffer.size)
            return fill, buffer.name
        check = steps.Check(stream=stream, buffer=index, seed=buffer.seed, size=buffer.size)
        return check, buffer.name

    def _event_step(
        self, source: Source, model: schema.RecordStep | schema.WaitStep
    ) -> tuple[steps.Step | None, str]:
        is_record = isinstance(model, schema.RecordStep)
        key = "record" if is_record else "wait"
        written = model.record if isinstance(model, schema.RecordStep) else model.wait
        event = self.event(source, key, written)
        stream = self.stream(source, "stream", model.stream)
        name = self.name(source, key, written) or ""
        if event is None:
            return None, name
        if is_record:
            self.tables.recorded.add(event)
        if stream is None:
            return None, name
        make = steps.Record if is_record else steps.Wait
        return make(stream=stream, event=event), name

    def _host_step(
        self, source: Source, model: schema.SyncStep | schema.QueryStep
    ) -> tuple[steps.Step | None, str]:
        is_sync = isinstance(model, schema.SyncStep)
        key = "sync" if is_sync else "query"
        target = model.sync if isinstance(model, schema.SyncStep) else model.query
        for other, given in (("stream", model.stream), ("event", model.event)):
            if other == target and given is None:
                self.error(source, key, "missing-key", f"{key}: {target} needs the key {other}")
            elif other != target and given is not None:
                self.error(
                    source, other, "key-not-used", f"{key}: {target} has no use for the key {other}"
                )
        if target == "stream" and model.stream is not None:
            stream = self.stream(source, "stream", model.stream)
            name = self.name(source, "stream", model.stream) or ""
            if stream is None:
                return None, name
            return (steps.SyncStream if is_sync else steps.QueryStream)(stream=stream), name
        if target == "event" and model.event is not None:
            event = self.event(source, "event", model.event)
            name = self.name(source, "event", model.event) or ""
            if event is None:
                return None, name
            return (steps.SyncEvent if is_sync else steps.QueryEvent)(event=event), name
        return (steps.SyncDevice(), "device") if target == "device" else (None, "")

    def _stream_step(
        self,
        source: Source,
        model: schema.HoldStep | schema.ReleaseStep | schema.CreateStep | schema.DestroyStep,
    ) -> tuple[steps.Step | None, str]:
        match model:
            case schema.HoldStep(hold=written):
                key = "hold"
            case schema.ReleaseStep(release=written):
                key = "release"
            case schema.CreateStep(create=written):
                key = "create"
            case schema.DestroyStep(destroy=written):
                key = "destroy"
            case _:
                assert_never(model)
        stream = self.stream(source, key, written)
        if stream is None:
            return None, ""
        spec, tables = self.tables.streams[stream], self.tables
        if key in ("create", "destroy") and spec.kind in (
            StreamKind.LEGACY_DEFAULT,
            StreamKind.PER_THREAD_DEFAULT,
        ):
            self.error(
                source,
                key,
                "default-stream",
                f"stream {spec.name} is a default stream; no step creates or destroys it",
                written,
            )
            return None, spec.name
        match model:
            case schema.HoldStep():
                return steps.Hold(stream=stream, ticket=tables.hold(stream)), spec.name
            case schema.ReleaseStep():
                return steps.Release(stream=stream, ticket=tables.release(stream)), spec.name
            case schema.CreateStep():
                tables.note_create(stream)
                return steps.CreateStream(stream=stream), spec.name
            case schema.DestroyStep():
                tables.note_destroy(stream)
                return steps.DestroyStream(stream=stream), spec.name
            case _:
                assert_never(model)
