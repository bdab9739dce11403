"""Scenarios that load: each `good/NAME.yaml` has neither a fault nor a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.domain import Issue, OnOom
from poolbench.plan.check import check
from poolbench.scenario.load import load, load_text
from poolbench.scenario.source import parse
from poolbench.scenario.step_models import AllocStep, KernelStep
from poolbench.scenario.values import Draw, DrawKind, Ref

GOOD = Path(__file__).parent / "good"
FILES = sorted(GOOD.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_loads_and_checks(file: Path) -> None:
    """A good file loads and checks without a word."""
    assert check(load(file)) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("1:30:30", "1:30:30"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("-0x1F", "-0x1F"),
        ("1_000", "1_000"),
        ("1e6", 1e6),
        ("1.5e-3", 0.0015),
        ("+.5", 0.5),
        ("1.", 1.0),
        ("+7", 7),
        ("-7", -7),
        ("2001-01-01", "2001-01-01"),
        ("=", "="),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("", None),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("'~'", "~"),
        ("!!str 5", "5"),
        ("!!int 0o17", 15),
        ("!!float 5", 5.0),
        ("! 5", "5"),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    """Scalars have the types of YAML 1.2's core schema, not of YAML 1.1."""
    source = parse(f"a: {text}\n", file="f.yaml")
    assert source.problems == []
    found = source.value["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["18446744073709551616", "9" * 5000, "1e999", ".inf", "-.INF", ".nan", "!!int 1.5", "!!int x",
     "!!bool 1", "!!null 1", "!!timestamp 2001-01-01", "!own 1"],
)  # fmt: skip
def test_what_has_no_value(text: str) -> None:
    """A number that nothing needs or a tag is one problem at the scalar, which has no value."""
    source = parse(f"a: {text}\nb: 1\n", file="f.yaml")
    (problem,) = source.problems
    assert problem.code in ("bad-number", "bad-tag")
    assert (problem.place.line, problem.place.column) == (1, 4)
    assert source.value == {"a": None, "b": 1}


def test_names_are_as_written() -> None:
    """A name that YAML takes for a number is the text of the file."""
    scenario = load(GOOD / "yaml-1.2.yaml")
    assert list(scenario.head.streams) == ["on", "no", "010"]
    last = [node.step for node in scenario.steps if isinstance(node.step, AllocStep)][-1]
    assert (last.alloc, last.stream) == ("010", "010")
    assert scenario.head.expect[0].where == {"row": ("000", "010", "111")}
    assert (scenario.head.name, scenario.head.seed) == ("on", 10)


def test_values_of_each_kind() -> None:
    """References, draws and settings become the values that the planner takes."""
    scenario = load(GOOD / "everything.yaml")
    head = scenario.head
    assert head.iterations == Ref(name="often")
    assert head.on_oom is OnOom.TRIM_RETRY
    assert head.issue is Issue.LIVE
    assert head.latch_limit == 500_000_000
    assert head.device.leave_free == 3 * 2**29
    body = [node.step for node in scenario.steps[0].body]
    assert isinstance(body[0], AllocStep)
    assert body[0].size == Draw(kind=DrawKind.CHOICE, items=(2**20, 2**21))
    assert isinstance(body[2], KernelStep)
    assert body[2].share == 0.5
    assert body[2].when == Ref(name="asked")


def test_anchors_share_values() -> None:
    """An alias is its anchor's value, and stands where the alias stands."""
    scenario = load(GOOD / "anchors.yaml")
    assert scenario.steps[2].step == scenario.steps[0].step
    assert scenario.steps[2].place.line == 5
    assert scenario.head.streams["b"] == scenario.head.streams["a"]


def test_the_file_names_the_scenario(tmp_path: Path) -> None:
    """Without `name` the file's stem is the name, less what a name cannot hold."""
    file = tmp_path / "a b.ü!.yaml"
    file.write_text("steps:\n  - {host: 1us}\n")
    assert load(file).name == "a-b"
    (tmp_path / "!.yaml").write_text("steps:\n  - {host: 1us}\n")
    assert load(tmp_path / "!.yaml").name == "scenario"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_endings_and_marks_change_nothing(ending: str, mark: str) -> None:
    """A byte order mark and any line ending leave values and places as they are."""
    text = (GOOD / "anchors.yaml").read_text("utf-8")
    plain = load_text(text, file="f.yaml", folder=None)
    other = load_text(mark + text.replace("\n", ending), file="f.yaml", folder=None)
    assert other.head == plain.head
    assert other.steps == plain.steps
    assert other.places == plain.places


def test_sources_are_read(tmp_path: Path) -> None:
    """CUDA C beside the scenario is read with it."""
    scenario = load(GOOD / "own-kernel.yaml")
    assert scenario.sources == {"scale": (GOOD / "kernel.cu").read_text()}
