"""Which format a file has, told by what is in it, and reading it.

Nothing is told by the name: a snapshot may be called anything.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import IO, TextIO, cast

from poolbench.errors import BadUsage
from poolbench.imports import kineto, lines, nsys, rmm, torch_snapshot
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged

_HEAD = 4096
_GZIP = b"\x1f\x8b"


class Format(StrEnum):
    RMM = "rmm"
    TORCH_SNAPSHOT = "torch-snapshot"
    KINETO = "kineto"
    NSYS = "nsys"
    LINES = "lines"


WHAT: dict[Format, str] = {
    Format.RMM: "the CSV log of RMM's logging_resource_adaptor",
    Format.TORCH_SNAPSHOT: "a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)",
    Format.KINETO: "a trace of PyTorch's profiler (.json, .json.gz)",
    Format.NSYS: "an SQLite export of Nsight Systems",
    Format.LINES: "poolbench's own JSON lines",
}


def format_of(path: Path) -> Format:
    """Raises `BadUsage` for a file that cannot be read or is of no known format."""
    head = _head(path)
    if head.startswith(nsys.MAGIC):
        return Format.NSYS
    if torch_snapshot.is_start(head):
        return Format.TORCH_SNAPSHOT
    text = head.decode("utf-8", "replace").lstrip("\ufeff").lstrip()
    first = text.split("\n", 1)[0]
    if rmm.is_header(first):
        return Format.RMM
    if lines.is_start(first):
        return Format.LINES
    if text.startswith(("{", "[")) and (text.startswith("{") or kineto.is_start(text)):
        return Format.KINETO
    known = ", ".join(Format)
    raise BadUsage(
        f"{path}: this is none of the formats that can be imported",
        hint=f"--format says which it is: {known}",
    )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if head.startswith(_GZIP):
                file.seek(0)
                with gzip.open(file) as unpacked:
                    return unpacked.read(_HEAD)
            return head
    except (OSError, EOFError, zlib.error) as fault:
        raise BadUsage(f"cannot read {path}: {fault}") from None


def read(
    path: Path,
    chosen: Format,
    builder: Builder,
    assumed: Assumed,
    on_line: Callable[[int], None],
) -> dict[str, object]:
    """What is known of the recorded run.  Raises `Damaged`, with what came before in `builder`."""
    try:
        if chosen is Format.NSYS:
            return nsys.read(path, builder, assumed, on_line)
        if chosen is Format.TORCH_SNAPSHOT:
            with closing(_binary(path)) as file:
                torch_snapshot.read(file, builder, assumed, on_line)
            return {}
        with closing(_text(path)) as text:
            if chosen is Format.KINETO:
                return kineto.read(text, builder, assumed, on_line)
            reader = rmm.read if chosen is Format.RMM else lines.read
            reader(text, builder, assumed, on_line)
            return {}
    except (OSError, EOFError, zlib.error) as fault:
        raise Damaged(0, 0, f"it cannot be read on: {fault}") from None


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _binary(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if _is_gzip(path) else path.open("rb")


def _text(path: Path) -> TextIO:
    return io.TextIOWrapper(_binary(path), encoding="utf-8-sig", errors="replace", newline="")
