"""What works on this machine: the model by a trial run, the GPU by asking its driver."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from poolbench import __version__
from poolbench.domain import COMBINATIONS, Pass, Status
from poolbench.errors import PoolbenchError

Fact = tuple[str, str, bool, str]
"""(what was looked at, what was found, whether that is fine, what to do)."""

_TRIAL = """
name: trial
streams: {a: }
steps:
  - {alloc: x, size: 32MiB, stream: a}
  - {kernel: spin, duration: 10us, writes: [x], stream: a}
  - {free: x, stream: a}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """`why_no_gpu` is `None` where `--backend cuda` works."""

    facts: tuple[Fact, ...]
    model_works: bool
    why_no_gpu: str | None


def examine() -> Diagnosis:
    from poolbench.backends.cuda.detect import doctor_facts, why_unusable

    trouble = _try_model()
    model: Fact = (
        ("model", "a trial run ended ok", True, "")
        if trouble is None
        else ("model", trouble, False, "reinstall poolbench")
    )
    facts = (
        ("poolbench", __version__, True, ""),
        ("Python", platform.python_version(), True, ""),
        model,
        *doctor_facts(),
    )
    return Diagnosis(facts=facts, model_works=trouble is None, why_no_gpu=why_unusable())


def _try_model() -> str | None:
    """`None` if the model runs a small scenario from text to trace, else what went wrong."""
    from poolbench.backends.model.backend import ModelBackend
    from poolbench.plan.build import build_plans
    from poolbench.plan.cases import cases
    from poolbench.scenario.load import load_text

    try:
        scenario = load_text(_TRIAL, file="trial.yaml", folder=None)
        (plan,) = build_plans(scenario, cases(scenario, COMBINATIONS[-1:]))
        trace = ModelBackend().run(plan, measured=Pass.TIMED, repetition=1)
    except PoolbenchError as fault:
        return fault.message
    return None if trace.status is Status.OK else f"{trace.status}: {trace.reason}"
