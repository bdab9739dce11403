"""The values of a step: names looked up, references and draws resolved, sizes held to bounds.

Faults go to the scope's list.  What cannot be looked up is `None`.
"""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.errors import Place
from poolbench.plan.draws import draw
from poolbench.plan.scope import Read, Scope
from poolbench.plan.steps import Step
from poolbench.plan.tables import Buffer, Tables
from poolbench.scenario import fieldtypes
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.values import Draw, Value
from poolbench.units import format_size

Made = tuple[Step | None, str]
"""A concrete step, `None` if it cannot be made, and its name for messages and tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A step of the file; `identity` sets its draws apart from those of other steps."""

    node: StepNode
    identity: str

    def place(self, key: str) -> Place:
        return self.node.places.get(key, self.node.place)


@dataclass(slots=True, kw_only=True)
class Values:
    """Reads the values of one scenario's steps."""

    scope: Scope
    tables: Tables
    seed: int

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
        size = self.number(source, "size", value, fieldtypes.read_size)
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
