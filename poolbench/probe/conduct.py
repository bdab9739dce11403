"""The probe, run: every scenario once, traced, on one backend."""

from __future__ import annotations

import time
from collections.abc import Callable

from poolbench.backends.base import Backend
from poolbench.domain import COMBINATIONS, Case, Pass, Row
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.probe.answers import call_answer, cell, layout_answer
from poolbench.probe.questions import CALLS, LAYOUT, REUSE, runs
from poolbench.probe.record import Probe
from poolbench.scenario.find import probes
from poolbench.scenario.load import load
from poolbench.scenario.scenario import Scenario
from poolbench.trace import Trace

Done = dict[tuple[str, Row], tuple[Plan, Trace]]


def conduct(backend: Backend, *, on_progress: Callable[[], None] | None = None) -> Probe:
    """Raises `DeviceFailed` where the device is lost for good; what a single run loses is a cell
    without an answer."""
    begun = time.monotonic()
    files = {path.stem: path for path in probes()}
    scenarios: dict[str, Scenario] = {}
    done: Done = {}
    for name, row in runs():
        if name not in scenarios:
            scenarios[name] = load(files[name])
        scenario = scenarios[name]
        plan = build_plan(scenario, Case(scenario=scenario.name, row=row))
        done[name, row] = plan, backend.run(plan, measured=Pass.TRACED, repetition=1)
        if on_progress is not None:
            on_progress()
    return Probe(
        environment=backend.environment(),
        seconds=round(time.monotonic() - begun, 3),
        cells=tuple(
            cell(question, *done[question.scenario, row])
            for question in REUSE
            for row in COMBINATIONS
        ),
        calls=tuple(
            call_answer(question, *done[question.scenario, question.row]) for question in CALLS
        ),
        layout=tuple(
            layout_answer(question, *done[question.scenario, COMBINATIONS[0]])
            for question in LAYOUT
        ),
    )
