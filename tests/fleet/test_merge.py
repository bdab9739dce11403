"""Parts put together again: what belongs together is one run, what does not is told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from poolbench.cli.app import app
from poolbench.errors import ExitCode
from poolbench.results.record import RunRecord
from poolbench.results.store import read

SCENARIO = """
name: sweep
parameters: {t: 1us}
axes: {t: [410us, 420us, 430us, 440us, 450us]}
pool: {max_size: 64MiB}
streams: {a: , b: }
steps:
- {alloc: x, size: 64MiB, stream: a}
- {kernel: spin, duration: $t, writes: [x], stream: a}
- {free: x, stream: a}
- {alloc: y, size: 64MiB, stream: b}
- {free: y, stream: b}
expect:
- where: {allow_internal_dependencies: true}
  outcomes: {y: internal_dependency}
"""
OTHER = """
name: other
streams: {a: }
steps:
- {kernel: spin, duration: 5us, stream: a}
"""


def poolbench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in (("sweep", SCENARIO), ("other", OTHER)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return [tmp_path / "sweep.yaml", tmp_path / "other.yaml"]


def run(files: list[Path], output: Path, *options: str) -> Result:
    found = poolbench("run", *files, "--backend", "model", "--output", output, *options)
    assert found.exit_code == 0, found.output
    return found


def figures(record: RunRecord) -> tuple[Any, ...]:
    """All of a record that does not say when, how or in how many runs it came about."""
    return (record.cases, record.axes, record.seed, record.n_planned, record.repeats)


def lines(directory: Path, name: str) -> list[str]:
    return sorted((directory / name).read_text().splitlines())


@pytest.mark.parametrize("of", [1, 2, 3, 6, 9])
def test_all_shards_together_are_the_run(tmp_path: Path, files: list[Path], of: int) -> None:
    """The same cases with the same findings, the same lines in both tables, whatever their number;
    shards beyond the number of parts have nothing to do, and say so."""
    run(files, tmp_path / "whole")
    made = []
    for index in range(1, of + 1):
        found = run(files, tmp_path / f"s{index}", "--shard", f"{index}/{of}")
        if (tmp_path / f"s{index}").exists():
            made.append(tmp_path / f"s{index}")
        else:
            assert f"shard {index}/{of} has nothing to do: there are 6 parts" in found.output
    assert len(made) == min(of, 6)
    found = poolbench("merge", *made, "-o", tmp_path / "merged")
    assert found.exit_code == 0, found.output
    assert "missing" not in found.output
    for name in ("sweep", "other"):
        whole, merged = (tmp_path / one / name for one in ("whole", "merged"))
        assert figures(read(whole)) == figures(read(merged))
        assert read(merged).after is not None
        for table in ("samples.csv", "steps.csv"):
            assert lines(whole, table) == lines(merged, table)
        assert (whole / "scenario.yaml").read_text() == (merged / "scenario.yaml").read_text()
    shown = poolbench("show", tmp_path / "merged")
    assert shown.exit_code == 0


def test_a_part_says_that_it_is_one(tmp_path: Path, files: list[Path]) -> None:
    run(files[:1], tmp_path / "s", "--shard", "2/3")
    record = read(tmp_path / "s" / "sweep")
    assert record.shard == (2, 3)
    assert {dict(one.case.axes)["t"] for one in record.cases} == {"420us", "450us"}
    assert "part 2 of 3" in poolbench("show", tmp_path / "s").output


def test_missing_cases_are_named(tmp_path: Path, files: list[Path]) -> None:
    """And the run counts as cut short."""
    for index in (1, 3):
        run(files[:1], tmp_path / f"s{index}", "--shard", f"{index}/3")
    found = poolbench("merge", tmp_path / "s1", tmp_path / "s3", "-o", tmp_path / "merged")
    assert found.exit_code == 0
    assert "missing: sweep[t=420us]/preallocated" in found.output
    record = read(tmp_path / "merged" / "sweep")
    assert (record.n_planned, len(record.cases), record.after) == (50, 30, None)
    assert [one.shard for one in record.parts] == [(1, 3), (3, 3)]


def test_equal_doubles_are_kept_once(tmp_path: Path, files: list[Path]) -> None:
    """The model gives the same twice; no line of a table is there twice."""
    run(files[:1], tmp_path / "a", "--shard", "1/2")
    run(files[:1], tmp_path / "b")
    found = poolbench("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert found.exit_code == 0, found.output
    assert "30 of them twice, and equal" in found.output
    for table in ("samples.csv", "steps.csv"):
        merged, whole = tmp_path / "merged" / "sweep", tmp_path / "b" / "sweep"
        assert lines(merged, table) == lines(whole, table)


def changed(directory: Path, change: Any) -> None:
    path = directory / "run.json"
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))


def test_different_doubles_are_refused(tmp_path: Path, files: list[Path]) -> None:
    """Two measurements of one case are two runs; nothing is written."""
    for name in ("a", "b"):
        run(files[:1], tmp_path / name, "--shard", "1/5")

    def slower(plain: dict[str, Any]) -> None:
        plain["cases"][3]["findings"]["makespan_us_median"] += 1

    changed(tmp_path / "b" / "sweep", slower)
    found = poolbench("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert found.exit_code == ExitCode.BAD_INPUT
    assert "sweep[t=410us]/001" in found.output
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (("--seed", "7"), "seed"),
        (("--axis", "t=10us,20us"), "axes"),
        (("--set", "pool.prime=32MiB"), "--set"),
    ],
)
def test_other_settings_are_refused(
    tmp_path: Path, files: list[Path], options: tuple[str, ...], difference: str
) -> None:
    run(files[:1], tmp_path / "a", "--shard", "1/2")
    run(files[:1], tmp_path / "b", "--shard", "2/2", *options)
    if difference == "--set":  # the runner is no command line

        def commanded(plain: dict[str, Any]) -> None:
            plain["command"] = ["poolbench", "run", *options]

        changed(tmp_path / "b" / "sweep", commanded)
    found = poolbench("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert found.exit_code == ExitCode.BAD_INPUT
    assert f"they differ in {difference}" in " ".join(found.output.split())


def test_another_scenario_of_the_same_name_is_refused(tmp_path: Path, files: list[Path]) -> None:
    run(files[:1], tmp_path / "a", "--shard", "1/2")
    files[0].write_text(SCENARIO.replace("64MiB, stream: b", "32MiB, stream: b"))
    run(files[:1], tmp_path / "b", "--shard", "2/2")
    found = poolbench("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert found.exit_code == ExitCode.BAD_INPUT
    assert "they differ in scenario" in " ".join(found.output.split())


def test_other_machines_stay_apart(tmp_path: Path, files: list[Path]) -> None:
    """A folder for each, and a table of ratios side by side, with what is what below it."""
    for name in ("a", "b"):
        run(files[:1], tmp_path / name)

    def elsewhere(plain: dict[str, Any]) -> None:
        for at in ("before", "after"):
            plain[at]["device"] = "NVIDIA L4"
            plain[at]["driver"] = "570.1"

    changed(tmp_path / "b" / "sweep", elsewhere)
    found = poolbench("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "merged")
    assert found.exit_code == 0, found.output
    folders = sorted(path.name for path in (tmp_path / "merged").iterdir())
    assert folders == ["h200-model-profile", "nvidia-l4-driver-570-1"]
    assert "[1] H200 (model profile), predicted" in found.output
    assert "[2] NVIDIA L4, driver 570.1, predicted" in found.output
    assert "makespan over that of row 111 of the same machine" in found.output
    assert figures(read(tmp_path / "merged" / folders[1] / "sweep")) == figures(
        read(tmp_path / "b" / "sweep")
    )


def test_merging_what_was_merged(tmp_path: Path, files: list[Path]) -> None:
    """In any order, with all parts named in the end."""
    for index in (1, 2, 3):
        run(files[:1], tmp_path / f"s{index}", "--shard", f"{index}/3")
    poolbench("merge", tmp_path / "s3", tmp_path / "s1", "-o", tmp_path / "two")
    found = poolbench("merge", tmp_path / "s2", tmp_path / "two", "-o", tmp_path / "three")
    assert found.exit_code == 0, found.output
    run(files[:1], tmp_path / "whole")
    record = read(tmp_path / "three" / "sweep")
    assert figures(record) == figures(read(tmp_path / "whole" / "sweep"))
    assert sorted(one.shard for one in record.parts if one.shard) == [(1, 3), (2, 3), (3, 3)]
