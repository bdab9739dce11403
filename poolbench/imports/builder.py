"""Steps collected one by one while a file is read, and the workload that they make.

Grows with the file, about 40 bytes a step.  Addresses are matched to the allocation that is live
there; what does not match is counted as lost, never invented.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poolbench.domain import MemoryKind, StreamKind
from poolbench.errors import BadUsage
from poolbench.imports.fidelity import Fidelity
from poolbench.scenario.workload import COLUMNS, MAX_ROWS, OP, Workload

_TYPES = {"u1": "B", "i2": "h", "i4": "i", "i8": "q"}
_NOTHING = -1
MAX_STREAMS = 256


@dataclass(slots=True)
class Assumed:
    """What fills the gaps of a format.

    kernel_ns
        a kernel of this length after each allocation, where the format knows of no kernels; 0 is
        none.
    keeps_host
        the time between the host's calls, where the format knows it.
    """

    kernel_ns: int = 50_000
    keeps_host: bool = True


@dataclass(slots=True)
class Built:
    """`kinds[k]` is the kind of stream `k`; `buffers` are (name, size, memory) of those that no
    step allocates."""

    workload: Workload
    kinds: tuple[StreamKind, ...]
    buffers: tuple[tuple[str, int, MemoryKind], ...]
    largest: int
    """The most bytes that are live at once."""


@dataclass(slots=True)
class Builder:
    """`skip` steps of the file are passed over, `most` are taken; those behind are counted."""

    fidelity: Fidelity = field(default_factory=Fidelity)
    skip: int = 0
    most: int = MAX_ROWS
    _n_met: int = 0
    _columns: dict[str, array[int]] = field(
        default_factory=lambda: {name: array(_TYPES[kind]) for name, kind in COLUMNS.items()}
    )
    _streams: dict[str, int] = field(default_factory=dict)
    _kinds: list[StreamKind] = field(default_factory=list)
    _stream_names: list[str] = field(default_factory=list)
    _names: dict[str, int] = field(default_factory=dict)
    _live: dict[object, tuple[int, int]] = field(default_factory=dict)
    """Key of an allocation (its address) -> (number, size)."""
    _stream_of: dict[object, int] = field(default_factory=dict)
    _scratch: dict[int, int] = field(default_factory=dict)
    """Place that copies go to or come from -> the largest copy."""
    _events: dict[object, int] = field(default_factory=dict)
    _n_allocs: int = 0
    _live_bytes: int = 0
    _high: int = 0

    def __len__(self) -> int:
        return len(self._columns["op"])

    def _is_outside(self) -> bool:
        """Counts a step; whether it is not of the part that is wanted."""
        self._n_met += 1
        if self._n_met <= self.skip or self._n_met > self.skip + self.most:
            self.fidelity.lost["steps outside of the part that was asked for"] += 1
            return True
        return False

    # --- steps ------------------------------------------------------------------------------

    @property
    def n_streams(self) -> int:
        return len(self._streams)

    def stream(self, key: str, kind: StreamKind = StreamKind.NON_BLOCKING, name: str = "") -> int:
        """The number of a stream of the file; a new one at its first mention."""
        found = self._streams.get(key)
        if found is None:
            if len(self._streams) >= MAX_STREAMS:
                raise BadUsage(f"the file has more than {MAX_STREAMS} streams")
            found = self._streams[key] = len(self._streams)
            self._kinds.append(kind)
            self._stream_names.append(name)
        return found

    def alloc(self, key: object, size: int, stream: int) -> None:
        """`key` stands for the allocation until it is freed: its address."""
        if self._is_outside():
            return
        if size < 1:
            self.fidelity.lost["allocations of nothing"] += 1
            return
        if key in self._live:
            self.fidelity.lost["frees that the file does not have (the address came again)"] += 1
            self._live_bytes -= self._live.pop(key)[1]
        self._live[key] = (self._n_allocs, size)
        self._live_bytes += size
        self._high = max(self._high, self._live_bytes)
        self._stream_of[key] = stream
        self._add("alloc", stream=stream, buffer=self._n_allocs, size=size)
        self._n_allocs += 1
        self.fidelity.kept["allocations"] += 1

    def free(self, key: object, stream: int) -> bool:
        """Whether there was something to free."""
        if self._is_outside():
            return False
        found = self._live.pop(key, None)
        self._stream_of.pop(key, None)
        if found is None:
            self.fidelity.lost["frees of what was allocated before the file begins"] += 1
            return False
        self._live_bytes -= found[1]
        self._add("free", stream=stream, buffer=found[0])
        self.fidelity.kept["frees"] += 1
        return True

    def free_where_allocated(self, key: object, stream: str) -> None:
        """On a stream of the file, or on that of the allocation where none is known."""
        number = self.stream(stream) if stream else self._stream_of.get(key, 0)
        self.free(key, number)

    def is_live(self, key: object) -> bool:
        return key in self._live

    def kernel(
        self, duration_ns: int, stream: int, *, blocks: int = 1, threads: int = 256, name: str = ""
    ) -> None:
        if self._is_outside():
            return
        self._add(
            "kernel",
            stream=stream,
            duration_ns=max(0, duration_ns),
            blocks=min(blocks, 2**31 - 1),
            threads=min(max(threads, 1), 1024),
            name=self._name(name),
        )

    def copy(self, size: int, stream: int, source: MemoryKind, target: MemoryKind) -> None:
        """Between memory of these kinds; which buffers they were is not known."""
        if self._is_outside():
            return
        if size < 1:
            self.fidelity.lost["copies and memsets whose size the file does not have"] += 1
            return
        self._add(
            "memcpy",
            stream=stream,
            buffer=self._place(target, size, is_target=True),
            source=self._place(source, size, is_target=False),
            size=size,
        )
        self.fidelity.kept["copies"] += 1

    def memset(self, size: int, stream: int) -> None:
        if self._is_outside():
            return
        if size < 1:
            self.fidelity.lost["copies and memsets whose size the file does not have"] += 1
            return
        self._add(
            "memset",
            stream=stream,
            buffer=self._place(MemoryKind.DEVICE, size, is_target=True),
            size=size,
        )
        self.fidelity.kept["memsets"] += 1

    def record(self, key: object, stream: int) -> None:
        if self._is_outside():
            return
        number = self._events.setdefault(key, len(self._events))
        self._add("record", stream=stream, event=number)
        self.fidelity.kept["event records"] += 1

    def wait(self, key: object, stream: int) -> None:
        if self._is_outside():
            return
        if key not in self._events:
            self.fidelity.lost["waits for events that the file does not record"] += 1
            return
        self._add("wait", stream=stream, event=self._events[key])
        self.fidelity.kept["event waits"] += 1

    def sync_stream(self, stream: int) -> None:
        if self._is_outside():
            return
        self._add("sync_stream", stream=stream)
        self.fidelity.kept["synchronisations"] += 1

    def sync_event(self, key: object) -> None:
        if self._is_outside():
            return
        if key not in self._events:
            self.fidelity.lost["waits for events that the file does not record"] += 1
            return
        self._add("sync_event", event=self._events[key])
        self.fidelity.kept["synchronisations"] += 1

    def sync_device(self) -> None:
        if self._is_outside():
            return
        self._add("sync_device")
        self.fidelity.kept["synchronisations"] += 1

    def query_stream(self, stream: int) -> None:
        if self._is_outside():
            return
        self._add("query_stream", stream=stream)
        self.fidelity.kept["queries"] += 1

    def query_event(self, key: object) -> None:
        if self._is_outside():
            return
        if key not in self._events:
            self.fidelity.lost["queries of events that the file does not record"] += 1
            return
        self._add("query_event", event=self._events[key])
        self.fidelity.kept["queries"] += 1

    def host(self, duration_ns: int) -> None:
        """Time of the program itself; less than a microsecond is not worth a step."""
        if duration_ns >= 1000 and self.skip <= self._n_met < self.skip + self.most:
            self._add("host", duration_ns=duration_ns)

    def trim(self, keep: int) -> None:
        if self._is_outside():
            return
        self._add("trim", size=max(0, keep))
        self.fidelity.kept["trims"] += 1

    def _add(self, op: str, **cells: int) -> None:
        if len(self) >= MAX_ROWS:
            raise BadUsage(
                f"the file has more than {MAX_ROWS:,} steps",
                hint="import a part of it: --from N --steps K",
            )
        for name, column in self._columns.items():
            column.append(OP[op] if name == "op" else cells.get(name, _NOTHING))

    def _place(self, kind: MemoryKind, size: int, *, is_target: bool) -> int:
        """A number below -1 that stands for a lasting buffer until all are known."""
        spot = _SPOTS.index(f"{kind.value}_{'to' if is_target else 'from'}")
        self._scratch[spot] = max(size, self._scratch.get(spot, 0))
        return _FIRST_SPOT - spot

    def _name(self, name: str) -> int:
        if not name:
            return _NOTHING
        return self._names.setdefault(name[:200], len(self._names))

    # --- the whole --------------------------------------------------------------------------

    def build(self, recorded: dict[str, object] | None = None) -> Built:
        """Raises `BadUsage` where nothing was found."""
        if not len(self):
            raise BadUsage("there is nothing in the file that could be run")
        if self._live:
            self.fidelity.note(f"{len(self._live):,} allocations are live at the end")
        self._add_sync()
        used = [(spot, _KINDS_OF_SPOTS[spot], size) for spot, size in sorted(self._scratch.items())]
        number = {spot: index for index, (spot, _, _) in enumerate(used)}
        columns = {
            name: np.frombuffer(column, dtype=COLUMNS[name]).copy() if len(column) else np.array([])
            for name, column in self._columns.items()
        }
        self._renumber(columns, number, len(used))
        names = self._named_streams()
        return Built(
            workload=Workload(
                columns=columns,
                streams=names,
                buffers=tuple(_SPOTS[spot] for spot, _, _ in used),
                names=tuple(self._names),
                recorded=recorded or {},
            ),
            kinds=tuple(self._kinds),
            buffers=tuple((_SPOTS[spot], size, kind) for spot, kind, size in used),
            largest=self._high,
        )

    def _add_sync(self) -> None:
        """A stream that only synchronisations mention would be declared for nothing: harmless."""
        if not self._streams:
            self.stream("0")

    @staticmethod
    def _renumber(
        columns: dict[str, npt.NDArray[Any]],
        number: dict[int, int],
        n_lasting: int,
    ) -> None:
        """Scratch places (below -1) become lasting buffers, allocations come behind those."""
        op = columns["op"]
        for name in ("buffer", "source"):
            column = columns[name]
            is_spot = column <= _FIRST_SPOT
            is_alloc = np.isin(op, [OP["alloc"], OP["free"]]) & (name == "buffer")
            column[is_alloc] += n_lasting
            spots = _FIRST_SPOT - column[is_spot]
            column[is_spot] = [number[int(spot)] for spot in spots]

    def _named_streams(self) -> tuple[str, ...]:
        taken: set[str] = set()
        names = []
        for index, name in enumerate(self._stream_names):
            name = name if name and name not in taken else f"s{index}"
            taken.add(name)
            names.append(name)
        return tuple(names)


_SPOTS = ("device_to", "device_from", "pinned_to", "pinned_from", "pageable_to", "pageable_from")
"""Lasting buffers: where copies go to and come from."""
_KINDS_OF_SPOTS = tuple(MemoryKind(name.split("_")[0]) for name in _SPOTS)
_FIRST_SPOT = -2
