"""What NVML says of the GPU: driver version, clocks, temperature, throttle reasons.

The only importer of `pynvml`.  Never fails: what NVML cannot say is `None` or empty, because a
benchmark must not lose a row to a missing sensor.  Changes no setting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from poolbench.results.environment import ClockState

_T = TypeVar("_T")

_REASONS = {
    0x1: "idle",
    0x2: "applications_clocks",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
}


def _asked(call: Callable[[], _T]) -> _T | None:
    import pynvml

    try:
        return call()
    except pynvml.NVMLError:
        return None


def driver_version() -> str:
    """E.g. `580.159.04`; empty where NVML is missing."""
    import pynvml

    if _asked(pynvml.nvmlInit) is None and not _is_ready():
        return ""
    version = _asked(pynvml.nvmlSystemGetDriverVersion)
    return version.decode() if isinstance(version, bytes) else version or ""


def _is_ready() -> bool:
    import pynvml

    return _asked(pynvml.nvmlDeviceGetCount) is not None


def clock_state(uuid: str) -> ClockState:
    """Clocks in MHz and throttle reasons of the device with this UUID, now."""
    import pynvml

    _asked(pynvml.nvmlInit)
    handle = _asked(lambda: pynvml.nvmlDeviceGetHandleByUUID(uuid))
    if handle is None:
        return ClockState()
    mask = _asked(lambda: pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    return ClockState(
        sm_mhz=_asked(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        memory_mhz=_asked(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
        temperature_c=_asked(
            lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        ),
        throttle_reasons=tuple(name for bit, name in _REASONS.items() if mask & bit),
    )
