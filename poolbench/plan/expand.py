"""A scenario and one combination of axis values as concrete steps, rows of the table left aside.

Pure: the same scenario and values give the same expansion.  Loops are unrolled, names become
indices, references and draws become numbers.  How large the result may be is settled first
(`count`), so no file makes this take long.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.plan.count import MAX_ROWS, MAX_STEPS, TooMany, count_steps
from poolbench.plan.expansion import Expansion
from poolbench.plan.faults import Faults
from poolbench.plan.head import Head, resolve_head
from poolbench.plan.names import text_of
from poolbench.plan.recorded import RecordedNodes, recorded_steps
from poolbench.plan.scope import Scope
from poolbench.plan.step_values import Values
from poolbench.plan.tables import Tables
from poolbench.plan.unroll import Unrolled, identified, leaves_of
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.schema import AXIS_SETTINGS
from poolbench.scenario.workload import Workload

MAX_CLOCK_CELLS = 2**26
"""Steps x streams: what the order of the steps may need, 256 MiB."""


def _is_bounded(scenario: Scenario, scope: Scope, head: Head) -> bool:
    """Whether the scenario is small enough to expand; a fault if not."""
    try:
        n_steps = count_steps(scenario.steps, scope)
    except TooMany as fault:
        scope.faults.error(
            fault.place,
            "too-many-steps",
            f"the steps up to the end of this one are more than {MAX_STEPS:,} in an iteration",
        )
        return False
    return _fits(scenario, scope, head, n_steps)


def _fits(scenario: Scenario, scope: Scope, head: Head, n_steps: int) -> bool:
    n_iterations = head.settings.n_iterations
    if n_steps * n_iterations > MAX_ROWS:
        scope.faults.error(
            scenario.place_of("iterations"),
            "too-many-steps",
            f"{n_iterations:,} iterations of {n_steps:,} steps are more than {MAX_ROWS:,} steps",
        )
        return False
    if n_steps * len(head.streams) > MAX_CLOCK_CELLS:
        scope.faults.error(
            scenario.place_of("streams"),
            "too-many-steps",
            f"{n_steps:,} steps on {len(head.streams)} streams are too many to order; "
            f"steps x streams can be {MAX_CLOCK_CELLS:,}",
        )
        return False
    return True


def _recorded(
    scenario: Scenario,
    workload: Workload,
    head: Head,
    axes: Sequence[tuple[str, str]],
    scope: Scope,
) -> Expansion:
    """Nothing to unroll: the steps are there."""
    is_bounded = _fits(scenario, scope, head, workload.n_rows)
    keeps_host = scenario.head.recorded is None or scenario.head.recorded.host == "keep"
    made = recorded_steps(workload, head.streams, head.buffers, keeps_host=keeps_host)
    return Expansion(
        axes=tuple(axes),
        steps=made.steps,
        origin=made.origin,
        names=made.names,
        sources=RecordedNodes(workload.columns["op"].tobytes()),
        streams=head.streams,
        stream_places=head.stream_places,
        buffers=made.buffers,
        written=tuple(buffer.name for buffer in made.buffers),
        events=made.events,
        kernels=head.kernels,
        settings=head.settings,
        faults=scope.faults.all,
        is_complete=is_bounded,
        is_recorded=True,
    )


def expand(scenario: Scenario, axes: Sequence[tuple[str, str]]) -> Expansion:
    """The scenario under one combination of axis values; faults are in the result."""
    texts = {name: text_of(value) for name, value in scenario.head.parameters.items()}
    texts |= {name: text for name, text in axes if name not in AXIS_SETTINGS}
    faults = Faults()
    scope = Scope(texts=texts, faults=faults)
    head = resolve_head(scenario, scope, dict(axes))
    if scenario.workload is not None:
        return _recorded(scenario, scenario.workload, head, axes, scope)
    tables = Tables.of(head, faults)
    leaves = tuple(leaves_of(scenario.steps))
    unrolled = Unrolled(
        head=head,
        values=Values(scope=scope, tables=tables, seed=scenario.head.seed),
        leaves=leaves,
        sources={
            id(source.node): (number, source) for number, source in enumerate(identified(leaves))
        },
    )
    if _is_bounded(scenario, scope, head):
        unrolled.nodes(scenario.steps)
        tables.close(unrolled.allocs)
    else:
        tables.is_complete = False
    return unrolled.expansion(axes, faults.all)
