"""Files that are either the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from poolbench.errors import BadUsage


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step.

    Something that is there and is no regular file (`/dev/stdout`, a pipe) is written to as it is.
    Raises `BadUsage` where the system does not let us.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="") as out:
                out.write(text)
            return
        _replace(path, text.encode())
    except OSError as fault:
        raise BadUsage(f"cannot write {path}: {fault.strerror}") from fault


def write_bytes(path: Path, data: bytes) -> None:
    """The same for what is no text; the folder is made where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as fault:
        raise BadUsage(f"cannot write {path}: {fault.strerror}") from fault


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def append_text(path: Path, text: str) -> None:
    """Add whole lines to a file.  A line that a crash cuts short has no line end: `whole_lines`."""
    try:
        with path.open("a", encoding="utf-8", newline="") as out:
            out.write(text)
    except OSError as fault:
        raise BadUsage(f"cannot write {path}: {fault.strerror}") from fault


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise BadUsage(f"cannot read {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise BadUsage(f"{path} is damaged: it is not UTF-8 text") from fault


def whole_lines(text: str) -> str:
    """The text without a last line that was cut short."""
    return text[: text.rfind("\n") + 1]
