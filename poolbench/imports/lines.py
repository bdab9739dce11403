"""poolbench's own JSON lines, for tools that want to be imported: docs/importing.md.

The first line is `{"poolbench": 1}`.  Every other line is one call of the host, in order:
`{"op": "alloc", "id": ..., "size": ..., "stream": ...}` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from poolbench.domain import MemoryKind, StreamKind
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

VERSION = 1
MAX_LINE = 1 << 20
_KEYS: dict[str, tuple[str, ...]] = {
    "alloc": ("id", "size", "stream"),
    "free": ("id", "stream"),
    "kernel": ("stream", "ns"),
    "memcpy": ("stream", "size", "from", "to"),
    "memset": ("stream", "size"),
    "record": ("event", "stream"),
    "wait": ("event", "stream"),
    "sync_stream": ("stream",),
    "sync_event": ("event",),
    "sync_device": (),
    "host": ("ns",),
    "trim": ("keep",),
}
"""Operation -> the keys that it needs."""
_MAY: dict[str, tuple[str, ...]] = {"kernel": ("blocks", "threads", "name")}


def is_start(line: str) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "poolbench" in found


def read(text: TextIO, builder: Builder, assumed: Assumed, on_line: Callable[[int], None]) -> None:
    """Raises `Damaged` with line and column."""
    for number, line in enumerate(text, 1):
        if len(line) > MAX_LINE:
            raise Damaged(number, 1, f"longer than {MAX_LINE} characters")
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except json.JSONDecodeError as fault:
            raise Damaged(number, fault.colno, f"no JSON: {fault.msg}") from None
        except (ValueError, RecursionError) as fault:
            raise Damaged(number, 1, f"no JSON: {fault}") from None
        if not isinstance(found, dict):
            raise Damaged(number, 1, "a line is an object: {...}")
        if number == 1:
            _head(found, builder)
        else:
            _line(number, found, builder, assumed)
        if not number % 20_000:
            on_line(number)


def _head(found: Mapping[str, Any], builder: Builder) -> None:
    version = found.get("poolbench")
    if version != VERSION:
        raise Damaged(1, 1, f"version {version!r}; this poolbench reads {VERSION}")
    streams = found.get("streams", {})
    if not isinstance(streams, dict):
        raise Damaged(1, 1, "`streams` is an object: name -> kind")
    for name, kind in streams.items():
        if kind not in set(StreamKind):
            known = ", ".join(StreamKind)
            raise Damaged(1, 1, f"stream {name}: {kind!r} is none of {known}")
        builder.stream(name, StreamKind(kind), name)


def _line(number: int, found: dict[str, Any], builder: Builder, assumed: Assumed) -> None:
    op = found.get("op")
    if op not in _KEYS:
        raise Damaged(number, 1, f"no such op: {op!r}; known: {', '.join(_KEYS)}")
    missing = [key for key in _KEYS[op] if key not in found]
    if missing:
        raise Damaged(number, 1, f"{op} needs `{missing[0]}`")
    unknown = [key for key in found if key not in ("op", *_KEYS[op], *_MAY.get(op, ()))]
    if unknown:
        raise Damaged(number, 1, f"{op} does not take `{unknown[0]}`")
    line = _Line(number, found)
    match op:
        case "alloc":
            builder.alloc(line.key("id"), line.number("size"), line.stream(builder))
        case "free":
            builder.free(line.key("id"), line.stream(builder))
        case "kernel":
            builder.kernel(
                line.number("ns"),
                line.stream(builder),
                blocks=line.number("blocks", 1),
                threads=line.number("threads", 256),
                name=str(found.get("name", "")),
            )
        case "memcpy":
            source, target = line.memory("from"), line.memory("to")
            if MemoryKind.DEVICE not in (source, target):
                raise Damaged(number, 1, "a copy begins or ends on the device")
            builder.copy(line.number("size"), line.stream(builder), source, target)
        case "memset":
            builder.memset(line.number("size"), line.stream(builder))
        case "record":
            builder.record(line.key("event"), line.stream(builder))
        case "wait":
            builder.wait(line.key("event"), line.stream(builder))
        case "sync_stream":
            builder.sync_stream(line.stream(builder))
        case "sync_event":
            builder.sync_event(line.key("event"))
        case "sync_device":
            builder.sync_device()
        case "host":
            if assumed.keeps_host:
                builder.host(line.number("ns"))
        case "trim":
            builder.trim(line.number("keep"))


class _Line:
    def __init__(self, number: int, found: Mapping[str, Any]) -> None:
        self._number = number
        self._found = found

    def number(self, key: str, default: int | None = None) -> int:
        value = self._found.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
            raise Damaged(self._number, 1, f"`{key}` is a whole number of 0 or more")
        return value

    def key(self, key: str) -> str:
        value = self._found[key]
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise Damaged(self._number, 1, f"`{key}` is a text or a number")
        return f"{type(value).__name__} {value}"

    def stream(self, builder: Builder) -> int:
        value = self._found["stream"]
        if not isinstance(value, str):
            raise Damaged(self._number, 1, "`stream` is a name")
        return builder.stream(value, name=value)

    def memory(self, key: str) -> MemoryKind:
        value = self._found[key]
        if value not in set(MemoryKind):
            known = ", ".join(MemoryKind)
            raise Damaged(self._number, 1, f"`{key}` is one of {known}")
        return MemoryKind(value)
