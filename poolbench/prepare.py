"""From names on the command line to plans: every fault of every file before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from poolbench.domain import Row
from poolbench.errors import BadInput, BadUsage, Problem
from poolbench.plan.build import build_plans
from poolbench.plan.cases import DEFAULT_ROWS, cases
from poolbench.plan.check import check
from poolbench.plan.plan import Plan
from poolbench.plan.settings import with_settings
from poolbench.scenario.find import find
from poolbench.scenario.load import load
from poolbench.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A scenario with everything that is to be run of it."""

    scenario: Scenario
    plans: tuple[Plan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Scenarios, the warnings about them, and their texts by file (for carets)."""

    scenarios: tuple[Scenario, ...]
    warnings: tuple[Problem, ...]
    texts: dict[str, str]


def load_all(names: Sequence[str]) -> Loaded:
    """Scenarios by file or shipped name.

    Raises one `BadInput` with every error of every file, or `BadUsage` for names that are none.
    """
    paths = _paths(names)
    scenarios: list[Scenario] = []
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for path in paths:
        try:
            scenario = load(path)
        except BadInput as bad:
            problems += bad.problems
            texts |= bad.texts
            continue
        scenarios.append(scenario)
        texts[scenario.file] = scenario.text
        problems += check(scenario)
    if any(not problem.is_warning for problem in problems):
        raise BadInput(tuple(problems), texts)
    return Loaded(scenarios=tuple(scenarios), warnings=tuple(problems), texts=texts)


def _paths(names: Sequence[str]) -> list[Path]:
    """The files, each once, as it was first named."""
    paths: list[Path] = []
    faults: list[BadUsage] = []
    for name in names:
        try:
            paths.append(find(name))
        except BadUsage as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise BadUsage("\n".join(fault.message for fault in faults), hint=faults[0].hint)
    once = {path.resolve(): path for path in reversed(paths)}
    return [path for path in paths if once[path.resolve()] is path]


def prepare(
    scenarios: Sequence[Scenario],
    *,
    rows: Sequence[Row],
    sets: Mapping[str, str],
    axes: Mapping[str, tuple[str, ...]],
    seed: int | None,
) -> tuple[Experiment, ...]:
    """Plans of all scenarios with the values of the command line.

    `seed` replaces the scenario's own.  Raises `BadInput` and `BadUsage`.
    """
    names = [scenario.name for scenario in scenarios]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise BadUsage(f"two of the scenarios have the name {double}", hint="name one of them")
    experiments = []
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for scenario in scenarios:
        chosen = with_settings(scenario, sets=sets, axes=axes)
        if seed is not None:
            head = chosen.head.model_copy(update={"seed": seed})
            chosen = replace(chosen, head=head)
        try:
            plans = build_plans(chosen, cases(chosen, rows))
        except BadInput as bad:
            problems += bad.problems
            texts |= bad.texts
            continue
        experiments.append(Experiment(scenario=chosen, plans=plans))
    if problems:
        raise BadInput(tuple(problems), texts)
    return tuple(experiments)


def summary(scenario: Scenario) -> str:
    """`ok, 10 cases`: what a run of a good scenario would be."""
    found = cases(scenario, DEFAULT_ROWS)
    n_combinations = len(found) // len(DEFAULT_ROWS)
    blocks = f" in {n_combinations} blocks" if n_combinations > 1 else ""
    return f"ok, {len(found)} cases{blocks}"
