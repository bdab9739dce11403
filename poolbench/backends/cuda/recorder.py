"""Turns what a traced run left behind (host notes, events, stamps) into `StepTrace` columns.

Times come in on three clocks and leave on one: the host's, 0 at the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.clock import Alignment, to_host
from poolbench.backends.cuda.issue import HostColumns, TracedCall
from poolbench.backends.cuda.program import Call
from poolbench.domain import AttributeSet
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, StepTrace, empty_steps

_STAMPED = (st.Launch, st.Fill, st.Check)


def is_stamped(step: st.Step) -> bool:
    """Does the step's kernel stamp `%globaltimer` itself?"""
    return isinstance(step, _STAMPED) and not (
        isinstance(step, st.Launch) and isinstance(step.work, st.Custom)
    )


def traced_calls(
    plan: Plan, calls: Sequence[tuple[int, Call]], new_event: Callable[[], Any]
) -> list[TracedCall]:
    """What the traced pass does around each call."""
    has_pool = isinstance(plan.case.row, AttributeSet)
    traced = []
    for k, call in calls:
        step = plan.steps[k]
        match step:
            case st.Alloc() | st.Free():
                is_bracketed = has_pool
            case st.Launch():
                is_bracketed = not is_stamped(step)
            case _:
                is_bracketed = isinstance(step, st.BRACKETED_STEPS)
        traced.append(
            TracedCall(
                step=k,
                call=call,
                stream=getattr(step, "stream", 0),
                before=new_event() if is_bracketed else None,
                after=new_event() if is_bracketed else None,
                reads_pool=isinstance(
                    step,
                    st.Alloc
                    | st.Free
                    | st.Trim
                    | st.Sample
                    | st.SyncStream
                    | st.SyncEvent
                    | st.SyncDevice,
                ),
            )
        )
    return traced


class Recorder:
    """Collects the iterations of one traced run; device times stay `%globaltimer` until the end."""

    def __init__(self, plan: Plan, traced: Sequence[TracedCall]) -> None:
        self._plan = plan
        self._traced = traced
        self._stamped = np.array([is_stamped(step) for step in plan.steps], dtype=bool)
        self.steps: StepTrace = empty_steps(plan.n_iterations * plan.n_steps)

    def add(
        self,
        iteration: int,
        columns: HostColumns,
        stamps: npt.NDArray[np.uint64],
        *,
        base: Any,
        base_ns: int,
        addresses: Sequence[int],
        failures: dict[int, int],
    ) -> None:
        """`stamps` has shape (n_steps, 2); `base_ns` is `%globaltimer` at the event `base`;
        `addresses` is indexed by buffer."""
        n = self._plan.n_steps
        rows = slice(iteration * n, (iteration + 1) * n)
        steps = self.steps
        steps.host_begin_ns[rows] = columns.begin_ns
        steps.host_end_ns[rows] = columns.end_ns
        steps.reserved[rows] = columns.reserved
        steps.used[rows] = columns.used
        ran = self._stamped & (stamps[:, 1] > 0)
        steps.device_begin_ns[rows][ran] = stamps[ran, 0].astype(np.int64)
        steps.device_end_ns[rows][ran] = stamps[ran, 1].astype(np.int64)
        for call in self._traced:
            if call.before is None or columns.end_ns[call.step] == NONE:
                continue
            row = iteration * n + call.step
            spans = [driver.cuEventElapsedTime(base, event) for event in (call.before, call.after)]
            if not any(int(result[0]) for result in spans):
                steps.device_begin_ns[row] = base_ns + round(float(spans[0][1]) * 1e6)
                steps.device_end_ns[row] = base_ns + round(float(spans[1][1]) * 1e6)
        for buffer, spec in enumerate(self._plan.buffers):
            if spec.alloc_step >= 0 and addresses[buffer]:
                steps.address[iteration * n + spec.alloc_step] = addresses[buffer]
        for step, count in failures.items():
            steps.n_failures[iteration * n + step] = count

    def finish(self, first: Alignment, last: Alignment, origin_ns: int) -> StepTrace:
        """All times on the host's axis, 0 at `origin_ns`."""
        steps = self.steps
        for column in (steps.device_begin_ns, steps.device_end_ns):
            seen = column != NONE
            column[seen] = [to_host(int(time), first, last) - origin_ns for time in column[seen]]
        for column in (steps.host_begin_ns, steps.host_end_ns):
            column[column != NONE] -= origin_ns
        return steps
