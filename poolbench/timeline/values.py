"""Lanes, spans, links and memory of one iteration of one case.  Pure values.

All times are microseconds from the iteration's first call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from poolbench.domain import Row, row_name


class Kind(StrEnum):
    """What a span is; the order is that of legends."""

    KERNEL = "kernel"
    COPY = "copy"
    MEMSET = "memset"
    CALLBACK = "callback"
    GRAPH = "graph"
    INSERTED_WAIT = "inserted wait"
    EXPLICIT_WAIT = "explicit wait"
    HELD = "held"
    GROWTH = "growth"
    BLOCKED = "blocked"
    FAILED = "failed"
    CALL = "call"


MEANING: dict[Kind, str] = {
    Kind.KERNEL: "a kernel runs",
    Kind.COPY: "a copy runs",
    Kind.MEMSET: "a memset runs",
    Kind.GRAPH: "a graph runs",
    Kind.CALLBACK: "the stream waits for a host function in it",
    Kind.INSERTED_WAIT: "the stream waits for a free, by a dependency that the driver inserted",
    Kind.EXPLICIT_WAIT: "the stream waits for an event",
    Kind.HELD: "a latch holds the stream",
    Kind.GROWTH: "the host is in an allocation that maps memory",
    Kind.BLOCKED: "the host is in a call that returns only when work of the device is over",
    Kind.FAILED: "the host is in an allocation that fails",
    Kind.CALL: "the host is in any other call",
}

OF_HOST = frozenset({Kind.GROWTH, Kind.BLOCKED, Kind.FAILED, Kind.CALL})

HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """`row` is the line of the case in `steps.csv`, counted from 0; `n` steps of one kind that were
    drawn together have the row of the first, and were busy for `busy_us` of its length.  `note`
    says more, where there is more to say."""

    kind: Kind
    begin_us: float
    end_us: float
    name: str
    line: int
    row: int
    note: str = ""
    n: int = 1
    merged_busy_us: float | None = None

    @property
    def length_us(self) -> float:
        return self.end_us - self.begin_us

    @property
    def busy_us(self) -> float:
        return self.length_us if self.merged_busy_us is None else self.merged_busy_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A stream, or the host; spans do not overlap and are in order."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An allocation that waited, from the free that it waited for."""

    allocation: str
    line: int
    stream: str
    begin_us: float
    wait_us: float
    free_of: str
    free_line: int
    free_stream: str
    free_us: float | None
    """When the free was over; `None` where that is not known."""
    row: int
    free_row: int

    def text(self) -> str:
        """`y (line 33) on b waited 484.2 us for x's free (line 31) on a`"""
        whose = f"{self.free_of}'s free (line {self.free_line}) on {self.free_stream}"
        if not self.free_of:
            whose = "a free that is not known"
        return (
            f"{self.allocation} (line {self.line}) on {self.stream} waited {self.wait_us:.1f} us "
            f"for {whose}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What the pool held from this moment on, in bytes."""

    at_us: float
    reserved: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An allocation that failed, `n` attempts; `is_final` where none of them got through."""

    name: str
    line: int
    at_us: float
    n: int
    is_final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """`n_iterations` of the case; this is number `iteration`.  `n_steps` were issued in it, and it
    began `offset_us` after the first iteration."""

    key: str
    row: Row
    axes: tuple[tuple[str, str], ...]
    status: str
    iteration: int
    n_iterations: int
    n_steps: int
    lanes: tuple[Lane, ...]
    links: tuple[Link, ...]
    levels: tuple[Level, ...]
    failures: tuple[Failure, ...]
    end_us: float
    offset_us: float

    @property
    def title(self) -> str:
        axes = ", ".join(f"{name} = {text}" for name, text in self.axes)
        parts = [f"row {row_name(self.row)}", axes, self.status]
        if self.n_iterations > 1:
            parts.append(f"iteration {self.iteration} of {self.n_iterations}")
        return ", ".join(part for part in parts if part)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Those that occur."""
        found = {span.kind for lane in self.lanes for span in lane.spans}
        return tuple(kind for kind in Kind if kind in found)
