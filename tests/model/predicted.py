"""Runs of the model for plans written by hand, read by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OUTCOMES, Outcome, Pass
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, StepTrace, Trace
from tests.analysis.hand_made import plan_of

CHUNK = 32 * 2**20
BASE = 0x302000000


@dataclass(frozen=True)
class Predicted:
    """A traced run; steps go by their names, which must be unique."""

    plan: Plan
    trace: Trace

    @property
    def steps(self) -> StepTrace:
        assert self.trace.steps is not None
        return self.trace.steps

    def row(self, name: str, kind: type = Alloc) -> int:
        rows = [
            k
            for k, step in enumerate(self.plan.steps)
            if isinstance(step, kind) and self.plan.names[k] == name
        ]
        assert len(rows) == 1, f"{name} is not one step"
        return rows[0]

    def outcome(self, name: str) -> Outcome:
        code = int(self.steps.outcome[self.row(name)])
        assert code != NONE, f"{name} was not issued"
        return OUTCOMES[code]

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """Of every allocation of the first iteration that was issued."""
        return {
            self.plan.names[k]: OUTCOMES[self.steps.outcome[k]]
            for k, step in enumerate(self.plan.steps)
            if isinstance(step, Alloc) and self.steps.outcome[k] != NONE
        }

    def address(self, name: str) -> int:
        return int(self.steps.address[self.row(name)]) - BASE

    def reserved(self, name: str, kind: type = Alloc) -> int:
        return int(self.steps.reserved[self.row(name, kind)])

    def host_us(self, name: str, kind: type = Alloc) -> float:
        """How long the call took."""
        row = self.row(name, kind)
        return float(self.steps.host_end_ns[row] - self.steps.host_begin_ns[row]) / 1000

    def device_us(self, name: str, kind: type = Alloc) -> float:
        row = self.row(name, kind)
        return float(self.steps.device_end_ns[row] - self.steps.device_begin_ns[row]) / 1000

    def waited_for(self, name: str) -> str:
        """The buffer whose free was waited for, or whose block was reused; empty for none."""
        row = int(self.steps.waited_for[self.row(name)])
        if row == NONE:
            return ""
        assert isinstance(self.plan.steps[row], Free)
        return self.plan.names[row]


def predict(steps: list[tuple[Any, ...]], **settings: Any) -> Predicted:
    """`settings` as for `plan_of`."""
    return predict_plan(plan_of(steps, **settings))


def predict_plan(plan: Plan) -> Predicted:
    return Predicted(plan, ModelBackend().run(plan, measured=Pass.TRACED, repetition=0))
