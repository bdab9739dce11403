"""What is done once more just before the clock starts, so that nothing sleeps when it does.

The first launch on a new stream and the first growth after a pause cost hundreds of microseconds
that have nothing to do with the plan: stream resources are made at first use, the path to the
kernel driver is cold, memory that was given back is still being cleared.  A throwaway pool grows
once and every stream runs an empty kernel.  Sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.device import Device
from poolbench.plan.plan import Plan

_BLOCK = 1 << 20
_CHUNK = 32 << 20
"""What the pool takes from the device for the first block (measured)."""

_N_GROWTHS = 2


def rehearse(device: Device, plan: Plan, streams: Sequence[Any]) -> None:
    """Leaves no trace in the plan's own pool and streams; the device is idle afterwards."""
    for stream in streams:
        if stream is not None:
            device.clock.launch_empty(stream)
    if plan.leave_free is None or plan.leave_free >= 2 * _CHUNK:
        for _ in range(_N_GROWTHS):
            _grow_once(device)
    driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize")


def _grow_once(device: Device) -> None:
    pool = driver.create_pool(device.ordinal, _CHUNK)
    stream = device.clock.stream
    block = driver.check(driver.cuMemAllocFromPoolAsync(_BLOCK, pool, stream), "rehearsal")
    driver.check(driver.cuMemFreeAsync(block, stream), "cuMemFreeAsync")
    driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize")
    driver.check(driver.cuMemPoolDestroy(pool), "cuMemPoolDestroy")
