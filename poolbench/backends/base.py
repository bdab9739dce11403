"""What a backend is: something that runs a plan once and hands back a trace."""

from __future__ import annotations

from typing import Protocol

from poolbench.domain import BackendKind, Pass
from poolbench.plan.plan import Plan
from poolbench.results.environment import Environment
from poolbench.trace import Trace


class Backend(Protocol):
    """Both backends, seen by `measure`.

    `run` never raises for what a plan does to the device: a failure is a status of the trace.  It
    raises `DeviceFailed` where no further run is possible.
    """

    @property
    def kind(self) -> BackendKind: ...

    def environment(self) -> Environment:
        """Device, driver and floors as they are now; called before the first and after the last
        run."""
        ...

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace: ...

    def renew(self) -> None:
        """The runs to come owe nothing to those before: each scenario begins with this.

        What a run leaves behind in its process is not all on show.  After one that had filled the
        device, copies from the host took up to three times as long, and the order in which a pool
        offers its blocks depends on the streams that there have been (both measured, H200, driver
        580.159.04)."""
        ...

    def close(self) -> None: ...
