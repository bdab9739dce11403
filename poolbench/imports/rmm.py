"""RMM's logs: the CSV of its `logging_resource_adaptor`, in all dialects since 2018.

Columns go by the header.  The order of lines is the order of events; times have no date and wrap at
midnight.  A pointer is used again and again: a free belongs to the latest live allocation.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from poolbench.domain import StreamKind
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

_DAY_NS = 24 * 3600 * 10**9
_ACTIONS = {
    "allocate": "alloc",
    "alloc": "alloc",
    "free": "free",
    "deallocate": "free",
    "allocate failure": "failure",
}
_NAMES = {
    "thread": "thread",
    "time": "time",
    "start": "time",
    "action": "action",
    "event type": "action",
    "pointer": "pointer",
    "address": "pointer",
    "size": "size",
    "size (bytes)": "size",
    "stream": "stream",
}
_DEFAULTS = {
    "0x0": StreamKind.LEGACY_DEFAULT,
    "0x1": StreamKind.LEGACY_DEFAULT,
    "0x2": StreamKind.PER_THREAD_DEFAULT,
}


def is_header(line: str) -> bool:
    """Whether this is the first line of such a log."""
    found = {_NAMES.get(name.strip().lower()) for name in line.split(",")}
    return {"action", "size", "stream"} <= found


def read(text: TextIO, builder: Builder, assumed: Assumed, on_line: Callable[[int], None]) -> None:
    """Raises `Damaged` with the line and column."""
    lines = csv.reader(_lines(text))
    header = next(lines, None)
    if header is None or not is_header(",".join(header)):
        raise Damaged(1, 1, "this is no header of an RMM log")
    at = {
        known: column
        for column, name in reversed(list(enumerate(header)))
        if (known := _NAMES.get(name.strip().lower()))
    }
    log = _Log(builder, assumed, at)
    for number, cells in enumerate(lines, 2):
        if cells:
            log.line(number, cells)
        if not number % 20_000:
            on_line(number)
    log.close()


def _lines(text: Iterable[str]) -> Iterator[str]:
    """Lines without NUL, which the csv module refuses as a whole."""
    for line in text:
        yield line.replace("\0", "\ufffd")


class _Log:
    """One pass over the lines."""

    def __init__(self, builder: Builder, assumed: Assumed, at: dict[str, int]) -> None:
        self._builder = builder
        self._assumed = assumed
        self._at = at
        self._time_ns: int | None = None
        self._n_failures = 0

    def line(self, number: int, cells: list[str]) -> None:
        if len(cells) <= max(self._at.values()):
            raise Damaged(number, 1, f"{len(cells)} columns where the header has more: cut short?")
        action = self._cell(cells, "action").lower()
        kind = _ACTIONS.get(action)
        if kind is None:
            raise Damaged(number, self._at["action"] + 1, f"no such action: {action[:40]!r}")
        self._host(number, cells)
        stream = self._stream(self._cell(cells, "stream"))
        size = self._number(number, cells, "size")
        pointer = self._cell(cells, "pointer") if "pointer" in self._at else ""
        if kind == "failure":
            self._n_failures += 1
            return
        if not pointer:
            self._builder.fidelity.lost["events without an address"] += 1
            return
        key = self._address(number, pointer)
        if kind == "alloc":
            self._builder.alloc(key, size, stream)
            if self._assumed.kernel_ns and self._builder.is_live(key):
                self._builder.kernel(self._assumed.kernel_ns, stream)
                self._builder.fidelity.guessed["kernels, one after each allocation"] += 1
        else:
            self._builder.free(key, stream)

    def close(self) -> None:
        fidelity = self._builder.fidelity
        if self._n_failures:
            fidelity.lost["allocations that failed: whether they fail here, the run shows"] += (
                self._n_failures
            )
        fidelity.note("an RMM log knows no kernels, copies, events or synchronisations")

    def _cell(self, cells: list[str], name: str) -> str:
        return cells[self._at[name]].strip()

    def _number(self, number: int, cells: list[str], name: str) -> int:
        text = self._cell(cells, name)
        if not text.isdecimal() or len(text) > 15:
            raise Damaged(number, self._at[name] + 1, f"no number of bytes: {text[:40]!r}")
        return int(text)

    def _address(self, number: int, text: str) -> int:
        if text == "(nil)":
            return 0
        try:
            return int(text, 16)
        except ValueError:
            column = self._at["pointer"] + 1
            raise Damaged(number, column, f"no address: {text[:40]!r}") from None

    def _stream(self, text: str) -> int:
        key = text.lower()
        if not key.startswith("0x"):
            key = f"0x{key}"
        kind = _DEFAULTS.get(key, StreamKind.NON_BLOCKING)
        name = "" if kind is StreamKind.NON_BLOCKING else kind.value
        return self._builder.stream("0x1" if key == "0x0" else key, kind, name)

    def _host(self, number: int, cells: list[str]) -> None:
        """The time since the line before; several threads count as one."""
        if not self._assumed.keeps_host or "time" not in self._at:
            return
        now = self._time(number, self._cell(cells, "time"))
        before, self._time_ns = self._time_ns, now
        if now is None or before is None:
            return
        gap = now - before
        if gap < -_DAY_NS // 2:
            gap += _DAY_NS
        self._builder.host(max(0, min(gap, _DAY_NS)))

    def _time(self, number: int, text: str) -> int | None:
        """`15:47:02.841961`, `14:21:19:998533`, or seconds; `None` for an empty cell."""
        if not text:
            return None
        parts = text.replace(".", ":").split(":")
        try:
            if len(parts) == 4:
                hours, minutes, seconds = (int(part) for part in parts[:3])
                fraction = int(parts[3].ljust(9, "0")[:9])
                return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + fraction
            return round(float(text) * 1e9)
        except (ValueError, OverflowError):
            column = self._at["time"] + 1
            raise Damaged(number, column, f"no time: {text[:40]!r}") from None
