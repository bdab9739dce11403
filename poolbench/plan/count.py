"""How many steps a scenario expands to, found without expanding it.

A `repeat` of a `repeat` multiplies in no time; the bound is checked first, so that no file can make
the planner run for minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from poolbench.errors import Place
from poolbench.plan.faults import Faults
from poolbench.plan.names import references_in
from poolbench.plan.scope import Scope
from poolbench.scenario.fieldtypes import read_count
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.step_models import RepeatStep

MAX_STEPS = 1_000_000
"""Steps of one iteration."""
MAX_ROWS = 2_000_000
"""Steps x iterations: rows of a trace."""
MAX_VISITS = 2_000_000
"""Steps looked at, those that `when` and `every` leave out included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooMany(Exception):
    """The steps under a `repeat`, or up to a step, pass the bound."""

    place: Place


def _bound(node: StepNode, n_steps: int, n_visits: int) -> None:
    if n_steps > MAX_STEPS or n_visits > MAX_VISITS:
        raise TooMany(place=node.places.get("repeat", node.place))


def _runs(every: int, n_passes: int | None) -> int:
    """Executions of a step in a loop of `n_passes` (`None`: outside every loop)."""
    if n_passes is None:
        return 1
    return n_passes // every if every else 0


def _names_counts(nodes: Sequence[StepNode], index: str) -> bool:
    """Whether a count somewhere in `nodes` depends on a loop index."""
    for node in nodes:
        step = node.step
        counts: tuple[object, ...] = (step.every,)
        if isinstance(step, RepeatStep):
            counts = (step.every, step.repeat)
        if index in references_in(counts) or _names_counts(node.body, index):
            return True
    return False


def _resolved(scope: Scope, node: StepNode) -> tuple[bool, int, int]:
    """`when`, `every` and the count of a node; what cannot be read counts as little as it can."""
    step = node.step
    when = scope.flag(step.when, node.places.get("when", node.place))
    every = scope.number(step.every, node.places.get("every", node.place), read_count)
    count = 1
    if isinstance(step, RepeatStep):
        count = scope.number(step.repeat, node.places.get("repeat", node.place), read_count) or 0
    return when is not False, 1 if every is None else every, count


def _count(
    nodes: Sequence[StepNode], scope: Scope, n_passes: int | None, spent: int
) -> tuple[int, int]:
    """(steps, visits) of all passes over `nodes`; `spent` visits were counted before."""
    n_steps = n_visits = 0
    for node in nodes:
        is_run, every, count = _resolved(scope, node)
        n_visits += 1 if n_passes is None else n_passes
        runs = _runs(every, n_passes) if is_run else 0
        if isinstance(node.step, RepeatStep):
            if runs:
                steps, visits = _count_repeat(node, node.step, scope, count, spent)
                n_steps += runs * steps
                n_visits += runs * visits
        else:
            steps, visits = _count(node.body, scope, n_passes, spent) if node.body else (0, 0)
            n_steps += runs + steps  # a graph and what it captures
            n_visits += visits
        if n_passes is None:
            _bound(node, n_steps, spent + n_visits)
    return n_steps, n_visits


def _count_repeat(
    node: StepNode, step: RepeatStep, scope: Scope, count: int, spent: int
) -> tuple[int, int]:
    outer = scope.texts.get(step.index)
    n_steps = n_visits = 0
    try:
        if not _names_counts(node.body, step.index):
            scope.texts[step.index] = "0"
            n_steps, n_visits = _count(node.body, scope, count, spent)
        else:
            for index in range(count):
                scope.texts[step.index] = str(index)
                steps, visits = _count_pass(node.body, scope, index, spent + n_visits)
                n_steps += steps
                n_visits += visits
                _bound(node, n_steps, spent + n_visits)
        _bound(node, n_steps, spent + n_visits)
    finally:
        if outer is None:
            scope.texts.pop(step.index, None)
        else:
            scope.texts[step.index] = outer
    return n_steps, n_visits


def _count_pass(nodes: Sequence[StepNode], scope: Scope, index: int, spent: int) -> tuple[int, int]:
    """(steps, visits) of one pass of a loop whose counts depend on its index."""
    n_steps = n_visits = 0
    for node in nodes:
        is_run, every, count = _resolved(scope, node)
        n_visits += 1
        if not is_run or not every or (index + 1) % every:
            continue
        if isinstance(node.step, RepeatStep):
            steps, visits = _count_repeat(node, node.step, scope, count, spent + n_visits)
            n_steps += steps
            n_visits += visits
        else:
            steps, visits = _count_pass(node.body, scope, index, spent) if node.body else (0, 0)
            n_steps += 1 + steps
            n_visits += visits
    return n_steps, n_visits


def count_steps(nodes: Sequence[StepNode], scope: Scope) -> int:
    """Steps of one iteration.  Raises `TooMany`; faults are left to the expansion."""
    quiet = Scope(texts=dict(scope.texts), faults=Faults())
    return _count(nodes, quiet, None, 0)[0]
