"""What a step costs the model, held by the benchmark that people run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "model_speed.py"


@pytest.fixture(scope="module")
def speed() -> ModuleType:
    spec = importlib.util.spec_from_file_location("model_speed", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_memory_is_linear_in_the_number_of_steps(speed: ModuleType) -> None:
    """Under 1 KiB a step, and not more for more steps."""
    few, many = (speed.plan_of(n) for n in (11_000, 44_000))
    per_step = [speed.peak_bytes(plan) / plan.n_steps for plan in (few, many)]
    assert per_step[0] < 1024
    assert per_step[1] < 1.1 * per_step[0]


def test_time_is_linear_in_the_number_of_steps(speed: ModuleType) -> None:
    """Four times the steps, less than seven times the time: quadratic would be sixteen."""
    few, many = (speed.plan_of(n) for n in (11_000, 44_000))
    assert speed.seconds(many) < 7 * speed.seconds(few)
