"""Scenarios that are refused: each `bad/NAME.yaml` prints what `bad/NAME.txt` holds.

`POOLBENCH_UPDATE_GOLDEN=1` writes the expected texts anew; read the difference before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from poolbench.errors import BadInput
from poolbench.render.problems import format_problems
from poolbench.scenario.codes import CODES
from poolbench.scenario.load import MAX_PROBLEMS, MAX_STEPS, load, load_text
from poolbench.scenario.source import MAX_SIZE

BAD = Path(__file__).parent / "bad"
FILES = sorted(BAD.glob("*.yaml"))

HAS_A_TEST_OF_ITS_OWN = {"unreadable", "too-large", "too-many-problems"}
"""Codes of files that would be too large to keep, or cannot be kept at all."""


def refusal(file: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load(file)
    return caught.value


@pytest.mark.skipif(
    not yaml.__with_libyaml__, reason="PyYAML's own parser places an empty value elsewhere"
)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_prints_what_is_expected(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every problem of a file is printed, in order, with its place, line and caret."""
    monkeypatch.chdir(BAD)
    fault = refusal(Path(file.name))
    printed = format_problems(fault.problems, fault.texts) + "\n"
    expected = file.with_suffix(".txt")
    if os.environ.get("POOLBENCH_UPDATE_GOLDEN"):
        expected.write_text(printed, "utf-8")
    assert printed == expected.read_text("utf-8")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_tells_each_fault_once(file: Path) -> None:
    """No value has two problems, but for several keys that a mapping lacks."""
    problems = [problem for problem in refusal(file).problems if problem.code != "missing-key"]
    places = [problem.place for problem in problems]
    assert len(set(places)) == len(places)


def test_texts_have_files() -> None:
    """No expected text is left over from a scenario that is gone."""
    assert {text.stem for text in BAD.glob("*.txt")} == {file.stem for file in FILES}


def test_every_code_is_shown() -> None:
    """Each code that can be explained is raised by a file here, and no other code is."""
    raised = {problem.code for file in FILES for problem in refusal(file).problems}
    assert raised == set(CODES) - HAS_A_TEST_OF_ITS_OWN


@pytest.mark.parametrize("path", [BAD, BAD / "no-such-file.yaml"], ids=["folder", "missing"])
def test_what_cannot_be_read_is_a_problem(path: Path) -> None:
    """A folder or a missing file is a problem of that file, not a traceback."""
    (problem,) = refusal(path).problems
    assert problem.code == "unreadable"
    assert problem.file == str(path)


def test_too_large(tmp_path: Path) -> None:
    """A file beyond the limit is refused by its size, and never read whole."""
    file = tmp_path / "large.yaml"
    file.write_text("#" * (MAX_SIZE + 1))
    assert [problem.code for problem in refusal(file).problems] == ["too-large"]
    endless = Path("/dev/zero")
    if endless.exists():
        assert [problem.code for problem in refusal(endless).problems] == ["too-large"]
    with pytest.raises(BadInput) as caught:
        load_text("#" * (MAX_SIZE + 1), file="f.yaml", folder=None)
    assert [problem.code for problem in caught.value.problems] == ["too-large"]


def test_too_many_problems() -> None:
    """Nobody reads more than so many problems; the last one counts the rest."""
    text = "steps:\n" + "- {hots: 1us}\n" * (MAX_PROBLEMS + 7)
    with pytest.raises(BadInput) as caught:
        load_text(text, file="f.yaml", folder=None)
    *shown, last = caught.value.problems
    assert len(shown) == MAX_PROBLEMS
    assert last.code == "too-many-problems"
    assert last.message.startswith("7 more")
    assert last.place.line == MAX_PROBLEMS + 2


def test_too_many_steps() -> None:
    """The number of steps as written is bounded, repeats included."""
    text = "steps:\n- repeat: 2\n  steps:\n" + "  - {host: 1us}\n" * MAX_STEPS
    with pytest.raises(BadInput) as caught:
        load_text(text, file="f.yaml", folder=None)
    (problem,) = caught.value.problems
    assert problem.code == "too-many-values"
    assert problem.place.line == MAX_STEPS + 3
