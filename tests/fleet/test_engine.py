"""Sweeps on a Dask cluster of this host: the same results, also where a worker is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from poolbench.backends.select import Choice
from poolbench.cli.session import PREDICTED_REPEATS
from poolbench.domain import COMBINATIONS
from poolbench.errors import BadUsage, NoBackend
from poolbench.experiment import Effort
from poolbench.fleet import engine
from poolbench.fleet.parts import parts_of
from poolbench.fleet.worker import Settings
from poolbench.prepare import Experiment, prepare
from poolbench.results.store import read
from tests import fake_driver
from tests.fleet.test_merge import SCENARIO, figures, lines, poolbench, run
from tests.plan.building import scenario_of

pytest.importorskip("distributed", reason="the extra dask is not installed")

SETTINGS = Settings(
    choice=Choice.MODEL,
    profile=None,
    run_limit_s=60,
    effort=Effort(repeats=PREDICTED_REPEATS, warmup=0, once=False),
    command=("poolbench",),
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with engine.on_devices((0, 1)) as client:
        yield client


def sweep(text: str = SCENARIO) -> Experiment:
    (found,) = prepare([scenario_of(text)], rows=COMBINATIONS, sets={}, axes={}, seed=None)
    return found


def test_devices_give_what_one_process_gives(tmp_path: Path) -> None:
    """By the command line, with everything on disk at the end."""
    file = tmp_path / "sweep.yaml"
    file.write_text(SCENARIO)
    run([file], tmp_path / "one")
    found = run([file], tmp_path / "two", "--devices", "0,1")
    assert "2 x H200 (model profile) (the model: nothing is measured)" in found.output
    one, two = (tmp_path / name / "sweep" for name in ("one", "two"))
    assert figures(read(one)) == figures(read(two))
    for table in ("samples.csv", "steps.csv"):
        assert lines(one, table) == lines(two, table)
    assert len(read(two).parts) == 5


def test_workers_say_what_they_are(client: Any) -> None:
    (site,) = engine.sites(client, Choice.MODEL, None, 60)
    assert site.workers == ("device-0", "device-1")
    assert (site.environment, site.is_measured) == ("H200 (model profile)", False)


def test_each_worker_sees_its_own_device(client: Any) -> None:
    seen = client.run(lambda: os.environ["CUDA_VISIBLE_DEVICES"])
    assert sorted(seen.values()) == ["0", "1"]


def test_a_worker_that_cannot_run_anything_is_told_of(client: Any) -> None:
    with pytest.raises(NoBackend, match=r"worker device-\d: no GPU to run on"):
        engine.sites(client, Choice.CUDA, None, 60)


def test_a_lost_worker_loses_nothing(client: Any) -> None:
    """Killed while it works: its part runs again, on whoever is there."""
    text = SCENARIO.replace("steps:\n", "steps:\n- repeat: 250\n  steps:\n", 1)
    head, steps = text.split("  steps:\n")
    body, expect = steps.split("expect:")
    slow = f"{head}  steps:\n" + "".join(f"  {row}\n" for row in body.splitlines())
    parts = parts_of(sweep(f"{slow}expect:{expect}"))
    (site,) = engine.sites(client, Choice.MODEL, None, 60)
    victim = next(iter(client.run(os.getpid).values()))
    came = engine.run_parts(client, (site,), parts, SETTINGS)
    found = [next(came)]
    os.kill(victim, signal.SIGKILL)
    found += list(came)
    assert [one.fault for one in found if one.piece is None] == []
    cases = [result.case for one in found if one.piece for result in one.piece.record.cases]
    assert sorted(case.key for case in cases) == sorted(
        plan.case.key for part in parts for plan in part.plans
    )


def test_a_part_that_fails_is_told_of_and_the_others_come(client: Any) -> None:
    """Here the effort makes no sense for anyone: each part says so."""
    broken = Settings(
        choice=Choice.MODEL, profile="no such profile", run_limit_s=60,
        effort=SETTINGS.effort, command=(),
    )  # fmt: skip
    (site,) = engine.sites(client, Choice.MODEL, None, 60)
    found = list(engine.run_parts(client, (site,), parts_of(sweep())[:2], broken))
    assert [one.piece for one in found] == [None, None]
    assert all("no such profile" in one.fault for one in found)


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CONNECT_LIMIT_S", 0.5)
    with (
        pytest.raises(NoBackend, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        engine.at_address("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize("text", ["tcp://a:1", "dask://", "dask://host", "a:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadUsage, match="--on"):
        engine.read_address(text)


@pytest.mark.parametrize("text", ["", "a", "0,,1", "0,0", "-1", "1-2"])
def test_what_are_no_devices(text: str) -> None:
    with pytest.raises(BadUsage, match="--devices"):
        engine.read_devices(text)


@pytest.mark.parametrize(
    "options",
    [("--devices", "0", "--shard", "1/2"), ("--on", "dask://a:1", "--devices", "0")],
)
def test_what_does_not_go_together(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(SCENARIO)
    found = poolbench("run", file, "--backend", "model", *options)
    assert found.exit_code == 2
    assert "do not go together" in found.output


@pytest.mark.skipif(bool(fake_driver.why_not()), reason=fake_driver.why_not())
def test_a_worker_has_the_device_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CUDA backend on a worker, with a driver that runs nothing."""
    fake_driver.build(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    text = SCENARIO.replace("[410us, 420us, 430us, 440us, 450us]", "[410us, 420us]")
    settings = Settings(
        choice=Choice.CUDA, profile=None, run_limit_s=60,
        effort=Effort(repeats=1, warmup=0, once=False), command=(),
    )  # fmt: skip
    with engine.on_devices((0,)) as client:
        (site,) = engine.sites(client, Choice.CUDA, None, 60)
        assert (site.environment, site.is_measured) == ("no GPU at all, CUDA 13.0", True)
        found = list(engine.run_parts(client, (site,), parts_of(sweep(text)), settings))
    assert [one.fault for one in found] == ["", ""]
    assert sum(len(one.piece.record.cases) for one in found if one.piece) == 16
