"""`poolbench run`: what is printed, what is kept, and what the exit code says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from poolbench.columns import COLUMNS
from poolbench.domain import BackendKind, Pass, Status
from poolbench.errors import DeviceFailed
from poolbench.plan.plan import Plan
from poolbench.results import samples, store
from tests.cli.conftest import Cli
from tests.cli.fakes import FakeBackend, write_scenario


def test_prints_data_and_words_apart(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """The table is on stdout; which backend ran, and progress, on stderr, the backend first."""
    ended = cli("run", write_scenario(tmp_path), "--output", "out")
    assert ended.code == 0
    assert ended.out.startswith("tiny: measured on NVIDIA H200, driver 580.159.04\n")
    assert "What does tiny ask?" in ended.out
    assert "out/tiny" in ended.out
    assert ended.err.splitlines() == [
        "backend cuda: a fake, for tests",
        "tiny: 10 cases, 130 runs",
    ]
    assert backend.n_closed == 1


def test_keeps_everything(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """The directory has the record, every repetition, every traced step, and the scenario."""
    cli("run", write_scenario(tmp_path), "--output", "out", "--repeats", "3", "--seed", "9")
    where = tmp_path / "out" / "tiny"
    record = store.read(where)
    assert (record.repeats, record.warmup, record.seed) == (3, 2, 9)
    assert record.command[0] == "poolbench"
    assert record.after is not None
    assert len(record.cases) == record.n_planned == 10
    assert all(one.findings and one.findings.repeats == 3 for one in record.cases)
    found = samples.read_samples(where)
    assert found.groupby("pass").size().to_dict() == {"control": 3, "timed": 30, "traced": 10}
    assert len(samples.read_steps(where)) == 10 * 3
    assert (where / "scenario.yaml").read_text() == (tmp_path / "tiny.yaml").read_text()


def test_default_directory_is_by_time(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Without --output results go below poolbench-results/, every run in a place of its own."""
    path = write_scenario(tmp_path)
    assert cli("run", path).code == cli("run", path).code == 0
    found = store.runs_in(tmp_path / "poolbench-results")
    assert [where.name for where in found] == ["tiny", "tiny"]


def test_csv_has_the_columns_of_the_registry(
    cli: Cli, backend: FakeBackend, tmp_path: Path
) -> None:
    """A row per case over all scenarios, the union of their axes, flags as digits, no "max"."""
    one, two = write_scenario(tmp_path, "one"), write_scenario(tmp_path, "two")
    ended = cli(
        "run", one, two, "--csv", "all.csv", "--output", "out",
        "--attributes", "pytorch,010,cudamalloc", "--axis", "busy=10us,20us",
    )  # fmt: skip
    assert ended.code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert list(rows[0]) == [*(column.key for column in COLUMNS), "axis_busy"]
    assert [row["scenario"] for row in rows] == ["one"] * 6 + ["two"] * 6
    assert [row["axis_busy"] for row in rows[:6]] == ["10us"] * 3 + ["20us"] * 3
    pytorch, combination, plain = rows[:3]
    assert pytorch["release_threshold"] == "18446744073709551615"
    assert combination["allow_opportunistic"] == "1"
    assert combination["follow_event_dependencies"] == "0"
    assert plain["follow_event_dependencies"] == plain["release_threshold"] == ""
    assert {row["backend"] for row in rows} == {"cuda"}


