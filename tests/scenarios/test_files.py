"""The shipped scenarios as files: what each of them must open with, and their schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from poolbench.plan.check import check
from poolbench.scenario.json_schema import json_schema
from poolbench.scenario.load import load

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))

NAMES = {
    "concurrency",
    "cudafree-while-busy",
    "event-ordered",
    "growth-while-busy",
    "growth-while-copying",
    "hand-over",
    "hand-over-room",
    "graph-memory",
    "holes",
    "join-free",
    "occupancy",
    "opportunistic-gap",
    "pipeline",
    "pipeline-pageable",
    "pressure",
    "pressure-ballast",
    "release-threshold",
    "run-ahead",
    "same-stream",
    "trim",
}


def test_all_are_there() -> None:
    """The shipped scenarios are these, and each is described in docs/scenarios.md."""
    assert {file.stem for file in FILES} == NAMES
    described = (FOLDER.parent / "docs" / "scenarios.md").read_text()
    for name in NAMES:
        assert f"**[{name}](../scenarios/{name}.yaml)**" in described


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_opens_with_schema_question_and_known(file: Path) -> None:
    """A shipped scenario names its schema in line 1, and says what it asks and what is known."""
    assert file.read_text().splitlines()[0] == "# yaml-language-server: $schema=schema.json"
    scenario = load(file)
    assert scenario.name == file.stem
    assert scenario.head.question.strip().endswith("?")
    assert len(scenario.head.known.split()) >= 10
    assert scenario.head.expect


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_checks_without_a_word(file: Path) -> None:
    """A shipped scenario gives neither an error nor a warning, for any of its axes' values."""
    assert check(load(file)) == ()


def test_schema_is_current() -> None:
    """scenarios/schema.json is what `poolbench schema` prints."""
    assert json.loads((FOLDER / "schema.json").read_text()) == json_schema()
