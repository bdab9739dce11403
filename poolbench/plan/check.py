"""All faults and warnings of a scenario, under every combination of its axes.

Pure.  Faults do not depend on the row of the table, so each combination is looked at once; a fault
that several combinations share is reported once, one that only some have says with which.
"""

from __future__ import annotations

from poolbench.errors import BadInput, BadUsage, Problem
from poolbench.plan.advice import SYNC_HIDES_POLICY, advice
from poolbench.plan.cases import axis_combinations
from poolbench.plan.control import control_faults
from poolbench.plan.expand import Expansion, expand
from poolbench.plan.faults import Fault, Faults, Key, bounded
from poolbench.plan.lifetimes import lifetime_faults
from poolbench.plan.names import references_of
from poolbench.plan.order import Order, order_of
from poolbench.scenario.scenario import Scenario

MAX_CHECKED_STEPS = 2_000_000
"""Steps after which no further combination of axis values is looked at."""


def faults_of(expansion: Expansion, order: Order | None) -> tuple[Fault, ...]:
    """Faults and warnings of one combination, each once.

    `order` is `None` where a step is missing from the expansion: then only its own faults count.
    """
    faults = Faults()
    faults.extend(expansion.faults)
    if order is not None:
        faults.extend(lifetime_faults(expansion, order))
        faults.extend(control_faults(expansion))
        faults.extend(advice(expansion, order))
    return faults.all


def order_in(expansion: Expansion) -> Order | None:
    """The order of the steps, if none of them is missing."""
    if not expansion.is_complete:
        return None
    return order_of(expansion.steps, expansion.streams, len(expansion.events))


def check(scenario: Scenario) -> tuple[Problem, ...]:
    """Every error and warning of a scenario, sorted; empty for a good one."""
    try:
        combinations = axis_combinations(scenario)
    except BadInput as bad:
        return bad.problems
    except BadUsage as bad:
        place = scenario.place_of("axes")
        problem = Problem(
            file=scenario.file, place=place, message=bad.message, code="too-many-steps"
        )
        return (problem,)
    first: dict[Key, tuple[Fault, str]] = {}
    n_found: dict[Key, int] = {}
    n_checked = n_steps = 0
    problems: list[Problem] = []
    for axes in combinations:
        expansion = expand(scenario, axes)
        n_steps += len(expansion.steps)
        n_checked += 1
        told = ", ".join(f"{name} = {text}" for name, text in axes)
        for fault in faults_of(expansion, order_in(expansion)):
            first.setdefault(fault.key, (fault, told))
            n_found[fault.key] = n_found.get(fault.key, 0) + 1
        if n_steps > MAX_CHECKED_STEPS and n_checked < len(combinations):
            problems.append(
                Problem(
                    file=scenario.file,
                    place=scenario.place_of("axes"),
                    message=f"only the first {n_checked} of {len(combinations)} combinations of "
                    f"axis values were checked; they have {n_steps:,} steps already",
                    code="not-all-checked",
                    is_warning=True,
                )
            )
            break
    for key, (fault, told) in first.items():
        is_everywhere = n_found[key] == n_checked
        if fault.code == SYNC_HIDES_POLICY and not is_everywhere:
            continue  # with other values of an axis the scenario does test the attributes
        problems.append(fault.problem(scenario.file, only_with="" if is_everywhere else told))
    problems.extend(_unused_parameters(scenario))
    return bounded(problems)


def _unused_parameters(scenario: Scenario) -> list[Problem]:
    used = references_of(scenario)
    return [
        Problem(
            file=scenario.file,
            place=scenario.place_of("parameters", name),
            message=f"parameter {name} is not used",
            code="unused-parameter",
            is_warning=True,
        )
        for name in scenario.head.parameters
        if name not in used
    ]
