"""Measure a prepared scenario and keep what comes of it.

`conduct` keeps the results directory up to date while runs end, so that whatever comes, finished
work is on disk.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from poolbench import __version__
from poolbench.analysis.detail import Traced, examine
from poolbench.analysis.expectations import evaluate
from poolbench.analysis.findings import find
from poolbench.analysis.outcomes import with_outcomes
from poolbench.analysis.precision import are_precise, controls_of
from poolbench.backends.base import Backend
from poolbench.domain import Case, Pass, Status
from poolbench.errors import DeviceFailed, ExitCode, Interrupted, PoolbenchError
from poolbench.findings import CaseResult
from poolbench.measure import Block, Course, OnProgress, measure, planned_blocks
from poolbench.plan.names import text_of
from poolbench.prepare import Experiment
from poolbench.results import samples, store
from poolbench.results.environment import Environment
from poolbench.results.record import RunRecord
from poolbench.scenario.scenario import Scenario
from poolbench.trace import Trace

_WRITE_SHARE = 10
"""With no new case, run.json is rewritten when this many times the time that it took last has
passed."""


MAX_BLOCKS = 200
"""`--repeats auto` ends here, whatever the precision."""
MAX_SET_ASIDE = 3
SLOWED = frozenset({"sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"})
"""Reasons for which a device runs slower than it could; the others are settings, or idleness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often.

    repeats, warmup
        timed blocks, warm-up blocks; `None` goes on until times settle.
    once
        one timed run of each case, for a profiler.
    precision, time_limit_s
        more blocks, until the interval of each row against the block's `111` row is no wider than
        this share to either side, or until the time is up.
    """

    repeats: int
    warmup: int | None
    once: bool
    precision: float | None = None
    time_limit_s: float = math.inf

    @property
    def n_blocks(self) -> int:
        """At least."""
        return planned_blocks(repeats=self.repeats, warmup=self.warmup, once=self.once)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a record says of how it came about."""

    backend_reason: str
    command: tuple[str, ...]
    shard: tuple[int, int] | None = None


def conduct(
    experiment: Experiment,
    backend: Backend,
    *,
    directory: Path,
    effort: Effort,
    circumstances: Circumstances,
    on_progress: OnProgress | None,
) -> tuple[RunRecord, PoolbenchError | None]:
    """Measure one scenario into `directory`.

    The fault says why the record is not whole: `Interrupted` or `DeviceFailed`.  Raises
    `DeviceFailed` where not even the environment can be read, and `BadUsage` where the directory
    cannot be written; nothing has run then.
    """
    backend.renew()
    before = backend.environment()
    store.create(directory, experiment.scenario)
    ledger = _Ledger(experiment, backend, directory, effort, circumstances, before)
    ledger.start()
    fault: PoolbenchError | None = None
    try:
        course = measure(
            experiment.plans,
            backend,
            repeats=effort.repeats,
            warmup=effort.warmup,
            seed=experiment.scenario.head.seed,
            once=effort.once,
            on_trace=ledger.take,
            on_progress=on_progress,
            controls=controls_of(experiment.plans) if backend.kind.is_measured else (),
            on_block=ledger.end_block,
            on_warm=ledger.end_warmup,
            wants_more=ledger.wants_more,
        )
        ledger.note(course)
        after = backend.environment()
    except KeyboardInterrupt:
        fault = Interrupted(f"{experiment.scenario.name}: interrupted; finished cases are kept")
    except DeviceFailed as failed:
        fault = failed
    if fault is not None:
        return ledger.write(after=None), fault
    if not effort.once:
        ledger.judge()
    return ledger.write(after=after), None


