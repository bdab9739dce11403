"""Names for a profiler: nested, balanced whatever happens, and nothing where nobody asked."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.backends.cuda.program import AllocationFailed
from poolbench.backends.cuda.ranges import DOMAIN, Ranges, step_name
from poolbench.domain import Pass, Status
from tests.analysis.hand_made import MIB, plan_of

PLAN = plan_of([("alloc", "x", "a", MIB), ("kernel", "a", 5), ("free", "x", "a")])


class Heard:
    """Takes down what is pushed and popped."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def push_range(self, message: str, *, domain: str) -> None:
        assert domain == DOMAIN
        self.said.append(message)

    def pop_range(self, *, domain: str) -> None:
        assert domain == DOMAIN
        self.said.append("end")


def fails() -> tuple[Any, ...]:
    raise AllocationFailed(2)


def test_steps_are_named_as_tables_name_them() -> None:
    """Kind, name and line."""
    assert [step_name(PLAN, k) for k in range(3)] == [
        "alloc x (line 10)",
        "kernel (line 11)",
        "free x (line 12)",
    ]


def test_calls_run_within_their_ranges() -> None:
    """The result passes through; a failure closes its range."""
    heard = Heard()
    ranges = Ranges(heard)
    calls = ranges.calls(PLAN, [(0, lambda: (0,)), (1, lambda: (7,)), (2, fails)])
    with ranges.around("case"):
        assert [step for step, _ in calls] == [0, 1, 2]
        assert [call() for _, call in calls[:2]] == [(0,), (7,)]
        with pytest.raises(AllocationFailed):
            calls[2][1]()
    assert heard.said == [
        "case",
        "alloc x (line 10)",
        "end",
        "kernel (line 11)",
        "end",
        "free x (line 12)",
        "end",
        "end",
    ]


def test_nothing_is_marked_unasked() -> None:
    """The very calls of before: the clock runs around them."""
    calls = [(0, fails)]
    assert Ranges().calls(PLAN, calls) == calls
    with Ranges().around("nothing"):
        pass


@pytest.mark.gpu
def test_a_marked_run_is_a_run_like_any_other() -> None:
    """With the real package, on a device."""
    from functools import partial

    from poolbench.backends.cuda.worker import serve

    backend = CudaBackend(worker=partial(serve, has_ranges=True))
    try:
        trace = backend.run(PLAN, measured=Pass.TIMED, repetition=1)
        assert trace.status is Status.OK
    finally:
        backend.close()
