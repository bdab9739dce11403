"""Plans from a scenario and its cases: the last step before anything runs.

Pure.  Cases that differ in their row alone share one expansion, one check and all tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from poolbench.collection import without_collection
from poolbench.domain import THRESHOLD_MAX, AttributeSet, Baseline, Case, Row
from poolbench.errors import BadInput
from poolbench.plan.check import faults_of, order_in, told
from poolbench.plan.expand import expand
from poolbench.plan.expansion import Expansion
from poolbench.plan.faults import bounded
from poolbench.plan.graphs import graphs_of
from poolbench.plan.order import Order
from poolbench.plan.plan import BufferSpec, Graph, Plan, StepPlace
from poolbench.plan.preallocate import preallocate
from poolbench.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What all rows of one combination of axis values have in common."""

    expansion: Expansion
    order: Order
    places: Sequence[StepPlace]
    graphs: tuple[tuple[Graph, ...], tuple[BufferSpec, ...]]


def release_threshold(row: Row, *, scenario_threshold: int, max_size: int) -> int:
    """Bytes that the pool of a row keeps: the row's own setting, or the scenario's."""
    if not isinstance(row, AttributeSet):
        return scenario_threshold
    if row.threshold_is_pool_size:
        return max_size or THRESHOLD_MAX
    return scenario_threshold if row.release_threshold is None else row.release_threshold


@without_collection()
def _shared(scenario: Scenario, axes: tuple[tuple[str, str], ...]) -> _Shared:
    expansion = expand(scenario, axes)
    order = order_in(expansion)
    errors = [
        fault.problem(scenario.file, only_with=told(axes))
        for fault in faults_of(expansion, order)
        if not fault.is_warning
    ]
    if errors or order is None:
        raise BadInput(bounded(errors), {scenario.file: scenario.text})
    return _Shared(
        expansion=expansion, order=order, places=expansion.places, graphs=graphs_of(expansion)
    )


def _plan(shared: _Shared, case: Case) -> Plan:
    expansion, settings = shared.expansion, shared.expansion.settings
    slots: tuple[int, ...] = ()
    slot_of: tuple[int, ...] = ()
    if case.row is Baseline.PREALLOCATED:
        slots, slot_of = preallocate(expansion.steps, expansion.buffers, shared.order)
    graphs, own = shared.graphs
    if slot_of:
        slot_of += (-1,) * len(own)
    return Plan(
        case=case,
        steps=expansion.steps,
        origin=expansion.origin,
        names=expansion.names,
        places=shared.places,
        streams=expansion.streams,
        buffers=(*expansion.buffers, *own) if own else expansion.buffers,
        events=expansion.events,
        kernels=expansion.kernels,
        n_iterations=settings.n_iterations,
        max_size=settings.max_size,
        release_threshold=release_threshold(
            case.row,
            scenario_threshold=settings.release_threshold,
            max_size=settings.max_size,
        ),
        prime=settings.prime,
        leave_free=settings.leave_free,
        on_oom=settings.on_oom,
        issue=settings.issue,
        pace_ns=settings.pace_ns,
        latch_limit_ns=settings.latch_limit_ns,
        slots=slots,
        slot_of=slot_of,
        graphs=graphs,
    )


def build_plan(scenario: Scenario, case: Case) -> Plan:
    """The plan of one case.  Raises `BadInput` with every error; warnings stop nothing."""
    return _plan(_shared(scenario, case.axes), case)


def build_plans(scenario: Scenario, cases: Sequence[Case]) -> tuple[Plan, ...]:
    """The plans of many cases, each combination of axis values expanded and checked once.

    Raises `BadInput` for the first combination with errors.
    """
    shared: dict[tuple[tuple[str, str], ...], _Shared] = {}
    for case in cases:
        if case.axes not in shared:
            shared[case.axes] = _shared(scenario, case.axes)
    return tuple(_plan(shared[case.axes], case) for case in cases)
