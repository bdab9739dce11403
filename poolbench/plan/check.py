"""All faults and warnings of a scenario, under every combination of its axes.

Pure.  Faults do not depend on the row of the table, so each combination is looked at once; a fault
that several combinations share is reported once, one that only some have says with which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from poolbench.errors import BadInput, BadUsage, Problem
from poolbench.plan.advice import SYNC_HIDES_POLICY, advice
from poolbench.plan.cases import Axes, axis_combinations
from poolbench.plan.control import control_faults, event_faults
from poolbench.plan.expand import expand
from poolbench.plan.expansion import Expansion, GraphBody
from poolbench.plan.faults import Fault, Faults, Key, bounded
from poolbench.plan.graphs import capture_faults, order_in_graph
from poolbench.plan.lifetimes import lifetime_faults
from poolbench.plan.names import references_of
from poolbench.plan.order import Order, order_of
from poolbench.scenario.scenario import Scenario

MAX_CHECKED_STEPS = 2_000_000
"""Steps after which no further combination of axis values is looked at."""
MAX_TOLD_VALUES = 3
"""Values of an axis that a message names."""


def faults_of(expansion: Expansion, order: Order | None) -> tuple[Fault, ...]:
    """Faults and warnings of one combination, each once.

    `order` is `None` where a step is missing from the expansion: then only its own faults count.
    """
    faults = Faults()
    faults.extend(expansion.faults)
    if order is not None and not expansion.is_recorded:
        faults.extend(lifetime_faults(expansion, order))
        for body in expansion.graphs:
            faults.extend(_faults_in(body))
        faults.extend(control_faults(expansion))
        faults.extend(advice(expansion, order))
    return faults.all


def _faults_in(body: GraphBody) -> Iterator[Fault]:
    order = order_in_graph(body)
    yield from capture_faults(body, order)
    yield from lifetime_faults(body.expansion, order)
    yield from event_faults(body.expansion)


def order_in(expansion: Expansion) -> Order | None:
    """The order of the steps, if none of them is missing."""
    if not expansion.is_complete:
        return None
    return order_of(expansion.steps, expansion.streams, len(expansion.events))


@dataclass(slots=True, kw_only=True)
class _Found:
    """A fault with the combinations that have it, and those that were looked at for it: a fault of
    order is not looked for where a step is missing."""

    fault: Fault
    looked_for: list[Axes]
    combinations: list[Axes] = field(default_factory=list)

    @property
    def is_everywhere(self) -> bool:
        return len(self.combinations) == len(self.looked_for)

    @property
    def condition(self) -> str:
        """The axis values that the fault needs: `n = 2 or 4`; empty if it is always there."""
        if self.is_everywhere:
            return ""
        needed = []
        for at, (name, _) in enumerate(self.combinations[0]):
            having = list(dict.fromkeys(axes[at][1] for axes in self.combinations))
            if len(having) < len({axes[at][1] for axes in self.looked_for}):
                more = " ..." if len(having) > MAX_TOLD_VALUES else ""
                needed.append(f"{name} = {' or '.join(having[:MAX_TOLD_VALUES])}{more}")
        return ", ".join(needed) or told(self.combinations[0])


def told(axes: Axes) -> str:
    """A combination of axis values in words."""
    return ", ".join(f"{name} = {text}" for name, text in axes)


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
    found: dict[Key, _Found] = {}
    checked: list[Axes] = []
    ordered: list[Axes] = []
    n_steps = 0
    problems: list[Problem] = []
    for axes in combinations:
        expansion = expand(scenario, axes)
        order = order_in(expansion)
        n_steps += len(expansion.steps)
        checked.append(axes)
        if order is not None:
            ordered.append(axes)
        own = {fault.key for fault in expansion.faults}
        for fault in faults_of(expansion, order):
            looked_for = checked if fault.key in own else ordered
            known = found.setdefault(fault.key, _Found(fault=fault, looked_for=looked_for))
            known.combinations.append(axes)
        if n_steps > MAX_CHECKED_STEPS and len(checked) < len(combinations):
            problems.append(
                Problem(
                    file=scenario.file,
                    place=scenario.place_of("axes"),
                    message=f"only the first {len(checked)} of {len(combinations)} combinations of "
                    f"axis values were checked; they have {n_steps:,} steps already",
                    code="not-all-checked",
                    is_warning=True,
                )
            )
            break
    for one in found.values():
        if one.fault.code == SYNC_HIDES_POLICY and not one.is_everywhere:
            continue  # with other values of an axis the scenario does test the attributes
        problems.append(one.fault.problem(scenario.file, only_with=one.condition))
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
