"""Steps of traced runs as a results directory has them: written and read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from poolbench.analysis.detail import examine
from poolbench.analysis.findings import find
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OUTCOMES, Outcome, Pass, Status
from poolbench.findings import CaseResult
from poolbench.plan.plan import Plan
from poolbench.results import samples
from poolbench.results.environment import Floors
from poolbench.trace import Trace
from tests.analysis.hand_made import MIB, Recording, plan_of, stream, trace_of

TWO = (stream("a"), stream("b"))


def frame_of(folder: Path, plan: Plan, trace: Trace) -> tuple[CaseResult, pd.DataFrame]:
    assert trace.steps is not None
    where = folder / str(len(list(folder.iterdir())))
    where.mkdir()
    samples.start(where, tuple(name for name, _ in plan.case.axes))
    examined = examine(plan, trace, event_floor_ns=1000)
    samples.append_steps(where, plan, trace.steps, examined)
    result = find(plan, [trace], floors=Floors(event_pair_ns=1000))
    return result, samples.read_steps(where)


def predicted(folder: Path, plan: Plan) -> tuple[CaseResult, pd.DataFrame]:
    return frame_of(folder, plan, ModelBackend().run(plan, measured=Pass.TRACED, repetition=1))


def hand_over(row: str) -> tuple[Plan, Trace]:
    """With internal dependencies b waits from 60 to 520 us for the free that a is done with then;
    without them b's allocation fails."""
    size = 64 * MIB
    plan = plan_of(
        [
            ("alloc", "x", "a", size),
            ("kernel", "a", 500),
            ("free", "x", "a"),
            ("alloc", "y", "b", size),
            ("kernel", "b", 480),
            ("free", "y", "b"),
        ],
        row=row,
        streams=TWO,
        max_size=size,
    )
    recording = Recording(plan).host(0, 0, 15).host(1, 20, 26).host(2, 30, 34)
    recording.at(0, 0, 64).pool(0, 64, 64).pool(2, 64, 0)
    recording.device(0, 1, 16).device(1, 19, 519).device(2, 519, 520)
    recording.steps.outcome[0] = OUTCOMES.index(Outcome.GROWN)
    if row[2] == "0":
        recording.host(3, 40, 62).failed(3).never_issued_from(4)
        recording.steps.device_begin_ns[3] = recording.steps.device_end_ns[3] = -1
        recording.steps.outcome[3] = OUTCOMES.index(Outcome.OUT_OF_MEMORY)
        return plan, replace(
            trace_of(plan, steps=recording.steps), status=Status.OUT_OF_MEMORY, failed_row=3
        )
    recording.host(3, 40, 52).host(4, 55, 60).host(5, 62, 65)
    recording.at(3, 0, 64).pool(3, 64, 64).pool(5, 64, 0)
    recording.device(3, 60, 522).device(4, 525, 1005).device(5, 1006, 1007)
    recording.steps.outcome[3] = OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY)
    recording.steps.waited_for[3] = 2
    return plan, trace_of(plan, steps=recording.steps, makespan_us=(1010.0,))
