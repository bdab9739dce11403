"""`poolbench check` on files as they come: given twice, with CRLF, a byte order mark, tabs."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from poolbench.cli.app import app

GOOD = "streams: {a: }\nsteps:\n  - {alloc: x, size: 1MiB, stream: a}\n  - {free: x, stream: a}\n"
BAD = GOOD.replace("1MiB", "1MB")


def check(*files: Path | str) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, files)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_given_twice(folder: Path) -> None:
    """A file that is named twice, however it is written, is checked and reported once."""
    (folder / "good.yaml").write_text(GOOD)
    (folder / "bad.yaml").write_text(BAD)
    ended = check("good.yaml", "good.yaml", "./good.yaml")
    assert ended.exit_code == 0
    assert ended.stdout == "good.yaml: ok, 10 cases\n"
    ended = check("bad.yaml", "bad.yaml", folder / "bad.yaml")
    assert ended.exit_code == 2
    assert ended.stderr.count("error:") == 1
    assert ended.stderr.endswith("1 error in 1 file\n")


def test_every_file_is_reported(folder: Path) -> None:
    """The faults of all files come in one run."""
    for name in ("one.yaml", "two.yaml"):
        (folder / name).write_text(BAD)
    ended = check("one.yaml", "two.yaml")
    assert ended.exit_code == 2
    assert ended.stderr.endswith("2 errors in 2 files\n")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_endings_and_marks(folder: Path, ending: str, mark: str) -> None:
    """Line endings and a byte order mark move neither the place nor the caret."""
    (folder / "f.yaml").write_bytes((mark + BAD.replace("\n", ending)).encode())
    ended = check("f.yaml")
    assert ended.exit_code == 2
    assert ended.stderr == (
        "f.yaml:3:22: error: unknown unit 'MB' of a size; did you mean MiB? [unknown-unit]\n"
        "     3 |   - {alloc: x, size: 1MB, stream: a}\n"
        "       |                      ^\n"
        "1 error in 1 file\n"
    )


def test_a_tab_indents(folder: Path) -> None:
    """A tab at the start of a line is told as such, with its place."""
    (folder / "f.yaml").write_text(GOOD.replace("  - {free", "\t- {free"))
    ended = check("f.yaml")
    assert ended.exit_code == 2
    assert "f.yaml:4:1: error: a tab cannot indent; use spaces [yaml-syntax]" in ended.stderr


def test_files_that_are_none(folder: Path) -> None:
    """A folder, a missing file and a name with a NUL are told, not raised."""
    for name in (".", "missing.yaml", "no\0name"):
        ended = check(name)
        assert ended.exit_code == 2
        assert ended.exception is None or isinstance(ended.exception, SystemExit)
