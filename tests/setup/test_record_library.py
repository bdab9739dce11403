"""`scripts/record_library.py`: one program that fails stops no other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import record_library  # noqa: E402

NAMES = sorted(path.stem for path in (ROOT / "benchmarks" / "programs").glob("*.py"))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record_library, "RECORDED", tmp_path / "scenarios")
    monkeypatch.setattr(record_library, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(record_library, "LOGS", tmp_path / "logs")
    return tmp_path


class Steps:
    """Does what the commands would do; `failing` is a word of those that fail."""

    def __init__(self, failing: str = "nothing") -> None:
        self.failing = failing
        self.seen: list[str] = []

    def __call__(self, command: Sequence[str], log: Path) -> int:
        text = " ".join(command[1:])
        self.seen.append(text)
        if self.failing in text:
            return 4
        if " record " in text:
            where = Path(command[command.index("-o") + 1])
            for ending in (".yaml", ".steps.npz", "-framework.yaml", "-framework.steps.npz"):
                where.with_name(where.name + ending).write_text("new")
        elif " run " in text:
            stem = Path(command[command.index("run") + 1]).stem
            (Path(command[-1]) / stem).mkdir(parents=True)
        return 0


def test_every_program_is_recorded_and_measured(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both scenarios of each; nothing of an earlier recording stays, or of one under way."""
    monkeypatch.setattr(record_library, "step", Steps())
    (folders / "scenarios").mkdir()
    (folders / "scenarios" / "load.yaml").write_text("old")
    codes = record_library.library(NAMES, "h200-580", runs=True)
    assert codes == dict.fromkeys(NAMES, 0)
    assert (folders / "scenarios" / "load.yaml").read_text() == "new"
    assert not list(folders.glob("*/.*"))
    measured = {path.name for path in (folders / "results" / "h200-580" / "recorded").iterdir()}
    assert measured == {*NAMES, *(f"{name}-framework" for name in NAMES)}


@pytest.mark.parametrize("failing", ["programs/load.py", "record -o", "run "])
def test_a_failing_step_stops_no_other_program(
    folders: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """And an old scenario is replaced by nothing that is not whole."""
    steps = Steps(failing)
    monkeypatch.setattr(record_library, "step", steps)
    codes = record_library.library(NAMES, "h200-580", runs=True)
    n_failed = 1 if failing == "programs/load.py" else len(NAMES)
    assert sum(code == 4 for code in codes.values()) == n_failed
    assert all(any(f"{name}.py" in text for text in steps.seen) for name in NAMES)


def test_a_step_says_what_it_says(folders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In the log and on the terminal."""
    log = folders / "log"
    log.write_text("before\n")
    assert record_library.step([sys.executable, "-c", "print('hello'); exit(7)"], log) == 7
    assert log.read_text().startswith("before\n$ -c")
    assert "hello" in log.read_text()
    told = capfd.readouterr().err
    assert "hello" in told
    assert "before" not in told


def test_unknown_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2."""
    assert record_library.main(["nonsense"]) == 2
    assert "no such program: nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_programs_mark_their_iterations(name: str) -> None:
    """Enough of them for what is recorded; each has a part of its own."""
    text = (ROOT / "benchmarks" / "programs" / f"{name}.py").read_text()
    ast.parse(text)
    assert text.count("with poolbench.record():") == 1
    assert name in record_library.PARTS
