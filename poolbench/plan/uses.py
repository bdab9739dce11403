"""Which buffers a step uses, and under which key of the file.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poolbench.plan import steps as s
from poolbench.plan.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """`key` is where the file names the buffer, as far as that is one place."""

    buffer: int
    is_write: bool
    key: str


def uses_of(step: Step) -> Iterator[Use]:
    """Every buffer that a step reads or writes; allocations and frees are no uses."""
    match step:
        case s.Launch(buffers=buffers, writes=writes, work=work):
            passed = work.arguments if isinstance(work, s.Custom) else ()
            for buffer in buffers:
                is_write = buffer in writes
                key = "arguments" if buffer in passed else "writes" if is_write else "reads"
                yield Use(buffer=buffer, is_write=is_write, key=key)
        case s.LaunchGraph(reads=reads, writes=writes):
            for buffer in reads:
                yield Use(buffer=buffer, is_write=False, key="graph")
            for buffer in writes:
                yield Use(buffer=buffer, is_write=True, key="graph")
        case s.Memcpy(dst=dst, src=src):
            yield Use(buffer=dst, is_write=True, key="dst")
            yield Use(buffer=src, is_write=False, key="src")
        case s.Memset(buffer=buffer):
            yield Use(buffer=buffer, is_write=True, key="memset")
        case s.Fill(buffer=buffer):
            yield Use(buffer=buffer, is_write=True, key="fill")
        case s.Check(buffer=buffer):
            yield Use(buffer=buffer, is_write=False, key="check")
        case _:
            pass


def overwrites(step: Step) -> tuple[int, ...]:
    """Buffers whose bytes a step certainly changes, a fill aside.

    A spin or compute kernel only claims to write; what a kernel of one's own does is not known.
    """
    match step:
        case s.Launch(work=s.Touch(writes=writes)):
            return writes
        case s.LaunchGraph(changes=changes):
            return changes
        case s.Memcpy(dst=dst):
            return (dst,)
        case s.Memset(buffer=buffer):
            return (buffer,)
        case _:
            return ()
