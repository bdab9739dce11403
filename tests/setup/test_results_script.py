"""`make results`: where measurements go, and what happens without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import results  # noqa: E402


@pytest.mark.parametrize(
    ("gpu", "driver", "name"),
    [
        ("NVIDIA H200", "580.159.04", "h200-580"),
        ("NVIDIA A100-SXM4-80GB", "535.54.03", "a100-sxm4-80gb-535"),
        ("NVIDIA GeForce RTX 4090", "570.86", "rtx-4090-570"),
        ("Tesla V100", "580.1", "tesla-v100-580"),
    ],
)
def test_folder_names_gpu_and_driver(gpu: str, driver: str, name: str) -> None:
    """Results of another GPU or another driver branch never share a folder."""
    assert results.folder_name(gpu, driver) == name


def test_refuses_without_gpu() -> None:
    """Without a GPU nothing is run or written, the reason is said, and the exit code is 3."""
    before = sorted((ROOT / "results").rglob("*")) if (ROOT / "results").exists() else None
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "results.py")],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    after = sorted((ROOT / "results").rglob("*")) if (ROOT / "results").exists() else None
    assert result.returncode == 3
    assert "no GPU to measure on" in result.stderr
    assert before == after


def test_parts_are_replaced_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New scenarios replace old runs and leave the probe; a part that failed replaces nothing."""
    machine = tmp_path / "h200-580"
    for name, file in (("old", "run.json"), ("probe", "probe.json")):
        (machine / name).mkdir(parents=True)
        (machine / name / file).write_text("old", "utf-8")
    codes = {"run": 0, "probe": 4}

    def pretend(command: str, *arguments: str) -> int:
        where = Path(arguments[-1]) / ("new" if command == "run" else "")
        where.mkdir(parents=True)
        (where / ("run.json" if command == "run" else "probe.json")).write_text("new", "utf-8")
        return codes[command]

    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "this_machine", lambda: "h200-580")
    monkeypatch.setattr(results, "poolbench", pretend)
    assert results.main(["scenarios", "probe"]) == 4
    assert (machine / "new" / "run.json").read_text("utf-8") == "new"
    assert not (machine / "old").exists()
    assert (machine / "probe" / "probe.json").read_text("utf-8") == "old"
    assert (tmp_path / ".h200-580-probe-in-progress" / "probe.json").exists()
    codes["probe"] = 0
    assert results.main(["probe"]) == 0
    assert (machine / "probe" / "probe.json").read_text("utf-8") == "new"


def test_all_parts_are_made_unless_some_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by its command, into its own place."""
    called: list[str] = []

    def pretend(command: str, *arguments: str) -> int:
        called.append(command)
        where = Path(arguments[-1])
        if command == "calibrate":
            where.write_text("{}", "utf-8")
        else:
            (where / "run").mkdir(parents=True, exist_ok=True)
        return 0

    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "this_machine", lambda: "h200-580")
    monkeypatch.setattr(results, "poolbench", pretend)
    assert results.main([]) == 0
    assert called == ["run", "run", "run", "probe", "fuzz", "calibrate"]
    made = sorted(path.name for path in (tmp_path / "h200-580").iterdir())
    assert made == ["calibration", "fuzz", "probe", "run", "self-test"]
    assert (tmp_path / "h200-580" / "calibration" / "profile.json").exists()


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured."""
    assert results.main(["scenario"]) == 2
    assert "no such part: scenario" in capsys.readouterr().err
