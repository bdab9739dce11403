"""`poolbench import`, from the command line to a table."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest
import yaml

from poolbench.plan.build import build_plans
from poolbench.plan.cases import cases
from poolbench.plan.recorded import MAX_BLOCKS
from poolbench.plan.steps import Alloc, Free, HostWork, Launch
from poolbench.results import store
from poolbench.scenario.load import load
from tests.cli.conftest import Cli
from tests.imports.reading import REAL, text_file
from tests.imports.test_lines import EVERYTHING


@pytest.mark.parametrize(
    "name", sorted(path.name for path in REAL.glob("*.*") if path.suffix != ".md")
)
def test_real_files_become_scenarios_that_run(cli: Cli, tmp_path: Path, name: str) -> None:
    """Imported, checked, run under two rows, shown; the report says what was lost."""
    ended = cli("import", str(REAL / name), "-o", "mine")
    assert ended.code == 0
    assert "mine.yaml: " in ended.out
    assert "kept " in ended.out
    assert cli("check", "mine.yaml").code == 0
    ran = cli(
        "run", "mine.yaml", "--backend", "model", "--attributes", "preallocated,111,000",
        "--output", "out",
    )  # fmt: skip
    assert ran.code == 0
    assert "Imported from" in ran.out
    record = store.read(tmp_path / "out" / "mine")
    assert [one.status.value for one in record.cases] == ["ok"] * 3
    assert cli("show", "out", "--timeline", "--allocations").code == 0


def test_the_results_directory_can_be_run_again(cli: Cli, tmp_path: Path) -> None:
    """The steps go with the scenario."""
    assert cli("import", str(REAL / "rmm.dev0.csv")).code == 0
    one = ("--backend", "model", "--attributes", "111")
    assert cli("run", "rmm.yaml", *one, "--output", "a").code == 0
    again = cli("run", "a/rmm/scenario.yaml", *one, "--output", "b")
    assert again.code == 0
    (before,), (after,) = (
        store.read(path).cases for path in (tmp_path / "a/rmm", tmp_path / "b/rmm")
    )
    assert before.findings == after.findings


def test_all_operations_become_steps(cli: Cli, tmp_path: Path) -> None:
    """With streams, buffers and names as the file has them."""
    text_file(tmp_path, EVERYTHING, "mine.jsonl")
    assert cli("import", "mine.jsonl").code == 0
    scenario = load(tmp_path / "mine.yaml")
    (plan, *_) = build_plans(scenario, cases(scenario, [next(iter(_rows()))]))
    kinds = [plan.place(step).kind for step in range(plan.n_steps)]
    assert kinds == [
        "alloc", "host", "kernel", "memcpy", "memset", "record", "wait", "free", "sync", "sync",
        "sync", "trim",
    ]  # fmt: skip
    assert [plan.place(step).line for step in range(3)] == [1, 2, 3]
    alloc, free = plan.steps[0], plan.steps[7]
    assert isinstance(alloc, Alloc)
    assert isinstance(free, Free)
    assert alloc.buffer == free.buffer
    assert plan.streams[alloc.stream].kind == "legacy_default"
    launch = plan.steps[2]
    assert isinstance(launch, Launch)
    assert (launch.grid.blocks, launch.grid.threads) == (8, 128)


def test_a_kernel_of_many_blocks_runs_all_of_them_at_once(cli: Cli, tmp_path: Path) -> None:
    """Or each wave of them would take the whole time again."""
    text = '{"poolbench": 1}\n{"op": "kernel", "stream": "a", "ns": 5000, "blocks": 100000}\n'
    text_file(tmp_path, text, "mine.jsonl")
    assert cli("import", "mine.jsonl").code == 0
    scenario = load(tmp_path / "mine.yaml")
    (plan,) = build_plans(scenario, cases(scenario, _rows()[:1]))  # type: ignore[arg-type]
    launch = plan.steps[0]
    assert isinstance(launch, Launch)
    assert launch.grid.blocks == MAX_BLOCKS


def _rows() -> tuple[object, ...]:
    from poolbench.domain import COMBINATIONS

    return COMBINATIONS


def test_the_programs_own_time_can_be_left_out(cli: Cli, tmp_path: Path) -> None:
    """In the scenario, without importing again; or at once."""
    assert cli("import", str(REAL / "rmm.dev0.csv")).code == 0
    path = tmp_path / "rmm.yaml"
    scenario = load(path)
    (plan,) = build_plans(scenario, cases(scenario, _rows()[:1]))  # type: ignore[arg-type]
    assert any(isinstance(step, HostWork) for step in plan.steps)
    path.write_text(path.read_text().replace("host: keep", "host: drop"))
    scenario = load(path)
    (dropped,) = build_plans(scenario, cases(scenario, _rows()[:1]))  # type: ignore[arg-type]
    assert not any(isinstance(step, HostWork) for step in dropped.steps)
    assert cli("import", str(REAL / "rmm.dev0.csv"), "--no-host", "-o", "bare").code == 0
    bare = load(tmp_path / "bare.yaml").workload
    assert bare is not None
    assert bare.n_rows == dropped.n_steps


def test_a_part_of_a_file(cli: Cli, tmp_path: Path) -> None:
    """From a step on, so many."""
    ended = cli("import", str(REAL / "rmm.dev0.csv"), "--from", "101", "--steps", "50", "--no-host")
    assert ended.code == 0
    workload = load(tmp_path / "rmm.yaml").workload
    assert workload is not None
    assert workload.n_rows <= 50
    assert "steps outside of the part that was asked for" in ended.out


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    """Not even half of it."""
    assert cli("import", str(REAL / "rmm.dev0.csv")).code == 0
    before = (tmp_path / "rmm.yaml").read_text()
    again = cli("import", str(REAL / "rmm.dev0.csv"), "--no-host")
    assert again.code == 2
    assert "rmm.yaml is there already" in again.err
    assert (tmp_path / "rmm.yaml").read_text() == before


def test_a_damaged_file_is_refused_and_its_beginning_can_be_kept(cli: Cli, tmp_path: Path) -> None:
    """With the place; with `--partial` what comes before it."""
    lines = (REAL / "rmm.dev0.csv").read_text().splitlines(keepends=True)
    text_file(tmp_path, "".join(lines[:101]) + "1,04:44", "cut.csv")
    ended = cli("import", "cut.csv")
    assert ended.code == 2
    assert "cut.csv:102:1: " in ended.err
    assert not (tmp_path / "cut.yaml").exists()
    kept = cli("import", "cut.csv", "--partial")
    assert kept.code == 0
    assert "read up to the damage at cut.csv:102:1" in kept.out
    assert (
        yaml.safe_load((tmp_path / "cut.yaml").read_text())["recorded"]["steps"] == "cut.steps.npz"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere.csv",), "cannot read nowhere.csv"),
        (("notes.txt",), "none of the formats"),
        (("notes.txt", "--format", "rmm"), "notes.txt:1:1: this is no header"),
        (("notes.txt", "--format", "tape"), "--format tape"),
        (("rmm.csv", "-o", "no/where"), "there is no directory no"),
        (("rmm.csv", "-o", "..."), "makes no name"),
        (("rmm.csv", "--assume-kernel", "5"), "--assume-kernel 5"),
        (("empty.csv",), "nothing in the file"),
        ((".",), "cannot read ."),
    ],
)
def test_what_cannot_be_imported(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    """Exit code 2, and what to do."""
    text_file(tmp_path, "dear diary", "notes.txt")
    text_file(tmp_path, "Thread,Time,Action,Pointer,Size,Stream\n", "empty.csv")
    shutil.copy(REAL / "rmm.dev0.csv", tmp_path / "rmm.csv")
    ended = cli("import", *arguments)
    assert ended.code == 2
    assert told in ended.err


def test_a_plan_of_recorded_steps_goes_to_another_process(cli: Cli, tmp_path: Path) -> None:
    """As it is, places included."""
    assert cli("import", str(REAL / "rmm.dev0.csv")).code == 0
    scenario = load(tmp_path / "rmm.yaml")
    (plan,) = build_plans(scenario, cases(scenario, _rows()[:1]))  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert again.place(5) == plan.place(5)
