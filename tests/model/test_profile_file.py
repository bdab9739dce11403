"""Profiles as files: what is shipped is whole, and what is not is refused with every fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from poolbench.backends.model.profile_file import load, shipped, to_text
from poolbench.cli.app import app
from poolbench.errors import BadUsage, ExitCode

SOURCES = (
    "poolbench calibrate, NVIDIA H200, driver 580.159.04",
    "measured with a script, H200, driver 580.159.04",
    "fitted to runs of the shipped scenarios, H200, driver 580.159.04",
    "data sheet, programming guide",
    "assumed",
)


def figures_of(file: str) -> set[str]:
    found = set()
    for key, value in asdict(load(file).profile).items():
        if isinstance(value, dict):
            found |= {f"{key}.{inner}" for inner in value}
        elif key != "name":
            found.add(key)
    return found


def test_shipped_profiles_have_a_source_for_each_figure() -> None:
    assert shipped() == ("h200",)
    file = load("h200")
    assert load("H200").profile == file.profile
    assert set(file.sources) == figures_of("h200")
    assert set(file.sources.values()) <= set(SOURCES)


def test_a_profile_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(to_text(load("h200")), "utf-8")
    assert load(str(path)) == load("h200")


def without(plain: dict[str, Any]) -> None:
    del plain["figures"]["pool"]["alloc_ns"]


def unknown(plain: dict[str, Any]) -> None:
    plain["figures"]["host"]["lunch_ns"] = 1


def text(plain: dict[str, Any]) -> None:
    plain["figures"]["chunk_size"] = "32MiB"


def negative(plain: dict[str, Any]) -> None:
    plain["figures"]["device"]["free_ns"] = -1


def no_part(plain: dict[str, Any]) -> None:
    plain["figures"]["pool"] = 3


def newer(plain: dict[str, Any]) -> None:
    plain["format_version"] = 2


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (without, "figures.pool.alloc_ns is missing"),
        (unknown, "figures.host.lunch_ns is not known"),
        (text, "figures.chunk_size: '32MiB' is not a number"),
        (negative, "figures.device.free_ns: -1 is not a number from 0 on"),
        (no_part, "figures.pool: a mapping is missing"),
        (newer, "no profile of format 1"),
    ],
)
def test_spoilt_profiles_are_refused(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], None], told: str
) -> None:
    """By name of the figure."""
    plain = json.loads(to_text(load("h200")))
    spoil(plain)
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(BadUsage) as fault:
        load(str(path))
    assert told in fault.value.message


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    plain = json.loads(to_text(load("h200")))
    for spoil in (without, unknown, text, negative):
        spoil(plain)
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(BadUsage) as fault:
        load(str(path))
    assert len(fault.value.message.splitlines()) == 4


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "\x00"])
def test_what_is_no_profile_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(content, "utf-8")
    with pytest.raises(BadUsage):
        load(str(path))


def test_run_takes_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is in the table, its figures in the makespan; not with --backend cuda."""
    monkeypatch.chdir(tmp_path)
    plain = json.loads(to_text(load("h200")))
    plain["name"] = "slow thing"
    plain["figures"]["h2d_rate"] /= 10
    Path("slow.json").write_text(json.dumps(plain), "utf-8")
    run = ["run", "pipeline", "--attributes", "preallocated", "--output"]
    quick = CliRunner().invoke(app, [*run, "a", "--backend", "model", "--csv", "a.csv"])
    slow = CliRunner().invoke(app, [*run, "b", "--profile", "slow.json", "--csv", "b.csv"])
    assert quick.exit_code == 0
    assert slow.exit_code in (0, 1)  # its expectations were written for an H200
    assert "slow thing" in slow.stdout
    import pandas as pd

    first, second = (pd.read_csv(name).makespan_us_median[0] for name in ("a.csv", "b.csv"))
    assert second > 2 * first
    wrong = CliRunner().invoke(app, [*run, "c", "--profile", "h200", "--backend", "cuda"])
    assert wrong.exit_code == ExitCode.BAD_INPUT
    missing = CliRunner().invoke(app, [*run, "d", "--profile", "h300"])
    assert missing.exit_code == ExitCode.BAD_INPUT
    assert "shipped: h200" in missing.stderr


def test_a_file_from_before_a_figure_was_known_is_completed(tmp_path: Path) -> None:
    """What it lacks comes from what is shipped, and is said to."""
    plain = json.loads(to_text(load("h200")))
    for part in ("host", "device"):
        del plain["figures"][part]["callback_ns"]
        del plain["sources"][f"{part}.callback_ns"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(plain), "utf-8")
    found = load(str(path))
    assert found.profile == load("h200").profile
    assert found.sources["host.callback_ns"].startswith("kept: ")