def test_once_runs_each_case_once(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """No warm-up, no trace; and a scenario's expectations are not judged by it."""
    ended = cli("run", write_scenario(tmp_path, n_grown=99), "--once", "--output", "out")
    assert ended.code == 0
    assert len(backend.asked) == 10
    assert {measured for _, _, measured in backend.asked} == {Pass.TIMED}
    record = store.read(tmp_path / "out" / "tiny")
    assert (record.repeats, record.warmup) == (1, 0)


def test_failed_expectation(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Exit code 1, with the line of the claim and what was found instead."""
    ended = cli("run", write_scenario(tmp_path, n_grown=99), "--output", "out")
    assert ended.code == 1
    assert "expectations: 1 of 1 not met" in ended.out
    assert "line 11, row 111: n_grown" in ended.out


def test_met_expectations_are_counted(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """A reader sees that something was asked and met."""
    assert "expectations: all 1 met" in cli("run", write_scenario(tmp_path)).out


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.OUT_OF_MEMORY, 0),
        (Status.UNSUPPORTED, 0),
        (Status.CORRUPTED, 1),
        (Status.ERROR, 4),
        (Status.TIMEOUT, 4),
    ],
)
def test_status_of_one_case(
    cli: Cli, backend: FakeBackend, tmp_path: Path, status: Status, code: int
) -> None:
    """What went wrong in one case decides the code; the other rows are there all the same."""
    backend.statuses["000"] = status
    ended = cli("run", write_scenario(tmp_path), "--output", "out")
    assert ended.code == code
    record = store.read(tmp_path / "out" / "tiny")
    assert [one.status for one in record.cases].count(Status.OK) == 9
    assert status.value in ended.out


def test_no_result_at_all(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """If no case could be run, the device cannot do this: exit code 4."""
    backend.statuses["111"] = Status.UNSUPPORTED
    ended = cli("run", write_scenario(tmp_path), "--attributes", "111")
    assert ended.code == 4


def test_left_out_runs_are_told(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """The reason of a case that was given up says how many of its runs are missing."""
    backend.statuses["010"] = Status.TIMEOUT
    ended = cli("run", write_scenario(tmp_path), "--output", "out", "--repeats", "4")
    assert "6 runs were left out" in " ".join(ended.out.split())


def test_interrupted_run_is_readable(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """After Ctrl-C: exit code 130, what had finished is shown, on disk, and in the CSV."""

    def stop(_plan: Plan) -> None:
        if len(backend.asked) == 27:
            raise KeyboardInterrupt

    backend.before_run = stop
    one, two = write_scenario(tmp_path, "one"), write_scenario(tmp_path, "two")
    ended = cli("run", one, two, "--output", "out", "--csv", "some.csv")
    assert ended.code == 130
    assert "interrupted" in ended.err
    record = store.read(tmp_path / "out" / "one")
    assert len(record.cases) == 7
    assert record.n_planned == 10
    assert record.after is None
    assert len(samples.read_samples(tmp_path / "out" / "one")) == 7
    assert len((tmp_path / "some.csv").read_text().splitlines()) == 8
    assert not (tmp_path / "out" / "two").exists()
    assert cli("show", "out").code == 0
    assert backend.n_closed == 1


def test_finished_runs_are_on_disk_at_once(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Even a kill leaves every run that had ended: samples are written as they come."""
    seen: list[int] = []

    def look(_plan: Plan) -> None:
        if (tmp_path / "out" / "tiny" / "run.json").exists():
            store.read(tmp_path / "out" / "tiny")
            seen.append(len(samples.read_samples(tmp_path / "out" / "tiny")))

    backend.before_run = look
    cli("run", write_scenario(tmp_path), "--output", "out", "--warmup", "0", "--repeats", "1")
    assert seen == list(range(21))


def test_failure_of_one_scenario_does_not_lose_the_others(
    cli: Cli, backend: FakeBackend, tmp_path: Path
) -> None:
    """A device that fails in the first scenario is told; the second runs; the worse code wins."""

    def fail(plan: Plan) -> None:
        if plan.case.scenario == "one" and len(backend.asked) == 25:
            raise DeviceFailed("the GPU has fallen off the bus")

    backend.before_run = fail
    one = write_scenario(tmp_path, "one")
    two = write_scenario(tmp_path, "two", n_grown=5)
    ended = cli("run", one, two, "--output", "out")
    assert ended.code == 4
    assert "fallen off the bus" in ended.err
    assert len(store.read(tmp_path / "out" / "one").cases) == 5
    assert len(store.read(tmp_path / "out" / "two").cases) == 10


def test_device_that_fails_before_the_first_run(
    cli: Cli, backend: FakeBackend, tmp_path: Path
) -> None:
    """Exit code 4, and no empty directory is left behind."""
    backend.is_broken = True
    ended = cli("run", write_scenario(tmp_path), "--output", "out")
    assert ended.code == 4
    assert "did not answer" in ended.err
    assert not (tmp_path / "out").exists()


def test_refuses_to_overwrite(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Results that are there are not touched, and nothing runs."""
    path = write_scenario(tmp_path)
    cli("run", path, "--output", "out")
    backend.asked.clear()
    ended = cli("run", path, "--output", "out")
    assert ended.code == 2
    assert "already" in ended.err
    assert backend.asked == []


def test_all_bad_files_at_once(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Every fault of every file is told before anything runs."""
    good = write_scenario(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("streams: {a: }\nsteps: [{aloc: x}]\nmore: 1\n")
    ended = cli("run", good, "one.yaml", "two.yaml")
    assert ended.code == 2
    assert "one.yaml:2:" in ended.err
    assert "two.yaml:3:" in ended.err
    assert backend.asked == []
    assert not (tmp_path / "poolbench-results").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--attributes", "112"], "112"),
        (["--set", "bussy=1us"], "did you mean busy"),
        (["--set", "busy"], "NAME=VALUE"),
        (["--set", "busy=1us", "--set", "busy=2us"], "twice"),
        (["--axis", "busy=1us", "--axis", "busy=2us"], "twice"),
        (["--axis", "busy="], "busy"),
        (["--csv", "nowhere/x.csv"], "no directory nowhere"),
        (["--csv", "."], "directory"),
        (["--repeats", "0"], "--repeats"),
        (["--backend", "cpu"], "cpu"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_bad_arguments(
    cli: Cli, backend: FakeBackend, tmp_path: Path, arguments: list[str], told: str
) -> None:
    """Exit code 2 and words that name the argument; nothing runs."""
    ended = cli("run", write_scenario(tmp_path), *arguments)
    assert ended.code == 2
    assert told in ended.err
    assert backend.asked == []


def test_same_name_twice(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """Two scenarios of one name would share a directory."""
    (tmp_path / "other").mkdir()
    ended = cli("run", write_scenario(tmp_path), write_scenario(tmp_path / "other"))
    assert ended.code == 2
    assert "tiny" in ended.err
    assert backend.asked == []


def test_no_gpu(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--backend cuda` without a GPU: exit code 3, the reason, and what to do instead."""
    monkeypatch.setattr(
        "poolbench.backends.cuda.detect.why_unusable", lambda: "the driver sees no GPU"
    )
    ended = cli("run", write_scenario(tmp_path), "--backend", "cuda")
    assert ended.code == 3
    assert "the driver sees no GPU" in ended.err
    assert "--backend model" in ended.err


def test_plan_runs_nothing(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """`--plan` shows the cases with their steps, needs no backend, and leaves no files."""
    ended = cli("run", write_scenario(tmp_path), "--plan", "--axis", "size=2MiB,4MiB")
    assert ended.code == 0
    assert "tiny: 20 cases, 60 steps in all" in ended.out
    assert ended.out.count("preallocated") == 2
    assert backend.asked == []
    assert ended.err == ""
    assert not (tmp_path / "poolbench-results").exists()


def test_model_defaults_to_one_run(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """A deterministic prediction is not repeated unless asked, and says that it is one."""
    backend.kind_ = BackendKind.MODEL
    ended = cli("run", write_scenario(tmp_path), "--output", "out")
    assert ended.out.startswith("tiny: PREDICTED by the model, not measured: h200\n")
    assert len(backend.asked) == 20
    cli("run", write_scenario(tmp_path), "--output", "more", "--repeats", "3", "--warmup", "1")
    assert len(backend.asked) == 20 + 50


def test_wide_does_not_fold(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """`--wide` keeps one line a row, in a pipe too."""
    path = write_scenario(tmp_path)
    folded, wide = cli("run", path), cli("run", path, "--wide")
    assert folded.out.count("cudamalloc  ") > wide.out.count("cudamalloc  ")
    assert max(map(len, folded.out.splitlines())) <= 80
    assert max(map(len, wide.out.splitlines())) > 80


@pytest.mark.parametrize("text", ["1", "0%", "200%", "much"])
def test_precision_is_a_percentage(cli: Cli, tmp_path: Path, text: str) -> None:
    """Anything else is a fault of the command line, before anything runs."""
    ended = cli("run", write_scenario(tmp_path), "--repeats", "auto", "--precision", text)
    assert ended.code == 2
    assert "--precision" in ended.err


def test_the_plan_of_one_case_is_exported(cli: Cli, tmp_path: Path) -> None:
    """`--plan --export` writes it as JSON, a step for a step; several cases are refused."""
    path = write_scenario(tmp_path)
    ended = cli("run", path, "--plan", "--attributes", "101", "--export", "plan.json")
    assert ended.code == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert (plan["format"], plan["version"]) == ("poolbench-plan", 1)
    assert plan["case"]["row"] == "101"
    assert plan["pool"]["reuse_allow_opportunistic"] is False
    assert [step["do"] for step in plan["steps"]] == ["alloc", "launch", "free"]
    assert "void spin(" in plan["module"]
    several = cli("run", path, "--plan", "--export", "more.json")
    assert several.code == 2
    assert "there are 10" in several.err
    assert not (tmp_path / "more.json").exists()
    assert cli("run", path, "--export", "more.json").code == 2
