"""Scenarios from YAML text for the tests of planning, with the places of everything in it."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from poolbench.errors import Place
from poolbench.plan.expand import expand
from poolbench.plan.expansion import Expansion
from poolbench.scenario.load import load_text
from poolbench.scenario.scenario import Path, Scenario, StepNode
from poolbench.scenario.schema import HeadModel
from poolbench.scenario.step_models import STEP_MODELS


def _place(node: yaml.Node) -> Place:
    return Place(line=node.start_mark.line + 1, column=node.start_mark.column + 1)


def _plain(node: yaml.Node, path: Path, places: dict[Path, Place]) -> object:
    places[path] = _place(node)
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(value, (*path, key.value), places) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(value, (*path, i), places) for i, value in enumerate(node.value)]
    loader = yaml.SafeLoader("")
    return loader.construct_object(node)


def _step(node: yaml.MappingNode) -> StepNode:
    pairs = {key.value: value for key, value in node.value}
    kind = next(key for key in pairs if key in STEP_MODELS)
    body = pairs.pop("steps", None)
    raw = {key: _plain(value, (), {}) for key, value in pairs.items()}
    return StepNode(
        kind=kind,
        step=STEP_MODELS[kind].model_validate(raw),
        place=_place(node),
        places={key: _place(value) for key, value in pairs.items()},
        body=() if body is None else tuple(_step(inner) for inner in body.value),
    )


def scenario_of(text: str) -> Scenario:
    """A scenario as a user's file makes it."""
    return load_text(text, file="test.yaml", folder=None)


def unchecked(text: str) -> Scenario:
    """A scenario that the loader would refuse: what `--set` and templates can still lead to."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    parts = {key.value: value for key, value in root.value}
    steps = parts.pop("steps")
    places: dict[Path, Place] = {}
    head = {key: _plain(value, (key,), places) for key, value in parts.items()}
    return Scenario(
        name=str(head.get("name", "test")),
        file="test.yaml",
        text=text,
        head=HeadModel.model_validate(head),
        steps=tuple(_step(node) for node in steps.value),
        places=places,
    )


def expanded(text: str, axes: Sequence[tuple[str, str]] = ()) -> Expansion:
    return expand(scenario_of(text), axes)
