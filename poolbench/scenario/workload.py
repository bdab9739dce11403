"""Steps of a recorded program, column by column: the file beside a scenario that was imported.

Pure but for reading and writing the file.  The file is a NumPy archive (`.npz`): one array for each
column, all of one length, and `meta`, a JSON text; nothing in it is a pickle.  As a table:
`pandas.DataFrame({name: archive[name] for name in COLUMNS})`.  `docs/importing.md` describes it.

Sizes are bytes, times nanoseconds; -1 is "none".
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FORMAT_VERSION = 1
ENDING = ".steps.npz"
MAX_ROWS = 4_000_000
"""Of a file; how many can be run in one iteration, the planner says."""
MAX_BYTES = 512 * 2**20
"""Of a file, unpacked: no archive makes us take more memory than this."""

OPS = (
    "alloc",
    "free",
    "kernel",
    "memcpy",
    "memset",
    "record",
    "wait",
    "sync_stream",
    "sync_event",
    "sync_device",
    "query_stream",
    "query_event",
    "host",
    "trim",
)
"""What a row does; the column `op` holds the index."""
OP: dict[str, int] = {name: index for index, name in enumerate(OPS)}

COLUMNS: dict[str, str] = {
    "op": "u1",
    "stream": "i2",
    "buffer": "i4",
    "source": "i4",
    "size": "i8",
    "duration_ns": "i8",
    "event": "i4",
    "blocks": "i4",
    "threads": "i2",
    "name": "i4",
}
"""Column -> its type.

stream
    index into `meta["streams"]`; -1 for rows of the host.
buffer
    allocations count from the number of lasting buffers on, in order; frees name one of them;
    copies (their destination) and memsets any buffer.
source
    of a copy.
duration_ns
    of a kernel on the device, or of the host's own work.
event
    of record, wait, sync_event, query_event.
blocks, threads
    of a kernel's grid.
name
    index into `meta["names"]`.
"""

_NEEDS_STREAM = (
    "alloc", "free", "kernel", "memcpy", "memset", "record", "wait", "sync_stream", "query_stream"
)  # fmt: skip
_NEEDS_EVENT = ("record", "wait", "sync_event", "query_event")


class BadWorkload(ValueError):
    """A file that is no workload, or a damaged one; says what is wrong and in which row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """`columns[name]` are arrays of shape (n,).

    streams, buffers
        names that the scenario's head declares; the buffers are those that no step allocates.
    recorded
        what is known of the recorded run: `makespan_ns`, `reserved_high`, ...
    """

    columns: Mapping[str, npt.NDArray[Any]]
    streams: tuple[str, ...]
    buffers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(self.columns["op"])

    @property
    def n_events(self) -> int:
        return int(self.columns["event"].max(initial=-1)) + 1


def write(path: Path, workload: Workload) -> None:
    """Raises `OSError`."""
    path.write_bytes(to_bytes(workload))


