"""`poolbench.record()`: what a program marks for `poolbench record`.  The standard library only."""

from __future__ import annotations

import sys
from types import TracebackType


class Mark:
    """A part of a program, by name; does nothing where nobody records."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Mark:
        _tell(self._name, begins=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _tell(self._name, begins=False)


def record(name: str = "iteration") -> Mark:
    """Marks an iteration, or whatever else shall be recorded of a program.

    `poolbench record` keeps what lies between the first and the last mark, or the iterations that
    `--from` and `--steps` choose.  Without a recorder this costs less than a microsecond.

        for batch in batches:
            with poolbench.record():
                step(batch)
    """
    return Mark(name)


def _tell(name: str, *, begins: bool) -> None:
    inside = sys.modules.get("poolbench.recording.inside")
    session = inside.current() if inside is not None else None
    if session is not None:
        session.mark(name, begins=begins)
