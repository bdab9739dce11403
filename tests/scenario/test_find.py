"""Scenarios by path or by the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.errors import BadInput, BadUsage
from poolbench.scenario.find import find, folder, shipped
from poolbench.scenario.load import load_text


def test_shipped_ones_have_names() -> None:
    """The bare name of each shipped scenario finds its file."""
    assert shipped()
    for path in shipped():
        assert find(path.stem) == path
        assert path.parent == folder()


def test_a_path_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the current folder is taken before the shipped scenario of its name."""
    (tmp_path / "hand-over").write_text("steps: []")
    monkeypatch.chdir(tmp_path)
    assert find("hand-over") == Path("hand-over")


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("handover", "no shipped scenario has the name handover", "did you mean hand-over?"),
        ("zzzzzz", "no shipped scenario", "`poolbench list`"),
        ("hand-ovr.yaml", "there is no file hand-ovr.yaml", "did you mean hand-over?"),
        (str(Path(__file__).parent), "is a directory", "DIR/*.yaml"),
        ("a\0b", "NUL", ""),
    ],
)
def test_what_is_not_there(name: str, message: str, hint: str) -> None:
    """A name that is none says so, with the nearest one."""
    with pytest.raises(BadUsage) as caught:
        find(name)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_no_folder_to_read_from() -> None:
    """A text that came from no folder cannot name files beside it."""
    text = "kernels: {k: {file: k.cu}}\nsteps: [{host: 1us}]\n"
    with pytest.raises(BadInput) as caught:
        load_text(text, file="f.yaml", folder=None)
    assert [problem.code for problem in caught.value.problems] == ["kernel-file"]
