"""What a probe found: values, and `probe.json`.

Sizes are bytes, times nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.errors import BadUsage
from poolbench.probe.documented import Reuse, Waiting
from poolbench.results import versioned
from poolbench.results.environment import Environment
from poolbench.results.files import read_text, write_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT_VERSION = 1
FILE = "probe.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination's answer to a question of the first table, with its evidence.

    distance
        address of the allocation less that of the first freed block; `None` where it failed.
    reserved_before, reserved_after
        the pool's bytes.
    ran_while_held
        the kernel after the allocation; `None` without a latch or a kernel that ran.
    host_ns
        the allocation call.
    """

    question: str
    row: str
    answer: Reuse
    distance: int | None = None
    reserved_before: int | None = None
    reserved_after: int | None = None
    ran_while_held: bool | None = None
    host_ns: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """`host_ns`: how long the call took; if it waited, until the watchdog let the stream go."""

    question: str
    answer: Waiting
    host_ns: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutAnswer:
    """`text` is the answer in words; empty where nothing was measured."""

    question: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    environment: Environment
    seconds: float
    cells: tuple[Cell, ...]
    calls: tuple[CallAnswer, ...]
    layout: tuple[LayoutAnswer, ...]

    def cell(self, question: str, row: str) -> Cell:
        return next(one for one in self.cells if (one.question, one.row) == (question, row))

    def call(self, question: str) -> CallAnswer:
        return next(one for one in self.calls if one.question == question)

    def laid(self, question: str) -> LayoutAnswer:
        return next(one for one in self.layout if one.question == question)


@cache
def _adapter() -> TypeAdapter[Probe]:
    from pydantic import TypeAdapter

    return TypeAdapter(Probe)


def write(directory: Path, probe: Probe) -> None:
    """Raises `BadUsage` where the system does not let us."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadUsage(f"cannot make {directory}: {fault.strerror}") from fault
    write_text(directory / FILE, versioned.to_text(probe, _adapter(), FORMAT_VERSION) + "\n")


def read(directory: Path) -> Probe:
    """Raises `BadUsage` for what is no probe, damaged, or of a newer format."""
    path = directory / FILE if directory.is_dir() else directory
    if not path.exists():
        raise BadUsage(
            f"there is no {FILE} in {directory}", hint="`poolbench probe --save DIR` makes one"
        )
    return versioned.of_text(read_text(path), _adapter(), FORMAT_VERSION, name=str(path))
