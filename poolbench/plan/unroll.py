"""The steps of a file, loops unrolled, names looked up: a growing list of concrete steps.

Faults go to the scope's list; a step that cannot be made is left out, and told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from poolbench.errors import Place
from poolbench.plan.expansion import Expansion, GraphBody, main_name
from poolbench.plan.faults import Fault
from poolbench.plan.head import Head
from poolbench.plan.step_values import Source, Values
from poolbench.plan.steps import LaunchGraph, Step
from poolbench.plan.translate import translate
from poolbench.plan.uses import overwrites, uses_of
from poolbench.scenario.fieldtypes import read_count
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.step_models import GraphStep, RepeatStep

MAX_GRAPHS = 1000
"""Different ones in an iteration."""


def leaves_of(nodes: Sequence[StepNode]) -> Iterator[StepNode]:
    for node in nodes:
        if node.kind != "repeat":
            yield node
        yield from leaves_of(node.body)


def _launch_of(body: GraphBody, index: int) -> LaunchGraph:
    """With the lasting buffers that its steps use."""
    expansion = body.expansion

    def lasting(found: Iterable[int]) -> tuple[int, ...]:
        kept = (one for one in found if expansion.buffers[one].memory is not None)
        return tuple(dict.fromkeys(kept))

    uses = [use for step in expansion.steps for use in uses_of(step)]
    writes = lasting(use.buffer for use in uses if use.is_write)
    return LaunchGraph(
        stream=body.stream,
        graph=index,
        reads=lasting(use.buffer for use in uses if use.buffer not in writes),
        writes=writes,
        changes=lasting(one for step in expansion.steps for one in overwrites(step)),
    )


def identified(leaves: Sequence[StepNode]) -> Iterator[Source]:
    """Steps with an identity of their own words, and a number where several have the same."""
    seen: dict[str, int] = {}
    for node in leaves:
        words = f"{node.kind}|{node.step.label or main_name(node)}"
        number = seen.get(words, 0)
        seen[words] = number + 1
        yield Source(node=node, identity=f"{words}|{number}")


@dataclass(slots=True, kw_only=True)
class Unrolled:
    """The growing list of steps; `leaves` are all steps of the file."""

    head: Head
    values: Values
    leaves: Sequence[StepNode]
    sources: Mapping[int, tuple[int, Source]]
    steps: list[Step] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    allocs: list[tuple[str, Place]] = field(default_factory=list)
    graphs: list[GraphBody] = field(default_factory=list)
    _graph_index: dict[tuple[object, ...], int] = field(default_factory=dict)

    def nodes(self, nodes: Sequence[StepNode]) -> None:
        for node in nodes:
            if self._is_run(node):
                if isinstance(node.step, RepeatStep):
                    self._repeat(node, node.step)
                elif isinstance(node.step, GraphStep):
                    self._graph(node, node.step)
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
            self._add(made, number, name)

    def _add(self, made: Step, origin: int, name: str) -> None:
        self.steps.append(made)
        self.origin.append(origin)
        self.names.append(name)

    def _graph(self, node: StepNode, step: GraphStep) -> None:
        """Its body is expanded each time, and is a graph that is there already if it is equal."""
        number, source = self.sources[id(node)]
        values, faults = self.values, self.values.scope.faults
        name = values.name(source, "graph", step.graph)
        stream = values.stream(source, "stream", step.stream)
        label = name if step.label is None else values.name(source, "label", step.label)
        inner = Unrolled(
            head=self.head,
            values=Values(scope=values.scope, tables=values.tables.in_graph(), seed=values.seed),
            leaves=self.leaves,
            sources=self.sources,
        )
        inner.nodes(node.body)
        inner.values.tables.close(inner.allocs)
        is_complete = inner.values.tables.is_complete
        if name is None or label is None or stream is None or not is_complete:
            values.tables.is_complete = False
            return
        body = GraphBody(name=name, stream=stream, expansion=inner.expansion((), faults=()))
        index = self._graph_index.setdefault(body.identity, len(self.graphs))
        if index == MAX_GRAPHS:
            message = f"this is graph {MAX_GRAPHS + 1}; a scenario can have {MAX_GRAPHS}"
            faults.error(source.place("graph"), "too-many-graphs", message)
            values.tables.is_complete = False
            return
        if index == len(self.graphs):
            self.graphs.append(body)
        self._add(_launch_of(body, index), number, label)

    def expansion(self, axes: Sequence[tuple[str, str]], faults: tuple[Fault, ...]) -> Expansion:
        tables = self.values.tables
        return Expansion(
            axes=tuple(axes),
            steps=tuple(self.steps),
            origin=tuple(self.origin),
            names=tuple(self.names),
            sources=self.leaves,
            graphs=tuple(self.graphs),
            streams=tables.final_streams(),
            stream_places=self.head.stream_places,
            buffers=tuple(buffer.spec for buffer in tables.buffers),
            written=tuple(buffer.written for buffer in tables.buffers),
            events=tuple(tables.event_index),
            kernels=self.head.kernels,
            settings=self.head.settings,
            faults=faults,
            is_complete=tables.is_complete,
        )

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
