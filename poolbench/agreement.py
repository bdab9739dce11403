"""The model held against the hardware: a recorded run, predicted again and compared.

Pure but for reading the recorded results directory.  Outcomes, whose block it was and which free
was waited for are compared allocation by allocation; makespans case by case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.analysis.statistics import median_us
from poolbench.backends.base import Backend
from poolbench.domain import OUTCOMES, Pass
from poolbench.findings import CaseResult
from poolbench.plan.build import build_plans
from poolbench.plan.plan import Plan
from poolbench.results import store
from poolbench.results.samples import read_steps
from poolbench.scenario.load import load
from poolbench.trace import NONE, Trace

if TYPE_CHECKING:
    import pandas as pd

SAME = 0.05
"""Two makespans that differ by no more than this are the same."""

LONG_KERNEL_NS = 50_000
"""Predicted makespans are held to the measured ones where every kernel lasts this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that was predicted otherwise than it was recorded.

    `what` is `status`, `outcome` or `waited_for`; `allocation` is empty for a status.
    """

    case: str
    what: str
    allocation: str
    iteration: int
    recorded: str
    predicted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakespanPair:
    """Medians of one case in microseconds, with the interquartile range of the recorded ones;
    `is_long` by `LONG_KERNEL_NS`."""

    case: str
    recorded_us: float
    recorded_iqr_us: float
    predicted_us: float
    is_long: bool

    @property
    def ratio(self) -> float:
        """Predicted over recorded."""
        return self.predicted_us / self.recorded_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Pairs of rows of one scenario and axis value, each faster, the same or slower than the other
    (`SAME`).  Where the measured medians, a quartile more or less, do not say which, the pair is
    undecided and not held against the model.  `wrong`: the pairs that are predicted otherwise."""

    n_agreeing: int
    n_undecided: int
    wrong: tuple[tuple[str, str], ...]

    @property
    def n_decided(self) -> int:
        return self.n_agreeing + len(self.wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    scenario: str
    n_cases: int
    n_allocs: int
    differences: tuple[Difference, ...]
    makespans: tuple[MakespanPair, ...]


def agreement(directory: Path, model: Backend) -> Agreement:
    """Predicts every case of the recorded run in `directory` with `model` and compares."""
    record = store.read(directory)
    scenario = load(directory / store.SCENARIO)
    plans = build_plans(scenario, [result.case for result in record.cases])
    recorded_steps = dict(tuple(read_steps(directory).groupby("case", sort=False)))
    differences: list[Difference] = []
    makespans: list[MakespanPair] = []
    n_allocs = 0
    for plan, result in zip(plans, record.cases, strict=True):
        trace = model.run(plan, measured=Pass.TRACED, repetition=1)
        timed = model.run(plan, measured=Pass.TIMED, repetition=1)
        differences += _status_difference(result, trace)
        steps = recorded_steps.get(plan.case.key)
        if steps is None:
            continue
        found = _alloc_rows(plan, steps)
        n_allocs += len(found)
        differences += _alloc_differences(plan, found, trace)
        makespans += _makespans(result, timed, steps)
    return Agreement(
        scenario=record.scenario,
        n_cases=len(plans),
        n_allocs=n_allocs,
        differences=tuple(differences),
        makespans=tuple(makespans),
    )


def ranking(makespans: Iterable[MakespanPair]) -> Ranking:
    """Every two rows of each scenario and axis value."""
    groups: dict[str, list[MakespanPair]] = {}
    for pair in makespans:
        groups.setdefault(pair.case.rpartition("/")[0], []).append(pair)
    n_agreeing = n_undecided = 0
    wrong = []
    for group in groups.values():
        for left, right in combinations(group, 2):
            measured = _measured_order(left, right)
            if measured is None:
                n_undecided += 1
            elif measured == _order(right.predicted_us / left.predicted_us):
                n_agreeing += 1
            else:
                wrong.append((left.case, right.case))
    return Ranking(n_agreeing=n_agreeing, n_undecided=n_undecided, wrong=tuple(wrong))


def _order(ratio: float) -> int:
    """-1 faster, 0 the same, 1 slower."""
    return (ratio > 1 + SAME) - (ratio < 1 - SAME)


def _measured_order(left: MakespanPair, right: MakespanPair) -> int | None:
    low, high = left.recorded_iqr_us / 2, right.recorded_iqr_us / 2
    least = (right.recorded_us - high) / (left.recorded_us + low)
    most = (right.recorded_us + high) / max(left.recorded_us - low, 1e-9)
    return _order(least) if _order(least) == _order(most) else None


def _status_difference(result: CaseResult, trace: Trace) -> list[Difference]:
    if result.status is trace.status:
        return []
    return [
        Difference(
            case=result.case.key,
            what="status",
            allocation="",
            iteration=0,
            recorded=result.status.value,
            predicted=trace.status.value,
        )
    ]


_Recorded = tuple[int, str, int]
"""(row, outcome, row of the reused free or -1)."""


def _alloc_rows(plan: Plan, steps: pd.DataFrame) -> list[_Recorded]:
    allocs = steps[steps["kind"] == "alloc"]
    rows = allocs["iteration"] * plan.n_steps + allocs["step"]
    waited = allocs["waited_for"].fillna(NONE)
    outcomes = allocs["outcome"].fillna("")
    return [
        (int(row), str(outcome), int(free))
        for row, outcome, free in zip(rows, outcomes, waited, strict=True)
        if outcome
    ]


def _alloc_differences(plan: Plan, found: Iterable[_Recorded], trace: Trace) -> list[Difference]:
    steps = trace.steps
    if steps is None:
        return []
    differences = []
    for row, outcome, free in found:
        code = int(steps.outcome[row])
        predicted = OUTCOMES[code].value if code != NONE else "not issued"
        pairs = [("outcome", outcome, predicted)]
        if outcome == predicted and outcome == "internal_dependency":
            pairs = [("waited_for", _name(plan, free), _name(plan, int(steps.waited_for[row])))]
        for what, seen, said in pairs:
            if seen != said:
                differences.append(
                    Difference(
                        case=plan.case.key,
                        what=what,
                        allocation=plan.names[row % plan.n_steps],
                        iteration=row // plan.n_steps,
                        recorded=seen,
                        predicted=said,
                    )
                )
    return differences


def _name(plan: Plan, row: int) -> str:
    if row == NONE:
        return "none"
    return f"free of {plan.names[row % plan.n_steps]} in iteration {row // plan.n_steps}"


def _makespans(result: CaseResult, timed: Trace, steps: pd.DataFrame) -> list[MakespanPair]:
    recorded = result.findings.makespan_us_median if result.findings else None
    own = timed.makespan_ns[1:] if len(timed.makespan_ns) > 1 else timed.makespan_ns
    predicted = median_us(own[own != NONE].tolist())
    if not recorded or not predicted:
        return []
    kernels = steps[steps["kind"].isin(["kernel", "fill", "check"])]
    lengths = (kernels["device_end_ns"] - kernels["device_begin_ns"]).dropna()
    return [
        MakespanPair(
            case=result.case.key,
            recorded_us=recorded,
            recorded_iqr_us=(result.findings.makespan_us_iqr or 0.0) if result.findings else 0.0,
            predicted_us=predicted,
            is_long=bool(len(lengths)) and bool((lengths >= LONG_KERNEL_NS).all()),
        )
    ]
