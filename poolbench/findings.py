"""What the traces of one case came to: the row of every table and of the CSV.

Pure values.  Times are microseconds (`_us`, float), sizes bytes.  `None` means "does not apply" or
"not known", never 0.  `poolbench.columns` names, explains and orders every field that users see.
"""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.domain import Case, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedWait:
    """One allocation that the driver made wait for another stream's free (traced pass).

    `wait_us` is the event time of the allocation less the event floor, never below 0.
    """

    allocation: str
    line: int
    iteration: int
    stream: str
    free_of: str
    free_line: int
    free_stream: str
    wait_us: float
    on_path_us: float | None = None
    """How much of it reached the end of its iteration; `None` in results of an older poolbench."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The allocation that ended the run, and the pool at that moment."""

    allocation: str
    line: int
    iteration: int
    asked: int
    reserved: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimes:
    """The host's time in calls of one kind, over all of them or over those of the first iteration.

    `n_blocked` of them returned only when work of the device was over.
    """

    kind: str
    is_first_iteration: bool
    n: int
    median_us: float
    p95_us: float
    p99_us: float
    max_us: float
    total_us: float
    n_blocked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPair:
    """Two streams, the mean of the steady iterations: how long both had work running, and how long
    they could have had, were every step to start as soon as the scenario lets it."""

    first: str
    second: str
    both_us: float
    could_us: float

    @property
    def lost_us(self) -> float:
        return max(0.0, self.could_us - self.both_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serialised:
    """Two steps that ran one after the other although the scenario lets them run together.

    `lost_us` is the time for which they could have, summed over `n` such pairs of all iterations;
    `cause` says what kept the later one from starting.
    """

    first: str
    first_line: int
    first_stream: str
    second: str
    second_line: int
    second_stream: str
    cause: str
    n: int
    lost_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAllocation:
    """Allocations of one place in the scenario that failed, `n` of them; also those that a retry
    got through.

    The bytes are those of the failure with the largest usable run: free in the pool, in one run of
    addresses, and in one run that the stream could have had without waiting.
    """

    allocation: str
    line: int
    n: int
    asked: int
    free: int
    largest_run: int
    usable_run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What only a traced run can tell, beyond the row of the table."""

    calls: tuple[CallTimes, ...] = ()
    pairs: tuple[StreamPair, ...] = ()
    serialised: tuple[Serialised, ...] = ()
    """The worst first, a few of them."""
    failed: tuple[FailedAllocation, ...] = ()
    asked_high_bytes: int | None = None
    """The most that was asked for and not yet freed, in the order of the host's calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationResult:
    """One line of `expect` against one case; `found` says what was seen instead."""

    line: int
    claim: str
    is_met: bool
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Medians are over the timed repetitions that ended `ok`; counts come from the traced run.

    Makespans are of the steady state (iterations after the first) where there are several
    iterations, and `makespan_cold_us_median` is the first iteration's; with one iteration it is
    `None`.
    """

    repeats: int
    makespan_us_median: float | None
    makespan_us_min: float | None
    makespan_us_iqr: float | None
    makespan_cold_us_median: float | None
    host_us_median: float | None
    alloc_host_us_median: float | None
    alloc_host_us_max: float | None
    free_host_us_median: float | None
    sync_host_us_median: float | None
    sync_host_us_max: float | None
    n_allocs: int
    n_inserted_waits: int
    inserted_wait_us_total: float
    n_same_stream: int
    n_host_ordered: int
    n_event_ordered: int
    n_opportunistic: int
    n_slack: int
    n_remapped: int
    n_grown: int
    n_internal_dependency: int
    n_out_of_memory: int
    reserved_high_bytes: int | None
    used_high_bytes: int | None
    overlap: float | None
    tracing_ratio: float | None
    """Makespan of the traced run over the median of the timed ones."""
    n_latch_timeouts: int
    n_corrupt_bytes: int | None
    """Over all `check` steps of the traced and timed runs; `None` where there is none."""
    path_work_us: float | None = None
    """This and the next: parts of the traced run's critical path, the mean of its steady
    iterations (`analysis.split`); together they are its makespan."""
    path_explicit_wait_us: float | None = None
    path_inserted_wait_us: float | None = None
    path_growth_us: float | None = None
    path_retry_us: float | None = None
    path_host_call_us: float | None = None
    path_host_own_us: float | None = None
    path_contention_us: float | None = None
    path_rest_us: float | None = None
    lost_overlap_us: float | None = None
    """Summed over all pairs of streams."""
    asked_high_bytes: int | None = None
    graph_reserved_high_bytes: int | None = None
    graph_used_high_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A case with its status and everything found; `reason` explains any status but `ok`."""

    case: Case
    release_threshold: int | None
    """As in force for this row (bytes), `None` for a row without a pool."""
    status: Status
    reason: str
    findings: Findings | None
    samples_us: tuple[float | None, ...] = ()
    """Makespan by timed block, the median of its steady iterations; `None` where the run did not
    end ok or the block was set aside."""
    control_us: tuple[float | None, ...] = ()
    """The same of the A/A control, where this case has one."""
    waits: tuple[InsertedWait, ...] = ()
    failure: Failure | None = None
    detail: Detail | None = None
    """`None` without a traced run, and in results of an older poolbench."""
    expectations: tuple[ExpectationResult, ...] = ()
