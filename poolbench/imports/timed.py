"""Calls and work with their times, put in the order of the host's calls and handed to the builder.

What Kineto and Nsight Systems have in common: work of the device and the call that issued it carry
one correlation number.  Times are nanoseconds of the file's own axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from poolbench.domain import MemoryKind
from poolbench.imports.builder import Assumed, Builder


@dataclass(frozen=True, slots=True)
class Kernel:
    """`start_ns` is when it ran on the device."""

    start_ns: int
    duration_ns: int
    stream: str
    blocks: int
    threads: int
    name: str


@dataclass(frozen=True, slots=True)
class Copy:
    start_ns: int
    duration_ns: int
    stream: str
    size: int
    source: MemoryKind
    target: MemoryKind


@dataclass(frozen=True, slots=True)
class Set:
    start_ns: int
    duration_ns: int
    stream: str
    size: int


Work = Kernel | Copy | Set


@dataclass(frozen=True, slots=True)
class Alloc:
    """`stream` `""` is not known: that of the next work which its thread issues."""

    address: int
    size: int
    stream: str


@dataclass(frozen=True, slots=True)
class Free:
    address: int
    stream: str


@dataclass(frozen=True, slots=True)
class Record:
    key: object
    stream: str


@dataclass(frozen=True, slots=True)
class Wait:
    key: object
    stream: str


@dataclass(frozen=True, slots=True)
class SyncStream:
    """`stream` `""`: that on which its thread issued work last."""

    stream: str


@dataclass(frozen=True, slots=True)
class SyncEvent:
    key: object


@dataclass(frozen=True, slots=True)
class SyncDevice:
    pass


@dataclass(frozen=True, slots=True)
class Trim:
    keep: int


Deed = Alloc | Free | Record | Wait | SyncStream | SyncEvent | SyncDevice | Trim


@dataclass(slots=True)
class _Call:
    begin_ns: int
    end_ns: int
    thread: int
    what: Work | Deed


@dataclass(slots=True)
class Calls:
    """Collected in any order."""

    _found: list[_Call] = field(default_factory=list)

    def add(self, begin_ns: int, end_ns: int, thread: int, what: Work | Deed) -> None:
        self._found.append(_Call(begin_ns, max(begin_ns, end_ns), thread, what))

    def __len__(self) -> int:
        return len(self._found)

    def build(self, builder: Builder, assumed: Assumed) -> dict[str, object]:
        """Hands everything on; what is known of the recorded run."""
        ordered = sorted(self._found, key=lambda call: call.begin_ns)
        of_alloc = self._streams_of_allocs(ordered, builder)
        last_stream: dict[int, str] = {}
        free_from = ordered[0].begin_ns if ordered else 0
        for call in ordered:
            if assumed.keeps_host:
                builder.host(call.begin_ns - free_from)
            free_from = max(free_from, call.end_ns)
            what = call.what
            if isinstance(what, Kernel | Copy | Set):
                last_stream[call.thread] = what.stream
            _hand_on(builder, what, of_alloc, last_stream.get(call.thread, ""))
        return _recorded(ordered)

    def _streams_of_allocs(self, ordered: list[_Call], builder: Builder) -> dict[int, str]:
        """Position of an allocation without a stream -> that of its thread's next work."""
        found: dict[int, str] = {}
        following: dict[int, str] = {}
        anybodys = ""
        for call in reversed(ordered):
            what = call.what
            if isinstance(what, Kernel | Copy | Set):
                following[call.thread] = anybodys = what.stream
            elif isinstance(what, Alloc) and not what.stream:
                found[id(what)] = following.get(call.thread, anybodys)
        if found:
            builder.fidelity.guessed[
                "streams of allocations: that of the next work of the same thread"
            ] += len(found)
        return found


def _hand_on(
    builder: Builder, what: Work | Deed, of_alloc: dict[int, str], last_stream: str
) -> None:
    match what:
        case Kernel():
            builder.kernel(
                what.duration_ns,
                builder.stream(what.stream),
                blocks=what.blocks,
                threads=what.threads,
                name=what.name,
            )
            builder.fidelity.kept["kernels, as long as they were"] += 1
        case Copy():
            builder.copy(what.size, builder.stream(what.stream), what.source, what.target)
        case Set():
            builder.memset(what.size, builder.stream(what.stream))
        case Alloc():
            stream = what.stream or of_alloc.get(id(what), "") or "0"
            builder.alloc(what.address, what.size, builder.stream(stream))
        case Free():
            builder.free_where_allocated(what.address, what.stream)
        case Record():
            builder.record(what.key, builder.stream(what.stream))
        case Wait():
            builder.wait(what.key, builder.stream(what.stream))
        case SyncStream():
            if not what.stream:
                text = "streams of synchronisations: that of the thread's last work"
                builder.fidelity.guessed[text] += 1
            builder.sync_stream(builder.stream(what.stream or last_stream or "0"))
        case SyncEvent():
            builder.sync_event(what.key)
        case SyncDevice():
            builder.sync_device()
        case Trim():
            builder.trim(what.keep)


def _recorded(ordered: list[_Call]) -> dict[str, object]:
    """From the first call to the end of the last work, as the file has it."""
    if not ordered:
        return {}
    ends = [*_device_ends(ordered), max(call.end_ns for call in ordered)]
    return {"makespan_ns": max(ends) - ordered[0].begin_ns}


def _device_ends(ordered: list[_Call]) -> Iterator[int]:
    for call in ordered:
        if isinstance(call.what, Kernel | Copy | Set):
            yield call.what.start_ns + call.what.duration_ns
