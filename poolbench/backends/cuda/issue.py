"""The two issuing loops.  Nothing but driver calls happens here while the clock runs.

Times are `time.perf_counter_ns`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.program import AllocationFailed, Call
from poolbench.trace import NONE


class StepFailed(Exception):
    """A driver call of the plan failed; `step` is its index."""

    def __init__(self, step: int, code: int) -> None:
        super().__init__(step, code)
        self.step = step
        self.code = code


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call with what the traced pass does around it.

    `before` and `after` are timing events recorded on `stream`; `reads_pool` asks the pool for its
    reserved and used bytes afterwards.
    """

    step: int
    call: Call
    stream: int
    before: Any | None
    after: Any | None
    reads_pool: bool


@dataclass(slots=True)
class HostColumns:
    """What the traced loop notes of an iteration, by step."""

    begin_ns: list[int]
    end_ns: list[int]
    reserved: list[int]
    used: list[int]


def host_columns(n_steps: int) -> HostColumns:
    return HostColumns(*([NONE] * n_steps for _ in range(4)))


def issue_timed(calls: Sequence[tuple[int, Call]], pace_ns: int) -> None:
    """Raises `StepFailed` or `AllocationFailed`."""
    if pace_ns:
        _issue_paced(calls, pace_ns)
        return
    for step, call in calls:
        result = call()
        if result[0]:
            raise StepFailed(step, int(result[0]))


def _issue_paced(calls: Sequence[tuple[int, Call]], pace_ns: int) -> None:
    clock = time.perf_counter_ns
    due = clock()
    for step, call in calls:
        while clock() < due:
            pass
        due = max(due, clock()) + pace_ns
        result = call()
        if result[0]:
            raise StepFailed(step, int(result[0]))


def issue_traced(
    calls: Sequence[TracedCall],
    streams: Sequence[Any],
    pool: Any,
    pace_ns: int,
    columns: HostColumns,
) -> None:
    """Like `issue_timed`, noting host times and pool statistics in `columns` as it goes, so that
    they are there up to the step that failed."""
    clock, record, ask = time.perf_counter_ns, driver.cuEventRecord, driver.cuMemPoolGetAttribute
    begin, end, reserved, used = columns.begin_ns, columns.end_ns, columns.reserved, columns.used
    due = clock()
    for traced in calls:
        step = traced.step
        if pace_ns:
            while clock() < due:
                pass
            due = max(due, clock()) + pace_ns
        if traced.before is not None:
            record(traced.before, streams[traced.stream])
        begin[step] = clock()
        try:
            result = traced.call()
        except AllocationFailed:
            end[step] = clock()
            _read_pool(pool, step, reserved, used)
            raise
        end[step] = clock()
        if result[0]:
            raise StepFailed(step, int(result[0]))
        if traced.after is not None:
            record(traced.after, streams[traced.stream])
        if traced.reads_pool and pool is not None:
            reserved[step] = int(ask(pool, driver.RESERVED)[1])
            used[step] = int(ask(pool, driver.USED)[1])


def _read_pool(pool: Any, step: int, reserved: list[int], used: list[int]) -> None:
    if pool is not None:
        reserved[step] = driver.pool_value(pool, driver.RESERVED)
        used[step] = driver.pool_value(pool, driver.USED)
