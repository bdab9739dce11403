"""Measure a prepared scenario and keep what comes of it.

`conduct` keeps the results directory up to date while runs end, so that whatever comes, finished
work is on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from poolbench import __version__
from poolbench.analysis.expectations import evaluate
from poolbench.analysis.findings import find
from poolbench.analysis.outcomes import classify
from poolbench.backends.base import Backend
from poolbench.domain import Case, Pass, Status
from poolbench.errors import DeviceFailed, ExitCode, Interrupted, PoolbenchError
from poolbench.findings import CaseResult
from poolbench.measure import GivenUp, OnProgress, blocks_of, measure
from poolbench.plan.names import text_of
from poolbench.plan.plan import Plan
from poolbench.prepare import Experiment
from poolbench.results import samples, store
from poolbench.results.environment import Environment
from poolbench.results.record import RunRecord
from poolbench.trace import NONE, StepTrace, Trace

_WRITE_SHARE = 10
"""With no new case, run.json is rewritten when this many times the time that it took last has
passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often.  `once`: one timed run of each case, for a profiler."""

    repeats: int
    warmup: int
    once: bool

    @property
    def n_runs(self) -> int:
        return len(blocks_of(repeats=self.repeats, warmup=self.warmup, once=self.once))


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a record says of how it came about."""

    backend_reason: str
    command: tuple[str, ...]


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
        given_up = measure(
            experiment.plans,
            backend,
            repeats=effort.repeats,
            warmup=effort.warmup,
            seed=experiment.scenario.head.seed,
            once=effort.once,
            on_trace=ledger.take,
            on_progress=on_progress,
        )
        ledger.note(given_up)
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
        self._results: dict[Case, CaseResult] = {}
        self._next_write_s = 0.0

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
            steps = _classified(plan, trace.steps, event_floor_ns=floors.event_pair_ns)
            trace = replace(trace, steps=steps)
            samples.append_steps(self._directory, plan, steps)
        samples.append_sample(self._directory, trace)
        traces = self._traces.setdefault(trace.case, [])
        traces.append(trace)
        self._results[trace.case] = find(plan, traces, floors=floors)
        # A new case is on disk at once; what more repetitions add to it may wait a moment.
        if len(traces) == 1 or time.monotonic() >= self._next_write_s:
            self.write(after=None)

    def note(self, given_up: Sequence[GivenUp]) -> None:
        """Say of a case which of its runs are missing."""
        for gone in given_up:
            result = self._results[gone.case]
            runs = "1 run was" if gone.n_dropped == 1 else f"{gone.n_dropped} runs were"
            reason = f"{result.reason}; {runs} left out" if result.reason else f"{runs} left out"
            self._results[gone.case] = replace(result, reason=reason)

    def judge(self) -> None:
        """Compare everything with what the scenario expects."""
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
            repeats=1 if self._effort.once else self._effort.repeats,
            warmup=0 if self._effort.once else self._effort.warmup,
            axes=tuple(
                (name, tuple(map(text_of, values))) for name, values in scenario.head.axes.items()
            ),
            n_planned=len(self._plans),
            before=self._before,
            after=after,
            cases=tuple(self._results[case] for case in self._plans if case in self._results),
        )


def _classified(plan: Plan, steps: StepTrace, *, event_floor_ns: int) -> StepTrace:
    """With outcomes: the backend's own where it knows them, else told from the trace."""
    if (steps.outcome != NONE).any():
        return steps
    return classify(plan, steps, event_floor_ns=event_floor_ns)


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
