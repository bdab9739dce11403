"""The model as a backend: a plan in, a predicted trace out.

Deterministic: the same plan gives the same trace, whichever repetition it is.  No noise is made
up.  What it computes with is in `profile`, what it assumes in docs/model.md.
"""

from __future__ import annotations

import numpy as np

from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import load
from poolbench.backends.model.run import simulate
from poolbench.domain import BackendKind, Pass
from poolbench.plan.plan import Plan
from poolbench.results.environment import ClockState, Environment, Floors
from poolbench.results.packages import packages, platform_name, python_version
from poolbench.trace import Trace


class ModelBackend:
    """Predicts what one device does."""

    def __init__(self, profile: DeviceProfile | None = None) -> None:
        """By default the profile of an H200."""
        self._profile = load().profile if profile is None else profile

    @property
    def kind(self) -> BackendKind:
        return BackendKind.MODEL

    def environment(self) -> Environment:
        profile = self._profile
        return Environment(
            backend=BackendKind.MODEL.value,
            device=f"{profile.name} (model profile)",
            driver="",
            cuda="",
            compute_capability=profile.compute_capability,
            n_multiprocessors=profile.n_multiprocessors,
            memory_total=profile.memory_size,
            clocks=ClockState(),
            floors=Floors(
                event_pair_ns=profile.device.timing_event_ns,
                clock_error_ns=0,
                host_call_ns=profile.host.query_ns,
                launch_ns=profile.host.launch_ns,
            ),
            platform=platform_name(),
            python=python_version(),
            packages=packages(),
        )

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        result = simulate(plan, self._profile, is_traced=measured is Pass.TRACED)
        return Trace(
            case=plan.case,
            backend=BackendKind.MODEL,
            measured=measured,
            repetition=repetition,
            status=result.status,
            reason=result.reason,
            makespan_ns=np.array(result.makespan_ns, dtype=np.int64),
            host_ns=np.array(result.host_ns, dtype=np.int64),
            reserved_high=result.reserved_high,
            used_high=result.used_high,
            reserved_end=result.reserved_end,
            used_end=result.used_end,
            graph_reserved_high=result.graph_reserved_high,
            graph_used_high=result.graph_used_high,
            n_out_of_memory=result.n_out_of_memory,
            failed_row=result.failed_row,
            n_corrupt=result.n_corrupt,
            latches=tuple(result.latches),
            steps=result.steps,
        )

    def renew(self) -> None:
        """Every run begins from nothing."""

    def close(self) -> None:
        """Nothing is held."""
