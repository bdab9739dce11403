"""The whole way, for real: files to tables, CSV and results, on the model."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from poolbench.results import samples, store
from tests.cli.conftest import Cli
from tests.cli.fakes import write_scenario


def test_auto_takes_the_model_without_a_gpu(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line says which backend and why; the page says that it is a prediction."""
    monkeypatch.setattr(
        "poolbench.backends.cuda.detect.why_unusable", lambda: "the driver sees no GPU"
    )
    ended = cli("run", "hand-over", "--output", "out")
    assert ended.code == 0
    assert ended.err.splitlines()[0] == "backend model: the driver sees no GPU"
    assert ended.out.startswith("hand-over: PREDICTED by the model")
    assert store.read(tmp_path / "out" / "hand-over").backend_reason == "the driver sees no GPU"


def test_hand_over(cli: Cli, tmp_path: Path) -> None:
    """The first table: waits with internal dependencies, out of memory without."""
    ended = cli("run", "hand-over", "--backend", "model", "--output", "out", "--csv", "out.csv")
    assert ended.code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert len(rows) == 10
    for row in rows[2:]:
        is_on = row["allow_internal_dependencies"] == "1"
        assert row["status"] == ("ok" if is_on else "out_of_memory")
        assert row["n_inserted_waits"] == ("1" if is_on else "0")
    assert {row["backend"] for row in rows} == {"model"}
    steps = samples.read_steps(tmp_path / "out" / "hand-over")
    waited = steps[steps["outcome"] == "internal_dependency"]
    assert waited["name"].tolist() == ["y"] * 4
    (free,) = {steps[steps["row"] == "111"].iloc[at]["name"] for at in waited["waited_for"]}
    assert free == "x"


def test_results_can_be_looked_at(cli: Cli, tmp_path: Path) -> None:
    """`show`, `export` and `compare` work on what `run` has written."""
    for name in ("a", "b"):
        cli("run", "hand-over", "pressure", "--backend", "model", "--output", name)
    assert "pool.max_size = 128MiB" in cli("show", "a").out
    for ending in ("csv", "json", "md"):
        assert cli("export", "a", f"all.{ending}").code == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 10 + 50
    assert "against" not in cli("compare", "a").err
    ended = cli("compare", "a", "b")
    assert ended.code == 0
    assert "faster" not in ended.out.split("\nover ")[0]


def test_same_seed_same_results(cli: Cli, tmp_path: Path) -> None:
    """The model is deterministic: two runs differ in nothing but their circumstances."""
    for name in ("a", "b"):
        cli("run", "occupancy", "--backend", "model", "--output", name)
    cli("run", "occupancy", "--backend", "model", "--output", "c", "--seed", "99")
    first, second, other = (
        store.read(tmp_path / name / "occupancy").cases for name in ("a", "b", "c")
    )
    assert first == second
    assert first != other


def test_set_and_axis(cli: Cli, tmp_path: Path) -> None:
    """Values of the command line reach the plan and the table."""
    ended = cli(
        "run", "hand-over", "--backend", "model", "--output", "out", "--attributes", "111",
        "--set", "pool.max_size=none", "--axis", "busy=100us,300us",
    )  # fmt: skip
    record = store.read(tmp_path / "out" / "hand-over")
    assert record.axes == (("busy", ("100us", "300us")),)
    assert [one.findings and one.findings.n_inserted_waits for one in record.cases] == [0, 0]
    assert "busy = 300us" in ended.out


def test_ctrl_c(tmp_path: Path) -> None:
    """A real signal in the middle of a real run: 130, no traceback, everything so far readable."""
    path = write_scenario(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "poolbench", "run", path, "--backend", "model",
         "--repeats", "1000", "--output", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "80"},
    )  # fmt: skip
    found = tmp_path / "out" / "tiny" / samples.SAMPLES
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found.exists() and len(found.read_text().splitlines()) > 30:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in err
    assert "cudamalloc" in out
    record = store.read(tmp_path / "out" / "tiny")
    assert record.after is None
    assert len(record.cases) == 10
    assert len(samples.read_samples(tmp_path / "out" / "tiny")) >= 30


def test_kill_leaves_a_readable_directory(tmp_path: Path) -> None:
    """Even without a chance to say goodbye."""
    path = write_scenario(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "poolbench", "run", path, "--backend", "model",
         "--repeats", "1000", "--output", "out"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found = tmp_path / "out" / "tiny" / samples.SAMPLES
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found.exists() and len(found.read_text().splitlines()) > 200:
            break
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert len(store.read(tmp_path / "out" / "tiny").cases) == 10
    assert len(samples.read_samples(tmp_path / "out" / "tiny")) >= 200