class _Ledger:
    """The record of a run while it grows."""

    def __init__(
        self,
        experiment: Experiment,
        backend: Backend,
        directory: Path,
        effort: Effort,
        circumstances: Circumstances,
        before: Environment,
    ) -> None:
        self._experiment = experiment
        self._backend = backend
        self._directory = directory
        self._effort = effort
        self._circumstances = circumstances
        self._before = before
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._plans = {plan.case: plan for plan in experiment.plans}
        self._traces: dict[Case, list[Trace]] = {}
        self._examined: dict[Case, Traced] = {}
        self._results: dict[Case, CaseResult] = {}
        self._stale: set[Case] = set()
        self._next_write_s = 0.0
        self._deadline_s = time.monotonic() + effort.time_limit_s
        self._warmup: tuple[int, bool | None] = (0, None)
        self._n_blocks = 0
        self._sm_mhz: list[int | None] = []
        self._throttled: list[int] = []
        self._set_aside: set[int] = set()

    def start(self) -> None:
        """Write the record while it has no cases: it is readable from here on.  How long that took
        says nothing of the writes to come, since it pays for imports."""
        self.write(after=None)
        self._next_write_s = 0.0

    def take(self, trace: Trace) -> None:
        """Keep a trace, on disk too, and what it makes of its case."""
        plan = self._plans[trace.case]
        floors = self._before.floors
        if trace.steps is not None:
            steps = with_outcomes(plan, trace.steps, event_floor_ns=floors.event_pair_ns)
            trace = replace(trace, steps=steps)
            examined = examine(plan, trace, event_floor_ns=floors.event_pair_ns)
            self._examined[trace.case] = examined
            samples.append_steps(self._directory, plan, steps, examined)
        samples.append_sample(self._directory, trace)
        traces = self._traces.setdefault(trace.case, [])
        traces.append(trace)
        self._stale.add(trace.case)
        # A new case is on disk at once; what more repetitions add to it may wait a moment.
        if len(traces) == 1 or time.monotonic() >= self._next_write_s:
            self.write(after=None)

    def _refresh(self) -> None:
        """What the traces come to, of those cases that have new ones."""
        for case in self._stale:
            self._results[case] = self._found(case)
        self._stale.clear()

    def _found(self, case: Case) -> CaseResult:
        return find(
            self._plans[case],
            self._traces[case],
            floors=self._before.floors,
            set_aside=self._set_aside,
            examined=self._examined.get(case),
        )

    def end_warmup(self, n_warmups: int, is_settled: bool | None) -> None:
        self._warmup = n_warmups, is_settled

    def end_block(self, block: Block) -> None:
        """A block during which the device was slowed down is run again, a few times at most; after
        that such blocks count, and are marked."""
        self._n_blocks = block.repetition
        clocks = self._backend.environment().clocks
        self._sm_mhz.append(clocks.sm_mhz)
        if not SLOWED.intersection(clocks.throttle_reasons):
            return
        self._throttled.append(block.repetition)
        if len(self._set_aside) < MAX_SET_ASIDE:
            self._set_aside.add(block.repetition)
            self._stale.update(self._traces)

    def wants_more(self) -> bool:
        """Another block: for one that was set aside, or because a row is not precise enough."""
        effort = self._effort
        if self._n_blocks - len(self._set_aside) < effort.repeats:
            return True
        if effort.precision is None or self._n_blocks >= MAX_BLOCKS:
            return False
        if time.monotonic() >= self._deadline_s:
            return False
        self._refresh()
        return not are_precise(tuple(self._results.values()), effort.precision)

    def note(self, course: Course) -> None:
        """Say of a case which of its runs are missing."""
        self._refresh()
        for gone in course.given_up:
            result = self._results[gone.case]
            runs = "1 run was" if gone.n_dropped == 1 else f"{gone.n_dropped} runs were"
            reason = f"{result.reason}; {runs} left out" if result.reason else f"{runs} left out"
            self._results[gone.case] = replace(result, reason=reason)

    def judge(self) -> None:
        """Compare everything with what the scenario expects."""
        self._refresh()
        runs = [
            (plan, self._traced(plan.case), self._results[plan.case])
            for plan in self._experiment.plans
            if plan.case in self._results
        ]
        for result in evaluate(self._experiment.scenario, runs):
            self._results[result.case] = result

    def _traced(self, case: Case) -> Trace | None:
        traces = self._traces[case]
        return next((trace for trace in traces if trace.measured is Pass.TRACED), None)

    def write(self, *, after: Environment | None) -> RunRecord:
        started = time.monotonic()
        self._refresh()
        record = self._record(after)
        store.write_record(self._directory, record)
        ended = time.monotonic()
        self._next_write_s = ended + _WRITE_SHARE * (ended - started)
        return record

    def _record(self, after: Environment | None) -> RunRecord:
        scenario = self._experiment.scenario
        return RunRecord(
            scenario=scenario.name,
            question=scenario.head.question.strip(),
            known=scenario.head.known.strip(),
            backend=self._backend.kind,
            backend_reason=self._circumstances.backend_reason,
            command=self._circumstances.command,
            seed=scenario.head.seed,
            started=self._started,
            version=__version__,
            repeats=1 if self._effort.once else self._n_timed(),
            warmup=self._warmup[0],
            axes=tuple(
                (name, tuple(map(text_of, values))) for name, values in scenario.head.axes.items()
            ),
            n_planned=len(self._plans),
            before=self._before,
            after=after,
            cases=tuple(self._results[case] for case in self._plans if case in self._results),
            is_settled=self._warmup[1],
            precision=self._effort.precision,
            throttled=tuple(self._throttled),
            sm_mhz=tuple(self._sm_mhz),
            set_aside=tuple(sorted(self._set_aside)),
            recorded_us=_recorded_us(scenario),
            shard=self._circumstances.shard,
        )

    def _n_timed(self) -> int:
        """Timed blocks that count, so far; as many as asked for before the first is over."""
        return self._n_blocks - len(self._set_aside) or self._effort.repeats


def _recorded_us(scenario: Scenario) -> float | None:
    if scenario.workload is None:
        return None
    found = scenario.workload.recorded.get("makespan_ns")
    return found / 1000 if isinstance(found, int) and found > 0 else None


_RESULTS = frozenset({Status.OK, Status.OUT_OF_MEMORY, Status.CORRUPTED})
"""Statuses of a case that has run to an end."""


def exit_code_of(record: RunRecord) -> ExitCode:
    """What a whole record comes to; `docs/exit-codes.md`."""
    statuses = {result.status for result in record.cases}
    if statuses & {Status.ERROR, Status.TIMEOUT} or not statuses & _RESULTS:
        return ExitCode.DEVICE_FAILED
    is_met = all(claim.is_met for result in record.cases for claim in result.expectations)
    if Status.CORRUPTED in statuses or not is_met:
        return ExitCode.EXPECTATION_FAILED
    return ExitCode.DONE


_GRAVITY = (
    ExitCode.DONE,
    ExitCode.EXPECTATION_FAILED,
    ExitCode.BAD_INPUT,
    ExitCode.NO_BACKEND,
    ExitCode.DEVICE_FAILED,
    ExitCode.INTERRUPTED,
)


def worst(codes: Sequence[ExitCode]) -> ExitCode:
    """Of several scenarios, the code that matters most; `DONE` of none."""
    return max(codes, key=_GRAVITY.index, default=ExitCode.DONE)


def fresh_directory(base: Path, now: Callable[[], datetime]) -> Path:
    """`base/20261201-142530`, with a number behind it if that is there already."""
    name = now().strftime("%Y%m%d-%H%M%S")
    candidate = base / name
    count = 2
    while candidate.exists():
        candidate = base / f"{name}-{count}"
        count += 1
    return candidate
