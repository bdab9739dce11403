"""A scenario and one combination of axis values as concrete steps, rows of the table left aside.

Pure: the same scenario and values give the same expansion.  Loops are unrolled, names become
indices, references and draws become numbers.  How large the result may be is settled first
(`count`), so no file makes this take long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from poolbench.errors import Place
from poolbench.plan.count import MAX_ROWS, MAX_STEPS, TooMany, count_steps
from poolbench.plan.faults import Fault, Faults
from poolbench.plan.head import Head, Settings, resolve_head
from poolbench.plan.names import text_of
from poolbench.plan.plan import BufferSpec, KernelSource, StepPlace, StreamSpec
from poolbench.plan.recorded import RecordedNodes, RecordedPlaces, recorded_steps
from poolbench.plan.scope import Scope
from poolbench.plan.step_values import Source, Values
from poolbench.plan.steps import Step
from poolbench.plan.tables import Tables
from poolbench.plan.translate import translate
from poolbench.scenario.fieldtypes import read_count
from poolbench.scenario.scenario import Scenario, StepNode
from poolbench.scenario.schema import AXIS_SETTINGS
from poolbench.scenario.step_models import RepeatStep
from poolbench.scenario.workload import Workload

MAX_CLOCK_CELLS = 2**26
"""Steps x streams: what the order of the steps may need, 256 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """All that the plans of one combination of axis values share.

    `sources[origin[k]]` is the step of the file that step `k` came from; `written[b]` is buffer
    `b`'s name as the file has it.  With faults, the steps are those that could be made;
    `is_complete` is false if one is missing, and then their order means nothing.
    """

    axes: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    origin: tuple[int, ...]
    names: tuple[str, ...]
    sources: Sequence[StepNode]
    streams: tuple[StreamSpec, ...]
    stream_places: tuple[Place, ...]
    buffers: tuple[BufferSpec, ...]
    written: tuple[str, ...]
    events: tuple[str, ...]
    kernels: tuple[KernelSource, ...]
    settings: Settings
    faults: tuple[Fault, ...]
    is_complete: bool
    is_recorded: bool = False
    """What a recorded program did is not judged: there are no faults of order in it."""

    def place(self, step: int, key: str = "") -> Place:
        """Where a step stands, or the value of one of its keys."""
        node = self.sources[self.origin[step]]
        return node.places.get(key, node.place)

    @property
    def places(self) -> Sequence[StepPlace]:
        if isinstance(self.sources, RecordedNodes):
            return RecordedPlaces(self.sources.ops)
        return tuple(
            StepPlace(
                line=node.place.line,
                column=node.place.column,
                kind=node.kind,
                label=node.step.label or main_name(node),
            )
            for node in self.sources
        )


def main_name(node: StepNode) -> str:
    """The value of a step's own key where that is a name: `x$i` of `alloc: x$i`."""
    value = getattr(node.step, node.kind)
    return value if isinstance(value, str) else ""


def _leaves(nodes: Sequence[StepNode]) -> Iterator[StepNode]:
    for node in nodes:
        if node.kind == "repeat":
            yield from _leaves(node.body)
        else:
            yield node


def _identified(leaves: Sequence[StepNode]) -> Iterator[Source]:
    """Steps with an identity of their own words, and a number where several have the same."""
    seen: dict[str, int] = {}
    for node in leaves:
        words = f"{node.kind}|{node.step.label or main_name(node)}"
        number = seen.get(words, 0)
        seen[words] = number + 1
        yield Source(node=node, identity=f"{words}|{number}")


@dataclass(slots=True, kw_only=True)
class _Unrolled:
    """The growing list of steps."""

    values: Values
    sources: Mapping[int, tuple[int, Source]]
    steps: list[Step] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    allocs: list[tuple[str, Place]] = field(default_factory=list)

    def nodes(self, nodes: Sequence[StepNode]) -> None:
        for node in nodes:
            if self._is_run(node):
                if isinstance(node.step, RepeatStep):
                    self._repeat(node, node.step)
                else:
                    self._leaf(node)

    def _is_run(self, node: StepNode) -> bool:
        scope, step = self.values.scope, node.step
        if step.when is True and step.every == 1:
            return True
        when = scope.flag(step.when, node.places.get("when", node.place))
        place = node.places.get("every", node.place)
        every = scope.number(step.every, place, read_count)
        if when is None or every is None:
            self.values.tables.is_complete = False
            return False
        if not scope.indices:
            if every != 1:
                scope.faults.error(
                    place, "every-outside-repeat", "`every` counts passes; there is no repeat here"
                )
            return when
        return when and every > 0 and (scope.indices[-1] + 1) % every == 0

    def _leaf(self, node: StepNode) -> None:
        number, source = self.sources[id(node)]
        made, name = translate(self.values, source, len(self.steps))
        if node.kind == "alloc":
            self.allocs.append((name, source.place("alloc")))
        if made is not None:
            self.steps.append(made)
            self.origin.append(number)
            self.names.append(name)

    def _repeat(self, node: StepNode, step: RepeatStep) -> None:
        scope = self.values.scope
        count = scope.number(step.repeat, node.places.get("repeat", node.place), read_count)
        if count is None:
            self.values.tables.is_complete = False
            return
        outer = scope.texts.get(step.index)
        if outer is not None:
            scope.faults.error(
                node.places.get("index", node.place),
                "index-taken",
                f"${step.index} is already a parameter or the index of a repeat around this one; "
                "give this repeat another `index`",
            )
        scope.indices.append(0)
        for index in range(count):
            scope.indices[-1] = index
            scope.texts[step.index] = str(index)
            self.nodes(node.body)
        scope.indices.pop()
        if outer is None:
            scope.texts.pop(step.index, None)
        else:
            scope.texts[step.index] = outer


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
    leaves = tuple(_leaves(scenario.steps))
    unrolled = _Unrolled(
        values=Values(scope=scope, tables=tables, seed=scenario.head.seed),
        sources={
            id(source.node): (number, source) for number, source in enumerate(_identified(leaves))
        },
    )
    if _is_bounded(scenario, scope, head):
        unrolled.nodes(scenario.steps)
        tables.close(unrolled.allocs)
    else:
        tables.is_complete = False
    return Expansion(
        axes=tuple(axes),
        steps=tuple(unrolled.steps),
        origin=tuple(unrolled.origin),
        names=tuple(unrolled.names),
        sources=leaves,
        streams=tables.final_streams(),
        stream_places=head.stream_places,
        buffers=tuple(buffer.spec for buffer in tables.buffers),
        written=tuple(buffer.written for buffer in tables.buffers),
        events=tuple(tables.event_index),
        kernels=head.kernels,
        settings=head.settings,
        faults=faults.all,
        is_complete=tables.is_complete,
    )
