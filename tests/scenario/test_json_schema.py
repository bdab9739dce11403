"""The JSON Schema for editors: takes what loads, refuses simple faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poolbench.errors import BadInput
from poolbench.scenario.json_schema import json_schema
from poolbench.scenario.load import load_text
from poolbench.scenario.source import parse
from poolbench.scenario.step_models import STEP_MODELS

# In the dev group; a machine with a GPU that runs only the gpu tests may do without.
jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
VALID = [
    *sorted((ROOT / "scenarios").glob("*.yaml")),
    *sorted(Path(__file__).parent.glob("good/*.yaml")),
]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def tree_of(text: str) -> Any:
    return parse(text, file="f.yaml").value


def test_is_a_schema() -> None:
    """The schema is valid itself, for the draft that it names."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    json.dumps(SCHEMA, allow_nan=False)


def test_knows_every_step() -> None:
    """Each step kind is one of the choices of a step, and closed against other keys."""
    choices = {choice["$ref"].rpartition("/")[2] for choice in SCHEMA["$defs"]["Step"]["anyOf"]}
    assert choices == {model.__name__ for model in STEP_MODELS.values()}
    assert all(SCHEMA["$defs"][name]["additionalProperties"] is False for name in choices)


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_takes_what_loads(file: Path) -> None:
    """Every scenario that loads, shipped or tested with, is valid."""
    assert [
        error.message for error in VALIDATOR.iter_errors(tree_of(file.read_text("utf-8")))
    ] == []


GOOD = """
name: small
pool: {max_size: 64MiB, release_threshold: max}
axes: {on_oom: [fail, sync_retry]}
streams: {a: {kind: blocking}}
buffers: {h: {size: 1MiB, memory: pinned}}
steps:
  - {alloc: x, size: 1MiB, stream: a}
  - {memcpy: h2d, dst: x, src: h, stream: a}
  - {repeat: 2, steps: [{host: 1us}]}
  - {free: x, stream: a}
expect:
  - {status: ok, metrics: {n_grown: 1}, outcomes: {x: grown}}
"""

FAULTS: dict[str, Callable[[Any], object]] = {
    "unknown key": lambda tree: tree.update(colour="red"),
    "no steps": lambda tree: tree.pop("steps"),
    "empty steps": lambda tree: tree.update(steps=[]),
    "steps as a mapping": lambda tree: tree.update(steps={"host": "1us"}),
    "unknown step": lambda tree: tree["steps"].append({"hots": "1us"}),
    "missing size": lambda tree: tree["steps"][0].pop("size"),
    "size without unit": lambda tree: tree["steps"][0].update(size=64),
    "size in MB": lambda tree: tree["steps"][0].update(size="64MB"),
    "two kinds": lambda tree: tree["steps"][0].update(free="x"),
    "copy kind": lambda tree: tree["steps"][1].update(memcpy="h2h"),
    "inner step": lambda tree: tree["steps"][2]["steps"].append({"host": "1 minute"}),
    "repeat without steps": lambda tree: tree["steps"][2].pop("steps"),
    "stream kind": lambda tree: tree["streams"]["a"].update(kind="nonblocking"),
    "buffer without size": lambda tree: tree["buffers"]["h"].pop("size"),
    "pool key": lambda tree: tree["pool"].update(maxsize="1MiB"),
    "threshold": lambda tree: tree["pool"].update(release_threshold="maximum"),
    "axis as scalar": lambda tree: tree["axes"].update(on_oom="fail"),
    "seed": lambda tree: tree.update(seed=-1),
    "iterations": lambda tree: tree.update(iterations=1.5),
    "issue": lambda tree: tree.update(issue="later"),
    "on_oom": lambda tree: tree.update(on_oom="give_up"),
    "status": lambda tree: tree["expect"][0].update(status="okay"),
    "outcome": lambda tree: tree["expect"][0]["outcomes"].update(x="internal"),
    "expect as a mapping": lambda tree: tree.update(expect={"status": "ok"}),
    "metric": lambda tree: tree["expect"][0]["metrics"].update(n_grown=[1]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_refuses_simple_faults(name: str) -> None:
    """A fault that the loader refuses is refused by an editor too."""
    tree = tree_of(GOOD)
    assert VALIDATOR.is_valid(tree)
    FAULTS[name](tree)
    assert not VALIDATOR.is_valid(tree)
    with pytest.raises(BadInput):
        load_text(json.dumps(tree), file="f.yaml", folder=None)
