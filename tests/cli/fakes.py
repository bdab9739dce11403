"""A backend that runs nothing and answers as told, and scenarios for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from poolbench.backends.base import Backend
from poolbench.domain import OUTCOMES, BackendKind, Outcome, Pass, Status, row_name
from poolbench.errors import DeviceFailed
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc
from poolbench.results.environment import Environment
from poolbench.trace import StepTrace, Trace, empty_steps
from tests.render.records import environment

SCENARIO = """\
name: {name}
question: What does {name} ask?
streams: {{a: }}
parameters: {{busy: 100us, size: 32MiB}}
steps:
  - {{alloc: x, size: $size, stream: a}}
  - {{kernel: spin, duration: $busy, writes: [x], stream: a}}
  - {{free: x, stream: a}}
expect:
  - where: {{row: "111"}}
    metrics: {{n_grown: {n_grown}}}
"""


def write_scenario(folder: Path, name: str = "tiny", *, n_grown: int = 1) -> str:
    """A scenario whose expectation the fake meets if one allocation grows; its path."""
    path = folder / f"{name}.yaml"
    path.write_text(SCENARIO.format(name=name, n_grown=n_grown))
    return str(path)


def _no_hook(_plan: Plan) -> None:
    pass


@dataclass
class FakeBackend(Backend):
    """Every allocation grows; the makespan is 100 us and a little more with each row.

    `statuses` are by row; `before_run` may raise.
    """

    statuses: dict[str, Status] = field(default_factory=dict)
    before_run: Callable[[Plan], None] = _no_hook
    kind_: BackendKind = BackendKind.CUDA
    is_broken: bool = False
    asked: list[tuple[str, str, Pass]] = field(default_factory=list)
    n_closed: int = 0

    @property
    def kind(self) -> BackendKind:
        return self.kind_

    def environment(self) -> Environment:
        if self.is_broken:
            raise DeviceFailed("the GPU worker did not answer")
        return environment(self.kind_)

    def renew(self) -> None:
        """Nothing is left behind."""

    def close(self) -> None:
        self.n_closed += 1

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        self.before_run(plan)
        name = row_name(plan.case.row)
        self.asked.append((plan.case.scenario, name, measured))
        status = self.statuses.get(name, Status.OK)
        return Trace(
            case=plan.case,
            backend=self.kind_,
            measured=measured,
            repetition=repetition,
            status=status,
            reason="" if status is Status.OK else f"told to end as {status}",
            makespan_ns=np.full(plan.n_iterations, 100_000 + 10 * len(name), dtype=np.int64),
            host_ns=np.full(plan.n_iterations, 20_000, dtype=np.int64),
            reserved_high=32 * 2**20,
            used_high=32 * 2**20,
            steps=_steps(plan) if measured is Pass.TRACED else None,
        )


def _steps(plan: Plan) -> StepTrace:
    steps = empty_steps(plan.n_steps * plan.n_iterations)
    for row in range(len(steps.outcome)):
        steps.host_begin_ns[row] = 1000 * row
        steps.host_end_ns[row] = 1000 * row + 500
        if isinstance(plan.steps[row % plan.n_steps], Alloc):
            steps.outcome[row] = OUTCOMES.index(Outcome.GROWN)
    return steps
