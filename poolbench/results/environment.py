"""Where a run took place.  Pure values, written into every results directory.

`device` facts are `None` on the model; `floors` are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """NVML's view of the GPU at one moment; `None` where NVML cannot say."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """What the smallest thing of each kind reads, so that smaller figures are not believed.

    event_pair_ns: two timing events back to back on an idle stream.  clock_error_ns: half the best
    round trip of the host-device ping.  host_call_ns: the cheapest driver call through Python.
    launch_ns: host time of one launch of a kernel that does nothing.  kernel_ns: what its stamps
    read.  The last two are 0 in results of an older poolbench.
    """

    event_pair_ns: int = 0
    clock_error_ns: int = 0
    host_call_ns: int = 0
    launch_ns: int = 0
    kernel_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """`backend` is `cuda` or `model`; on the model `device` is the profile's name.

    `issue_loop`: what issued the steps of timed runs, `compiled` or `python` (with the reason);
    empty on the model and in results of an older poolbench, which had Python's alone.
    """

    backend: str
    device: str
    driver: str
    cuda: str
    compute_capability: str
    n_multiprocessors: int
    memory_total: int
    clocks: ClockState
    floors: Floors
    platform: str
    python: str
    packages: tuple[tuple[str, str], ...]
    issue_loop: str = ""