def to_bytes(workload: Workload) -> bytes:
    meta = {
        "format": "poolbench workload",
        "version": FORMAT_VERSION,
        "ops": list(OPS),
        "streams": list(workload.streams),
        "buffers": list(workload.buffers),
        "names": list(workload.names),
        "recorded": dict(workload.recorded),
    }
    arrays = {
        name: np.asarray(workload.columns[name], dtype=kind) for name, kind in COLUMNS.items()
    }
    out = io.BytesIO()
    np.savez_compressed(out, meta=np.array(json.dumps(meta)), **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def read(path: Path) -> Workload:
    """Raises `OSError`, or `BadWorkload` for what is no workload."""
    if path.stat().st_size > MAX_BYTES:
        raise BadWorkload(f"it is larger than {MAX_BYTES // 2**20} MiB")
    return of_bytes(path.read_bytes())


def of_bytes(data: bytes) -> Workload:
    """Raises `BadWorkload`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in _bounded(archive)
            }
    except BadWorkload:
        raise
    except (
        zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, OverflowError,
        NotImplementedError, RuntimeError, MemoryError,
    ) as fault:  # fmt: skip
        raise BadWorkload(f"it is no NumPy archive, or damaged: {fault}") from None
    return _checked(found)


def _bounded(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > MAX_BYTES:
        raise BadWorkload(f"unpacked it is larger than {MAX_BYTES // 2**20} MiB")
    return entries


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; what its head promises is looked at before memory is taken for it."""
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise BadWorkload(f"an array of version {version}")
        if dtype.hasobject:
            raise BadWorkload("it is no NumPy archive of numbers: there is a pickle in it")
        size = math.prod(shape) * dtype.itemsize
        if size > entry.file_size:
            raise BadWorkload(f"{entry.filename} promises more than it holds")
        return np.frombuffer(file.read(size), dtype=dtype).reshape(shape)


def _checked(found: Mapping[str, npt.NDArray[Any]]) -> Workload:
    meta = _meta(found)
    missing = [name for name in COLUMNS if name not in found]
    if missing:
        raise BadWorkload(f"the column {missing[0]} is missing")
    columns = {}
    for name, kind in COLUMNS.items():
        array = found[name]
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise BadWorkload(f"the column {name} is no row of whole numbers")
        columns[name] = array.astype(kind, copy=False)
    if len({len(array) for array in columns.values()}) != 1:
        raise BadWorkload("the columns differ in length")
    recorded = meta.get("recorded")
    workload = Workload(
        columns=columns,
        streams=_texts(meta, "streams"),
        buffers=_texts(meta, "buffers"),
        names=_texts(meta, "names"),
        recorded=recorded if isinstance(recorded, dict) else {},
    )
    check(workload)
    return workload


def _meta(found: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    array = found.get("meta")
    try:
        meta = json.loads(str(array)) if array is not None and array.dtype.kind == "U" else None
    except (ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict) or meta.get("format") != "poolbench workload":
        raise BadWorkload("it holds no poolbench workload")
    version = meta.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise BadWorkload(f"it has version {version}; this poolbench reads up to {FORMAT_VERSION}")
    if meta.get("ops") != list(OPS)[: len(meta.get("ops") or [])]:
        raise BadWorkload("its operations are not those of this poolbench")
    return meta


def _texts(meta: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = meta.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise BadWorkload(f"its {key} are no names")
    return tuple(found)


def check(workload: Workload) -> None:
    """Raises `BadWorkload` for the first row that cannot be a step."""
    columns, n = workload.columns, workload.n_rows
    if not n:
        raise BadWorkload("it has no steps")
    if n > MAX_ROWS:
        raise BadWorkload(f"it has {n:,} steps; a file has at most {MAX_ROWS:,}")
    op = columns["op"]
    _refuse(op >= len(OPS), "an unknown operation")
    for name in _NEEDS_STREAM:
        stream = columns["stream"]
        of_op = op == OP[name]
        bad = of_op & ((stream < 0) | (stream >= len(workload.streams)))
        _refuse(bad, f"a {name} on a stream that is not there")
    for name in _NEEDS_EVENT:
        _refuse((op == OP[name]) & (columns["event"] < 0), f"a {name} without an event")
    _refuse(columns["event"] >= n, "an event that no step records")
    for key in ("size", "duration_ns"):
        is_used = np.isin(op, [OP[name] for name in _users_of(key)])
        _refuse(is_used & (columns[key] < 0), f"a {key} below 0")
    _refuse((op == OP["alloc"]) & (columns["size"] < 1), "an allocation of nothing")
    _refuse(columns["name"] >= max(1, len(workload.names)), "a name that is not there")
    _check_buffers(workload)
    _check_events(workload)


def _users_of(key: str) -> tuple[str, ...]:
    if key == "size":
        return ("alloc", "memcpy", "memset", "trim")
    return ("kernel", "host")


def _refuse(bad: npt.NDArray[np.bool_], what: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise BadWorkload(f"step {int(rows[0]) + 1}: {what}")


def _check_buffers(workload: Workload) -> None:
    op, buffer = workload.columns["op"], workload.columns["buffer"]
    n_lasting = len(workload.buffers)
    allocs = np.flatnonzero(op == OP["alloc"])
    expected = np.full(len(op), -1, dtype=np.int64)
    expected[allocs] = n_lasting + np.arange(len(allocs))
    _refuse((op == OP["alloc"]) & (buffer != expected), "allocations are not counted in order")
    n_known = n_lasting + np.cumsum(op == OP["alloc"])
    is_free = op == OP["free"]
    bad_free = is_free & ((buffer < n_lasting) | (buffer >= n_known))
    _refuse(bad_free, "a free of what was not allocated")
    freed = buffer[is_free]
    seen = np.zeros(int(n_known[-1]) if len(n_known) else 0, dtype=bool)
    for row, which in zip(np.flatnonzero(is_free), freed, strict=True):
        if seen[which]:
            raise BadWorkload(f"step {int(row) + 1}: a second free of one allocation")
        seen[which] = True
    for key, ops in (("buffer", ("memcpy", "memset")), ("source", ("memcpy",))):
        used = workload.columns[key]
        is_user = np.isin(op, [OP[name] for name in ops])
        _refuse(is_user & ((used < 0) | (used >= n_known)), "a buffer that is not there")


def _check_events(workload: Workload) -> None:
    """What is waited for has been recorded before."""
    op, event = workload.columns["op"], workload.columns["event"]
    n = workload.n_events
    if not n:
        return
    first = np.full(n, len(op), dtype=np.int64)
    records = np.flatnonzero(op == OP["record"])
    np.minimum.at(first, event[records], records)
    users = np.isin(op, [OP["wait"], OP["sync_event"], OP["query_event"]])
    rows = np.flatnonzero(users)
    bad = np.zeros(len(op), dtype=bool)
    bad[rows] = first[event[rows]] > rows
    _refuse(bad, "an event that no step before it records")
