"""The steps of a file, loops unrolled, names looked up: a growing list of concrete steps.

Faults go to the scope's list; a step that cannot be made is left out, and told of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from poolbench.errors import Place
from poolbench.plan.expansion import main_name
from poolbench.plan.step_values import Source, Values
from poolbench.plan.steps import Step
from poolbench.plan.translate import translate
from poolbench.scenario.fieldtypes import read_count
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.step_models import RepeatStep


def leaves_of(nodes: Sequence[StepNode]) -> Iterator[StepNode]:
    for node in nodes:
        if node.kind == "repeat":
            yield from leaves_of(node.body)
        else:
            yield node


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
