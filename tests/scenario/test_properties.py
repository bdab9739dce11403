"""Nothing that a file holds makes loading, checking or planning raise anything but `BadInput`.

`POOLBENCH_FUZZ=10000` sets the number of examples of each test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from poolbench.domain import COMBINATIONS, Baseline, Row
from poolbench.errors import BadInput, BadUsage, Problem
from poolbench.plan.build import build_plans
from poolbench.plan.cases import cases
from poolbench.plan.check import check
from poolbench.plan.codes import CODES as PLAN_CODES
from poolbench.render.problems import format_problems
from poolbench.scenario.codes import CODES
from poolbench.scenario.load import load_text
from poolbench.scenario.schema import ExpectModel, HeadModel
from poolbench.scenario.step_models import STEP_MODELS

FOLDER = Path(__file__).parents[2] / "scenarios"
TEXTS = [path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yaml"))]

ROWS: tuple[Row, ...] = (COMBINATIONS[0], Baseline.PREALLOCATED)

N_EXAMPLES = int(os.environ.get("POOLBENCH_FUZZ", "1000"))
bounded = settings(
    max_examples=N_EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

WORDS = sorted(
    {
        *STEP_MODELS, *HeadModel.model_fields, *ExpectModel.model_fields,
        *(key for model in STEP_MODELS.values() for key in model.model_fields),
        "<<", "true", "1", "$n", "row", "over", "value", "uniform", "choice", "reserved", "count",
    }
)  # fmt: skip
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**30, max_value=10**400),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        [*WORDS, "64MiB", "500us", "0", "-1", "max", "none", "1.5GiB", "3 MB", "25%", ">= 3us",
         "1..2", "2..1", "$", "${", "x$i.$k", "../x", "/dev/zero", "\0", "\ud800", "111", "a" * 300]
    ),
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=5), st.integers(), st.booleans())
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True, scope="module")
def _small_plans() -> Iterator[None]:
    """A mutation can make a loop long; the bounds are tested elsewhere, at their real size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("poolbench.plan.count.MAX_STEPS", 5_000)
        patch.setattr("poolbench.plan.check.MAX_CHECKED_STEPS", 10_000)
        yield


def attempt(text: str) -> None:
    """Loads, checks and plans; a refusal has problems, each inside of the text, that print."""
    try:
        scenario = load_text(text, file="f.yaml", folder=None)
    except BadInput as fault:
        look_at(fault.problems, text)
        return
    problems = check(scenario)
    if problems:
        look_at(problems, text)
    try:
        build_plans(scenario, cases(scenario, ROWS)[:6])
    except BadInput as fault:
        refusal = fault
    except BadUsage:
        return
    else:
        return
    look_at(refusal.problems, text)
    assert any(not problem.is_warning for problem in problems)


def look_at(problems: Sequence[Problem], text: str) -> None:
    """Every place lies inside of the text, and what is printed cannot harm a terminal."""
    assert problems
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    for problem in problems:
        assert problem.code in CODES or problem.code in PLAN_CODES
        for place in (problem.place, *(note.place for note in problem.notes)):
            assert 1 <= place.line <= len(lines), problem
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1, problem
    printed = format_problems(problems, {"f.yaml": text})
    printed.encode("utf-8")
    assert "\x1b" not in printed


@bounded
@given(st.text(max_size=200))
@example('a: "\\UFFFFFFFF"')
@example('a: "\\ud800"')
@example("\ufeffa: b: c")
def test_arbitrary_text(text: str) -> None:
    """Arbitrary text is loaded or refused."""
    attempt(text)


@bounded
@given(st.text(alphabet="abs0:-,#&*!|>'\"%@`{}[]?~. \t\n\\$<=u", max_size=80))
def test_arbitrary_punctuation(text: str) -> None:
    """Text of YAML's own characters is loaded or refused."""
    attempt(text)


@bounded
@given(TREES)
def test_arbitrary_trees(tree: Any) -> None:
    """Any YAML tree is loaded or refused."""
    attempt(yaml.dump(tree, allow_unicode=True))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        found += _paths(inner, (*path, key))
    return found


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


@bounded
@given(st.data())
def test_mutated_trees(data: st.DataObject) -> None:
    """A valid scenario with keys and values dropped, renamed or swapped is loaded or refused."""
    tree = yaml.safe_load(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        paths = [path for path in _paths(tree) if path]
        path = data.draw(st.sampled_from(paths))
        parent, key = _at(tree, path[:-1]), path[-1]
        match data.draw(st.sampled_from(["drop", "replace", "rename", "swap", "add"])):
            case "drop":
                del parent[key]
            case "replace":
                parent[key] = data.draw(TREES)
            case "rename" if isinstance(parent, dict):
                parent[data.draw(KEYS)] = parent.pop(key)
            case "swap":
                other = data.draw(st.sampled_from(paths))
                parent[key] = yaml.safe_load(yaml.dump(_at(tree, other)))
            case _ if isinstance(parent, dict):
                parent[data.draw(KEYS)] = data.draw(TREES)
            case _:
                parent.insert(key, data.draw(TREES))
        if not [path for path in _paths(tree) if path]:
            break
    attempt(yaml.dump(tree, allow_unicode=True, sort_keys=False))


@bounded
@given(st.data())
def test_edited_texts(data: st.DataObject) -> None:
    """A valid text with pieces cut, doubled, or characters put in: loaded or refused."""
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(text)))
        end = min(len(text), begin + data.draw(st.integers(0, 30)))
        piece = data.draw(
            st.one_of(
                st.just(""),
                st.just(text[begin:end] * 2),
                st.text(max_size=4),
                st.sampled_from(
                    ["\t", ": ", "- ", "&a ", "*a", "!!int ", "\n", "'", '"', "{", "]", "#", "$"]
                ),
            )
        )
        text = text[:begin] + piece + text[end:]
    attempt(text)


@pytest.mark.parametrize("text", TEXTS)
def test_every_truncation(text: str) -> None:
    """A valid text cut off anywhere is loaded or refused."""
    step = max(1, len(text) // 60)
    for end in range(0, len(text), step):
        attempt(text[:end])
