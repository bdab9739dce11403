"""Names for a profiler: NVTX ranges around scenario, case, iteration and step.

With `--once` and the package `nvtx`, so that Nsight Systems shows the names that poolbench uses.
Elsewhere nothing is put around anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol

from poolbench.backends.cuda.program import Call
from poolbench.plan.plan import Plan

DOMAIN = "poolbench"


class Marker(Protocol):
    """What of the package `nvtx` is used."""

    def push_range(self, message: str, *, domain: str) -> Any: ...

    def pop_range(self, *, domain: str) -> Any: ...


def is_there() -> bool:
    """Whether the package is installed."""
    return find_spec("nvtx") is not None


class Ranges:
    """`marker` `None` marks nothing."""

    def __init__(self, marker: Marker | None = None) -> None:
        self._marker = marker

    @property
    def are_marked(self) -> bool:
        return self._marker is not None

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        marker = self._marker
        if marker is None:
            yield
            return
        marker.push_range(name, domain=DOMAIN)
        try:
            yield
        finally:
            marker.pop_range(domain=DOMAIN)

    def calls(self, plan: Plan, calls: Sequence[tuple[int, Call]]) -> list[tuple[int, Call]]:
        """Each within a range of its step's name."""
        marker = self._marker
        if marker is None:
            return list(calls)
        return [
            (step, partial(_within, marker, step_name(plan, step), call)) for step, call in calls
        ]


def step_name(plan: Plan, step: int) -> str:
    """`alloc y (line 33)`, as tables and timelines have it."""
    place = plan.place(step)
    name = plan.names[step]
    what = place.kind if name in ("", place.kind) else f"{place.kind} {name}"
    return f"{what} (line {place.line})"


def _within(marker: Marker, name: str, call: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    marker.push_range(name, domain=DOMAIN)
    try:
        return call()
    finally:
        marker.pop_range(domain=DOMAIN)


def ranges(*, is_wanted: bool) -> Ranges:
    """Marks if that is wanted and the package is there."""
    if not is_wanted or not is_there():
        return Ranges()
    import nvtx

    return Ranges(nvtx)
