"""What one run did: the record that both backends make and that all analysis reads.

Pure values over numpy arrays.  All times are nanoseconds on one axis: the host clock, with device
times converted to it, 0 at the first step's host call of the first iteration.  -1 means "none".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from poolbench.domain import BackendKind, Case, Pass, Status

Times = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.int64]

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """One row per step run: `iterations x steps`, flattened in issue order.

    Shapes are `(n_iterations * n_steps,)`; row `i * n_steps + k` is step `k` of iteration `i`.

    host_begin_ns, host_end_ns
        the host's call.  A step that was never issued (after a failure) has -1 in both.
    device_begin_ns, device_end_ns
        kernels: `%globaltimer` stamps of the first and last block; allocs, frees, copies and
        memsets: the events before and after them, so that an alloc's span is the wait inserted by
        the driver plus the floor; -1 for steps that do not run on the device.
    address, reserved, used
        allocs: the address; allocs, frees, trims, samples and synchronisations: the pool's bytes
        after the call; -1 elsewhere.
    outcome
        allocs: index into `domain.OUTCOMES`; -1 elsewhere.
    waited_for
        allocs with outcome `internal_dependency`: the row of the free that they waited for; for
        every other kind of reuse the row of the free whose block was reused; -1 elsewhere.
    n_failures
        allocs: attempts that failed with out of memory.
    """

    host_begin_ns: Times
    host_end_ns: Times
    device_begin_ns: Times
    device_end_ns: Times
    address: npt.NDArray[np.int64]
    reserved: Sizes
    used: Sizes
    outcome: npt.NDArray[np.int8]
    waited_for: npt.NDArray[np.int64]
    n_failures: npt.NDArray[np.int32]


def empty_steps(n_rows: int) -> StepTrace:
    """Columns of `n_rows` rows in which nothing has happened yet."""

    def column(dtype: type) -> npt.NDArray[np.int64]:
        return np.full(n_rows, NONE, dtype=dtype)

    return StepTrace(
        host_begin_ns=column(np.int64),
        host_end_ns=column(np.int64),
        device_begin_ns=column(np.int64),
        device_end_ns=column(np.int64),
        address=column(np.int64),
        reserved=column(np.int64),
        used=column(np.int64),
        outcome=np.full(n_rows, NONE, dtype=np.int8),
        waited_for=column(np.int64),
        n_failures=np.zeros(n_rows, dtype=np.int32),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatchOpening:
    """A latch opened: by its `release` step, or by the watchdog because a host call was blocked or
    the time limit was over (`by_watchdog`).  `row` is the row of the `hold`, -1 for the latches of
    `issue: ahead`.  `closed_ns` and `opened_ns` are host times; a stream was held in between."""

    stream: int
    row: int
    closed_ns: int
    opened_ns: int
    by_watchdog: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One run of one plan.

    makespan_ns
        per iteration: from the start event, recorded just before the first step (with
        `issue: ahead`, when the latches open), to an event that follows the last work of every
        stream.  Device time.
    host_ns
        per iteration: the host's time from before the first call until all steps were issued.
    reserved_high, used_high, reserved_end, used_end
        the pool's own statistics (bytes), sampled before the closing synchronisation of the last
        iteration; 0 for rows without a pool.
    graph_reserved_high, graph_used_high
        the same of the memory that the driver keeps for graphs; 0 without graphs.
    failed_row
        the row of the allocation that ended the run (`status` out_of_memory), else -1.
    n_corrupt
        row of a `check` -> bytes that differed; every check is in it.
    steps
        `None` in the timed pass.
    """

    case: Case
    backend: BackendKind
    measured: Pass
    repetition: int
    status: Status
    reason: str = ""
    makespan_ns: Times
    host_ns: Times
    reserved_high: int = 0
    used_high: int = 0
    reserved_end: int = 0
    used_end: int = 0
    graph_reserved_high: int = 0
    graph_used_high: int = 0
    n_out_of_memory: int = 0
    failed_row: int = NONE
    n_corrupt: Mapping[int, int] = field(default_factory=dict)
    latches: tuple[LatchOpening, ...] = ()
    steps: StepTrace | None = None
