"""Runs of one calibration scenario, read by label.

Pure.  Times are nanoseconds; lists are in the order of issue, repetition after repetition.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from poolbench.plan.plan import Plan
from poolbench.trace import NONE, StepTrace, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`value` in the unit of its name; `spread`: half the interquartile range over the value."""

    value: float
    spread: float
    n: int


def figure(samples: Sequence[float]) -> Figure:
    """The median."""
    middle = statistics.median(samples)
    spread = 0.0
    if len(samples) > 2 and middle:
        low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
        spread = abs((high - low) / 2 / middle)
    return Figure(value=middle, spread=spread, n=len(samples))


def derived(value: float, *parts: Figure) -> Figure:
    """Computed from other figures: as uncertain as the worst of them in absolute terms."""
    absolute = max((part.spread * abs(part.value) for part in parts), default=0.0)
    spread = absolute / abs(value) if value else 0.0
    return Figure(value=value, spread=spread, n=min((part.n for part in parts), default=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The traced or timed runs of one case."""

    plan: Plan
    traces: tuple[Trace, ...]

    def host(self, label: str, *, is_first_left_out: bool = True) -> list[float]:
        """Host times of all calls with the label; of each run the first call is left out, because
        it is slower than those after it."""
        found: list[float] = []
        for steps in self._steps():
            rows = self.rows(steps, label)[is_first_left_out:]
            found += [float(steps.host_end_ns[row] - steps.host_begin_ns[row]) for row in rows]
        return found

    def first_host(self, label: str) -> list[float]:
        """The first call of each run."""
        return [
            float(steps.host_end_ns[row] - steps.host_begin_ns[row])
            for steps in self._steps()
            for row in self.rows(steps, label)[:1]
        ]

    def device(self, label: str) -> list[float]:
        """Spans on the device; the first of each run is left out."""
        return self.between(label, lambda steps, row: steps.device_end_ns[row], label)

    def between(
        self,
        label: str,
        end: Callable[[StepTrace, int], float],
        from_label: str,
        *,
        begin: Callable[[StepTrace, int], float] | None = None,
    ) -> list[float]:
        """`end` of the n-th step of one label less `begin` of the n-th of another (its start on the
        device); the first of each run is left out."""
        start = begin or (lambda steps, row: steps.device_begin_ns[row])
        return self.pairs(
            label,
            from_label,
            lambda steps, one, other: float(end(steps, one) - start(steps, other)),
        )

    def pairs(
        self, label: str, other_label: str, of: Callable[[StepTrace, int, int], float]
    ) -> list[float]:
        """`of` the n-th steps of two labels; the first of each run is left out."""
        found: list[float] = []
        for steps in self._steps():
            pairs = zip(self.rows(steps, label), self.rows(steps, other_label), strict=True)
            found += [of(steps, one, other) for one, other in pairs][1:]
        return found

    def rows(self, steps: StepTrace, label: str) -> list[int]:
        n = self.plan.n_steps
        return [
            row
            for row, begin in enumerate(steps.host_begin_ns.tolist())
            if begin != NONE and self.plan.place(row % n).label == label
        ]

    def _steps(self) -> list[StepTrace]:
        return [trace.steps for trace in self.traces if trace.steps is not None]
