"""How long kernels and copies take, and how much of the device they occupy.  Pure.

Times are nanoseconds, sizes bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from poolbench.backends.model.ops import Footprint
from poolbench.backends.model.profile import DeviceProfile
from poolbench.domain import CopyKind
from poolbench.plan.plan import BufferSpec, KernelSource, Plan
from poolbench.plan.steps import Compute, Custom, Grid, Launch, Memcpy, Spin, Touch

_THREADS = 1024
"""Threads of a block that has a multiprocessor to itself, and of `fill` and `check`."""

_WARP = 32


def unpredictable(plan: Plan) -> str | None:
    """Why the model cannot run a plan, `None` if it can."""
    used = {
        step.work.kernel
        for step in plan.steps
        if isinstance(step, Launch) and isinstance(step.work, Custom)
    }
    names = [plan.kernels[kernel].name for kernel in sorted(used)]
    unknown = [
        name
        for name, kernel in zip(names, sorted(used), strict=True)
        if plan.kernels[kernel].predicted_ns is None
    ]
    if not unknown:
        return None
    return f"the model cannot time a kernel of one's own: {', '.join(unknown)} (no predicted time)"


def _slots(grid: Grid, profile: DeviceProfile) -> int:
    """Thread slots that one block keeps others from: there is a limit on blocks, too."""
    most = profile.blocks_per_multiprocessor
    threads = -(-max(1, grid.threads) // _WARP) * _WARP
    return max(threads, profile.threads_per_multiprocessor // most)


def _share(grid: Grid, profile: DeviceProfile) -> float:
    """The part of the device's throughput that a grid can use: blocks spread over the
    multiprocessors, and half of the thread slots are enough to keep one busy [A]."""
    n_sms = profile.n_multiprocessors
    if grid.share is not None:
        return math.ceil(grid.share * n_sms) / n_sms
    blocks = max(1, grid.blocks or 1)
    residents = profile.threads_per_multiprocessor // _slots(grid, profile)
    per_sm = min(residents, -(-blocks // n_sms)) * grid.threads
    busy = min(1.0, 2 * per_sm / profile.threads_per_multiprocessor)
    return min(n_sms, blocks) / n_sms * busy


def _touched(work: Touch, buffers: Sequence[BufferSpec]) -> int:
    return sum(buffers[buffer].size for buffer in (*work.reads, *work.writes))


def footprint(
    step: Launch,
    buffers: Sequence[BufferSpec],
    kernels: Sequence[KernelSource],
    profile: DeviceProfile,
) -> Footprint:
    """What a launch needs."""
    work, grid = step.work, step.grid
    match work:
        case Spin():
            duration = work.duration_ns
        case Touch():
            rate = profile.touch_rate * _share(grid, profile)
            duration = max(profile.short_kernel_ns, round(_touched(work, buffers) / rate))
        case Compute():
            rate = profile.flops_rate * _share(grid, profile)
            duration = max(profile.short_kernel_ns, round(work.flops / rate))
        case Custom():
            duration = kernels[work.kernel].predicted_ns or 0
        case _:
            assert_never(work)
    return _footprint(grid, duration, profile)


def _footprint(grid: Grid, duration_ns: int, profile: DeviceProfile) -> Footprint:
    if grid.share is not None:
        n_sms = max(1, math.ceil(grid.share * profile.n_multiprocessors))
        return Footprint(
            duration_ns=duration_ns, n_blocks=n_sms, block_sms=1, block_threads=_THREADS
        )
    return Footprint(
        duration_ns=duration_ns,
        n_blocks=max(1, grid.blocks or 1),
        block_sms=0,
        block_threads=_slots(grid, profile),
    )


def memory_footprint(size: int, profile: DeviceProfile) -> Footprint:
    """`fill` and `check`: two blocks of 1024 threads on every multiprocessor at most."""
    blocks = min(2 * profile.n_multiprocessors, max(1, -(-size // (8 * _THREADS))))
    grid = Grid(blocks=blocks, threads=_THREADS)
    rate = profile.touch_rate * _share(grid, profile)
    duration = max(profile.short_kernel_ns, round(size / rate))
    return _footprint(grid, duration, profile)


def copy_ns(step: Memcpy, profile: DeviceProfile) -> int:
    rate = {
        CopyKind.H2D: profile.h2d_rate,
        CopyKind.D2H: profile.d2h_rate,
        CopyKind.D2D: profile.d2d_rate,
    }[step.kind]
    if step.is_pageable:
        rate = profile.pageable_rate
    return profile.device.copy_setup_ns + round(step.size / rate)


def memset_ns(size: int, profile: DeviceProfile) -> int:
    return round(size / profile.memset_rate)
