"""docs/scenario-language.md against the models: nothing left out; examples hold, README's too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from poolbench.domain import Outcome, Status
from poolbench.plan.check import check
from poolbench.scenario import schema, step_models
from poolbench.scenario.load import load_text
from poolbench.scenario.values import DrawKind

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "scenario-language.md").read_text()


def examples(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)


EXAMPLES = examples(TEXT)
ALL_EXAMPLES = [*EXAMPLES, *examples((ROOT / "README.md").read_text())]
STEP_ROWS = dict(re.findall(r"^\| `(\w+)` \| `(\{.*\})` \|", TEXT, flags=re.MULTILINE))

HEADS: tuple[type[BaseModel], ...] = (
    schema.HeadModel,
    schema.PoolModel,
    schema.DeviceModel,
    schema.StreamModel,
    schema.BufferModel,
    schema.KernelModel,
    schema.ExpectModel,
    schema.RatioModel,
    step_models.StepModel,
)


def is_mentioned(word: str) -> bool:
    """Whether a word stands in code: between backquotes, or as a key of an example."""
    code = " ".join(re.findall(r"`([^`\n]+)`", TEXT)) + " " + " ".join(EXAMPLES)
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", code) is not None


@pytest.mark.parametrize("model", HEADS, ids=lambda model: model.__name__)
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    """Every key that a file may hold is in the reference."""
    missing = [key for key in model.model_fields if not is_mentioned(key)]
    assert missing == []


def test_head_keys_have_a_row_of_their_own() -> None:
    """Every key of the head stands at the start of a row of a table."""
    first_cells = set(re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE))
    assert set(schema.HeadModel.model_fields) | {"steps"} <= first_cells


@pytest.mark.parametrize("kind", step_models.STEP_MODELS)
def test_every_step_has_an_example_that_holds(kind: str) -> None:
    """Each step kind has a row whose example its model accepts."""
    values = yaml.safe_load(STEP_ROWS[kind])
    assert next(iter(values)) == kind
    body = values.pop("steps", None)
    step_models.STEP_MODELS[kind](**values)
    assert (body is not None) == (kind in step_models.WITH_STEPS)


@pytest.mark.parametrize("kind", step_models.STEP_MODELS)
def test_every_key_of_a_step_is_documented(kind: str) -> None:
    """Every key of every step kind is in the reference."""
    missing = [key for key in step_models.STEP_MODELS[kind].model_fields if not is_mentioned(key)]
    assert missing == []


def test_closed_sets_are_complete() -> None:
    """Draws, outcomes, statuses and the settings that axes can vary are all named."""
    words = [*DrawKind, *Outcome, *Status, *schema.AXIS_SETTINGS]
    assert [word for word in words if not is_mentioned(word)] == []


@pytest.mark.parametrize("text", ALL_EXAMPLES, ids=range(len(ALL_EXAMPLES)))
def test_examples_check(text: str) -> None:
    """Every example of the reference and of the README is a scenario without fault or warning."""
    scenario = load_text(text, file="example.yaml", folder=None)
    assert check(scenario) == ()
