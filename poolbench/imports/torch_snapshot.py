"""PyTorch's memory snapshots: `torch.cuda.memory._dump_snapshot`.

A snapshot is a pickle.  It is read by an unpickler that can make nothing but plain containers,
numbers and texts: whatever else the file asks for is refused, and no code of it runs.

`free_completed` is when the caching allocator had the block again: later than `free_requested`
where other streams still used it.  The free stands there, on the allocation's stream.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from poolbench.domain import StreamKind
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

MAX_BYTES = 512 * 2**20
_SEGMENTS = frozenset({"segment_alloc", "segment_free", "segment_map", "segment_unmap"})
_SILENT = frozenset({"snapshot", "annotate"})
_MAGIC = (b"\x80",)


class _Plain(pickle.Unpickler):
    """Containers, numbers, texts, and nothing that has a name."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no snapshot needs")

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002  # the name that pickle gives it
        raise pickle.UnpicklingError("it refers to something outside of it")


def is_start(head: bytes) -> bool:
    return head.startswith(_MAGIC)


def load(file: IO[bytes]) -> Any:
    """The plain value; raises `Damaged`."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Damaged(0, MAX_BYTES, f"larger than {MAX_BYTES // 2**20} MiB")
    _refuse_bombs(data)
    stream = io.BytesIO(data)
    try:
        return _Plain(stream).load()
    except RecursionError:
        raise Damaged(0, stream.tell(), "nested too deeply") from None
    except Exception as fault:  # noqa: BLE001  # a hostile pickle may fail in any way
        raise Damaged(0, stream.tell(), f"no snapshot: {str(fault)[:200]}") from None


def _refuse_bombs(data: bytes) -> None:
    """Counts what the pickle would build before anything of it is built: a text that is memoised
    and repeated makes a small file large only by references, which cost nothing; what costs is
    counted by the opcodes, one by one."""
    n = 0
    try:
        for opcode, _argument, position in pickletools.genops(data):
            n += 1
            if opcode.name in (
                "GLOBAL",
                "STACK_GLOBAL",
                "REDUCE",
                "INST",
                "OBJ",
                "NEWOBJ",
                "BUILD",
            ):
                raise Damaged(0, position or 0, f"it wants to run something ({opcode.name})")
    except Damaged:
        raise
    except Exception as fault:  # noqa: BLE001  # pickletools raises whatever it meets
        raise Damaged(0, len(data), f"no whole pickle: {str(fault)[:200]}") from None


def read(
    file: IO[bytes], builder: Builder, assumed: Assumed, on_line: Callable[[int], None]
) -> None:
    """The events of the first device that has some.  Raises `Damaged`."""
    snapshot = load(file)
    if not isinstance(snapshot, Mapping):
        what = "a list of segments, as old versions wrote it" if isinstance(snapshot, list) else ""
        raise Damaged(0, 0, f"no history of allocations in it{f': {what}' if what else ''}")
    traces = snapshot.get("device_traces")
    if not isinstance(traces, Sequence) or isinstance(traces, str | bytes):
        raise Damaged(0, 0, "it has no `device_traces`")
    used = [(device, trace) for device, trace in enumerate(traces) if trace]
    if not used:
        raise Damaged(0, 0, "it holds no events: _record_memory_history was not on")
    device, trace = used[0]
    if len(used) > 1:
        n_others = sum(len(other) for _, other in used[1:])
        builder.fidelity.lost[f"events of other devices than {device}"] += n_others
    history = _History(builder, assumed)
    for number, event in enumerate(trace, 1):
        if not isinstance(event, Mapping):
            raise Damaged(number, 1, "an event is no mapping")
        history.event(number, event)
        if not number % 20_000:
            on_line(number)
    history.close()


class _History:
    """One pass over the events of a device."""

    def __init__(self, builder: Builder, assumed: Assumed) -> None:
        self._builder = builder
        self._assumed = assumed
        self._pending: dict[int, int] = {}
        """Address whose free was requested and is not complete -> events in between."""
        self._streams: dict[int, int] = {}
        self._time_us: int | None = None

    def event(self, number: int, event: Mapping[str, Any]) -> None:
        action = event.get("action")
        fidelity = self._builder.fidelity
        if action in _SILENT:
            return
        if action in _SEGMENTS:
            fidelity.lost["growth and release of the caching allocator's own segments"] += 1
            return
        if action == "oom":
            fidelity.lost["allocations that failed: whether they fail here, the run shows"] += 1
            return
        if action not in ("alloc", "free_requested", "free_completed"):
            fidelity.lost[f"events of a kind that is not known ({str(action)[:30]})"] += 1
            return
        address, size = _whole(number, event, "addr"), _whole(number, event, "size")
        self._host(event)
        stream = self._stream(_whole(number, event, "stream"))
        if action == "alloc":
            self._finish(address)
            self._builder.alloc(address, size, stream)
            self._streams[address] = stream
            if self._assumed.kernel_ns and self._builder.is_live(address):
                self._builder.kernel(self._assumed.kernel_ns, stream)
                fidelity.guessed["kernels, one after each allocation"] += 1
        elif action == "free_requested":
            self._pending[address] = number
        else:
            asked = self._pending.pop(address, None)
            if asked is not None and number - asked > 1 and self._builder.is_live(address):
                fidelity.guessed["frees that waited for another stream: put where they ended"] += 1
            self._builder.free(address, self._streams.pop(address, stream))

    def close(self) -> None:
        for address in list(self._pending):
            self._finish(address)
        self._builder.fidelity.note(
            "a snapshot knows no kernels, copies, events or synchronisations; allocations are "
            "those of PyTorch's caching allocator, as if each went to the driver's pool"
        )

    def _finish(self, address: int) -> None:
        """A free that was asked for and whose end the file does not have."""
        if address in self._pending:
            del self._pending[address]
            self._builder.free(address, self._streams.pop(address, 0))

    def _stream(self, handle: int) -> int:
        kind = StreamKind.LEGACY_DEFAULT if handle == 0 else StreamKind.NON_BLOCKING
        return self._builder.stream(str(handle), kind, "default" if handle == 0 else "")

    def _host(self, event: Mapping[str, Any]) -> None:
        now = event.get("time_us")
        if not self._assumed.keeps_host or not isinstance(now, int):
            return
        before, self._time_us = self._time_us, now
        if before is not None and 0 < now - before < 10**9:
            self._builder.host((now - before) * 1000)


def _whole(number: int, event: Mapping[str, Any], key: str) -> int:
    value = event.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise Damaged(number, 1, f"event {number}: {key} is no number")
    return value
