"""What a run holds on the device besides its plan: the pool, ballast and lasting buffers.

Everything is made before the clock starts and given back afterwards.  Sizes are bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.domain import AttributeSet, MemoryKind, StreamKind, StreamPriority
from poolbench.plan.plan import BufferSpec, Plan

_GRANULE = 2 << 20
_PIECE = 2 << 30


class Mismatch(Exception):
    """The driver did not keep an attribute as it was set."""


def make_pool(ordinal: int, row: AttributeSet, plan: Plan) -> Any:
    """A fresh explicit pool with this row's attributes, set and read back, primed, marks reset.

    Attributes are read back after every creation because a recycled pool may inherit state.
    Raises `Mismatch` or `driver.DriverError`.
    """
    pool = driver.create_pool(ordinal, plan.max_size)
    for attribute, flag in (
        (driver.FOLLOW, row.follow_event_dependencies),
        (driver.OPPORTUNISTIC, row.allow_opportunistic),
        (driver.INTERNAL, row.allow_internal_dependencies),
    ):
        driver.set_pool_flag(pool, attribute, flag)
        found = driver.pool_value(pool, attribute)
        if bool(found) != flag:
            raise Mismatch(f"{attribute.name} was set to {int(flag)} and reads back {found}")
    driver.set_pool_bytes(pool, driver.THRESHOLD, plan.release_threshold)
    found = driver.pool_value(pool, driver.THRESHOLD)
    if found != plan.release_threshold:
        raise Mismatch(
            f"the release threshold was set to {plan.release_threshold} and reads back {found}"
        )
    return pool


def prime(pool: Any, plan: Plan, stream: Any) -> None:
    """Grows the pool by one block of `plan.prime` bytes that is free and host-known after it."""
    if plan.prime:
        block = driver.check(
            driver.cuMemAllocFromPoolAsync(plan.prime, pool, stream), "priming the pool"
        )
        driver.check(driver.cuMemFreeAsync(block, stream), "cuMemFreeAsync")
        driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize")


def reset_marks(pool: Any) -> None:
    for attribute in (driver.RESERVED_HIGH, driver.USED_HIGH):
        driver.set_pool_bytes(pool, attribute, 0)


class Ballast:
    """Plain memory that takes all of the device but so many bytes (to 2 MiB).

    It is held in pieces and kept from run to run: giving back and taking again more than a hundred
    GiB would take longer than most scenarios.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[Any, int]] = []

    def leave(self, leave_free: int | None) -> None:
        """Adjusts the ballast; `None` is no ballast at all.  Raises `driver.DriverError`."""
        if leave_free is None:
            self._give_back(len(self._pieces))
            return
        free, _ = driver.memory_info()
        while free < leave_free and self._pieces:
            self._give_back(1)
            free, _ = driver.memory_info()
        if free < leave_free:
            raise driver.DriverError(
                driver.OUT_OF_MEMORY, "leave_free", f"only {free >> 20} MiB are free on the device"
            )
        rest = (free - leave_free) // _GRANULE * _GRANULE
        while rest > 0:
            size = min(rest, _PIECE)
            pointer = driver.check(driver.cuMemAlloc(size), "ballast (cuMemAlloc)")
            self._pieces.append((pointer, size))
            rest -= size

    def _give_back(self, n: int) -> None:
        for _ in range(n):
            pointer, _ = self._pieces.pop()
            driver.check(driver.cuMemFree(pointer), "cuMemFree")


class LastingBuffers:
    """Buffers that exist before the first step; pinned ones are kept between runs."""

    def __init__(self) -> None:
        self._idle: dict[tuple[MemoryKind, int], list[int]] = {}
        self._busy: list[tuple[MemoryKind, int, int]] = []
        self._pages: list[Any] = []

    def take(self, spec: BufferSpec) -> int:
        """The address (device or host, by its kind) of a buffer like `spec`."""
        memory = spec.memory
        assert memory is not None  # pool buffers are made by their alloc steps
        return self.take_plain(memory, spec.size)

    def take_plain(self, memory: MemoryKind, size: int) -> int:
        idle = self._idle.setdefault((memory, size), [])
        address = idle.pop() if idle else self._make(memory, size)
        self._busy.append((memory, size, address))
        return address

    def _make(self, memory: MemoryKind, size: int) -> int:
        match memory:
            case MemoryKind.DEVICE:
                return int(driver.check(driver.cuMemAlloc(size), "cuMemAlloc"))
            case MemoryKind.PINNED:
                host = int(driver.check(driver.cuMemHostAlloc(size, 0), "cuMemHostAlloc"))
                ctypes.memset(host, 1, size)
                return host
            case MemoryKind.PAGEABLE:
                page = ctypes.create_string_buffer(size)
                ctypes.memset(page, 1, size)  # every page exists before the clock starts
                self._pages.append(page)
                return ctypes.addressof(page)

    def give_back_all(self) -> None:
        """Host memory is kept for the next run; device memory goes back to the device, where it
        would count against that run's room."""
        for memory, size, address in self._busy:
            if memory is MemoryKind.DEVICE:
                driver.check(driver.cuMemFree(address), "cuMemFree")
            else:
                self._idle[memory, size].append(address)
        self._busy.clear()


def make_streams(plan: Plan) -> list[Any]:
    """Handles in the plan's order (rule 5 prefers the stream created first); `None` for those that
    a step creates."""
    return [
        None if spec.is_created_by_step else make_stream(plan, index)
        for index, spec in enumerate(plan.streams)
    ]


def make_stream(plan: Plan, index: int) -> Any:
    spec = plan.streams[index]
    least, greatest = driver.priority_range()
    priority = {
        StreamPriority.LOW: least,
        StreamPriority.NORMAL: 0,
        StreamPriority.HIGH: greatest,
    }[spec.priority]
    match spec.kind:
        case StreamKind.LEGACY_DEFAULT:
            return driver.STREAM_LEGACY
        case StreamKind.PER_THREAD_DEFAULT:
            return driver.STREAM_PER_THREAD
        case StreamKind.BLOCKING | StreamKind.NON_BLOCKING:
            is_blocking = spec.kind is StreamKind.BLOCKING
            return driver.create_stream(is_blocking=is_blocking, priority=priority)


def destroy_streams(plan: Plan, streams: Sequence[Any]) -> None:
    for spec, stream in zip(plan.streams, streams, strict=True):
        is_own = spec.kind in (StreamKind.BLOCKING, StreamKind.NON_BLOCKING)
        if stream is not None and is_own:
            driver.check(driver.cuStreamDestroy(stream), "cuStreamDestroy")
