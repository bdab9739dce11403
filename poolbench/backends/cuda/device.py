"""What a worker keeps from run to run: context, kernels, latches, clock, events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.burst import Issuer
from poolbench.backends.cuda.clock import Clock
from poolbench.backends.cuda.kernels import Kernels
from poolbench.backends.cuda.latch import Latches
from poolbench.backends.cuda.ranges import Ranges
from poolbench.backends.cuda.resources import Ballast, LastingBuffers

STICKY = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719})
"""`CUresult` values after which the context is of no more use (illegal address, ...)."""


@dataclass(slots=True)
class Device:
    """What a worker keeps between runs."""

    ordinal: int
    handle: Any
    kernels: Kernels
    latches: Latches
    clock: Clock
    lasting: LastingBuffers
    ballast: Ballast
    start: Any
    end: Any
    base: Any
    issuer: Issuer = field(default_factory=Issuer)
    ranges: Ranges = field(default_factory=Ranges)
    timing_events: list[Any] = field(default_factory=list)
    is_dead: bool = False

    def timing_event(self, index: int) -> Any:
        """Timing events are made once and used again by every run."""
        while len(self.timing_events) <= index:
            self.timing_events.append(driver.create_event(driver.TIMING))
        return self.timing_events[index]
