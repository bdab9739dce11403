"""Calibration against the model: what went in must come out, whatever it was."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from poolbench.backends.model.backend import ModelBackend
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import load
from poolbench.calibrate.conduct import N_ROUNDS, measure, profile_of
from poolbench.calibrate.samples import Figure, derived, figure
from poolbench.cli.app import app
from poolbench.domain import Pass, Status
from poolbench.errors import DeviceFailed, ExitCode
from poolbench.plan.plan import Plan
from poolbench.scenario.find import calibrations, find
from poolbench.scenario.load import load as load_scenario
from poolbench.trace import NONE, Trace

BASE = load()
ONCE = ("device.timing_event_ns", "host.cold_ns")
"""Read off the environment, and off five kinds of calls."""
MEASURED = tuple(measure(ModelBackend(), BASE.profile)[0])


def value(profile: DeviceProfile, key: str) -> float:
    part, _, name = key.rpartition(".")
    return float(getattr(getattr(profile, part) if part else profile, name))


def altered(seed: int) -> DeviceProfile:
    """Every figure that can be measured, times 0.6 to 1.6."""
    dice = random.Random(seed)
    profile: Any = BASE.profile
    for key in MEASURED:
        part, _, name = key.rpartition(".")
        holder = getattr(profile, part) if part else profile
        new = getattr(holder, name) * dice.uniform(0.6, 1.6)
        changed = replace(
            holder, **{name: round(new) if isinstance(getattr(holder, name), int) else new}
        )
        profile = replace(profile, **{part: changed}) if part else changed
    assert isinstance(profile, DeviceProfile)
    return profile


@pytest.mark.parametrize("seed", range(6))
def test_another_machine_is_found_out(seed: int) -> None:
    """Forty figures and more, all of them other than in the base: each within 4 %, or 0.3 us for
    what is left between two others."""
    machine = altered(seed)
    found, environment = measure(ModelBackend(machine), BASE.profile)
    assert len(found) > 45
    made = profile_of(BASE, found, environment, "mine").profile
    for key in found:
        wanted = value(machine, key)
        slack = 400 if key == "pool.release_ns" else 300 if key.endswith("_ns") else 0.01
        assert value(made, key) == pytest.approx(wanted, rel=0.04, abs=slack), key


class Noisy(ModelBackend):
    """A host that is interrupted in one call of twenty, for 30 us."""

    def __init__(self) -> None:
        super().__init__()
        self._dice = random.Random(1)

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        trace = super().run(plan, measured=measured, repetition=repetition)
        if trace.steps is None:
            return trace
        end = trace.steps.host_end_ns.copy()
        late = np.array([30_000 if self._dice.random() < 0.05 else 0 for _ in end])
        end[end != NONE] += late[end != NONE]
        return replace(trace, steps=replace(trace.steps, host_end_ns=end))


def test_interruptions_do_not_matter() -> None:
    """Medians: the costs of the mixed loop stay what they are."""
    found, _ = measure(Noisy(), BASE.profile)
    for name in ("launch_ns", "record_ns", "wait_ns", "query_ns", "memset_ns", "memcpy_ns"):
        key = f"host.{name}"
        assert found[key].value == pytest.approx(value(BASE.profile, key), rel=0.02), key


def test_a_run_without_a_result_ends_it() -> None:
    """In one line, with the scenario's name."""

    class Lost(ModelBackend):
        def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
            trace = super().run(plan, measured=measured, repetition=repetition)
            return replace(trace, status=Status.TIMEOUT, reason="no answer")

    with pytest.raises(DeviceFailed, match="calibrate/calls: timeout: no answer"):
        measure(Lost(), BASE.profile)


def test_what_is_not_measured_is_kept_and_says_so() -> None:
    found, environment = measure(ModelBackend(), BASE.profile)
    made = profile_of(BASE, found, environment, "mine")
    assert made.profile.name == "mine"
    assert made.sources["pool.read_ns"] == f"kept: {BASE.sources['pool.read_ns']}"
    assert made.sources["host.launch_ns"].startswith("poolbench calibrate, H200")
    again = profile_of(made, found, environment, "mine")
    assert again.sources["pool.read_ns"] == made.sources["pool.read_ns"]
    assert set(made.sources) == set(BASE.sources)


def test_figures_have_their_spread() -> None:
    assert figure([1.0, 2.0, 3.0, 4.0, 5.0]) == Figure(value=3.0, spread=1 / 3, n=5)
    assert figure([7.0]).spread == 0
    assert derived(10.0, Figure(value=100.0, spread=0.1, n=4)).spread == 1.0


@pytest.mark.parametrize("path", calibrations(), ids=lambda path: path.stem)
def test_scenarios_are_like_all_others(path: Path) -> None:
    scenario = load_scenario(path)
    assert path.read_text("utf-8").splitlines()[0].endswith("$schema=../schema.json")
    assert scenario.name == path.stem
    assert scenario.head.question.strip().endswith("?")
    assert find(f"calibrate/{path.stem}") == path


def test_command_writes_a_profile_that_run_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has a line for each figure; the file is not overwritten."""
    monkeypatch.chdir(tmp_path)
    command = ["calibrate", "--backend", "model", "-o", "mine.json", "--name", "mine"]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    assert all(key in made.stdout for key in MEASURED)
    assert json.loads(Path("mine.json").read_text("utf-8"))["name"] == "mine"
    again = CliRunner().invoke(app, command)
    assert again.exit_code == ExitCode.BAD_INPUT
    run = ["run", "hand-over", "--profile", "mine.json", "--output", "out"]
    assert "model of mine" in CliRunner().invoke(app, run).stdout


@pytest.mark.gpu
def test_the_device_is_measured_within_a_minute() -> None:
    """Sane figures: between a third and three times those of the shipped profile."""
    import time

    from poolbench.backends.cuda.backend import CudaBackend

    backend = CudaBackend(time_limit_s=60)
    begun = time.monotonic()
    try:
        found, _ = measure(backend, BASE.profile)
    finally:
        backend.close()
    assert time.monotonic() - begun < 60
    assert all(one.n >= N_ROUNDS - 1 for key, one in found.items() if key not in ONCE)
    for key in ("host.launch_ns", "pool.alloc_ns", "pool.grow_ns_per_chunk", "h2d_rate"):
        assert 1 / 3 < found[key].value / value(BASE.profile, key) < 3, key
