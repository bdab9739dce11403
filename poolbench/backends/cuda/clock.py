"""One axis for host and device: `%globaltimer`, events and `time.perf_counter_ns` aligned.

A ping kernel answers the host with the device's time; the offset is taken from the quickest round
trips, at the start and the end of a run, and interpolated in between.  Event times are tied to
`%globaltimer` by stamping kernels that run between two events.  All times are nanoseconds.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.kernels import Kernels

_N_PINGS = 60
_N_BEST = 8
_PING_LIMIT_NS = 200_000_000
_N_PAIRS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """`host = device + offset` at `host_ns`; `error_ns` is half the best round trip."""

    host_ns: int
    offset_ns: int
    error_ns: int


def fresh_stamps(n: int) -> npt.NDArray[np.uint64]:
    """Begin and end words, shape (n, 2), as the kernels need them before they run."""
    stamps = np.zeros((n, 2), dtype=np.uint64)
    stamps[:, 0] = np.iinfo(np.uint64).max
    return stamps


def to_host(device_ns: int, first: Alignment, last: Alignment) -> int:
    """A device time on the host's axis, drift between two alignments taken out."""
    span = last.host_ns - first.host_ns
    if span <= 0:
        return device_ns + first.offset_ns
    share = (device_ns + first.offset_ns - first.host_ns) / span
    return device_ns + first.offset_ns + round(share * (last.offset_ns - first.offset_ns))


def _launch(function: Any, stream: Any, arguments: list[Any]) -> None:
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(item) for item in arguments))
    driver.check(
        driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, ctypes.addressof(pointers), 0),
        "cuLaunchKernel",
    )


class Clock:
    """Measures alignments; owns a stream, a page of mapped memory and a few events."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self.stream = driver.create_stream(is_blocking=False, priority=0)
        host, self._device = driver.allocate_mapped(4096)
        self._request = ctypes.c_uint32.from_address(host)
        self._answer = (ctypes.c_uint64 * 2).from_address(host + 512)
        self._latch = ctypes.c_uint32.from_address(host + 1024)
        self._stamps = int(driver.check(driver.cuMemAlloc(16 * _N_PAIRS), "cuMemAlloc"))
        self._events = [driver.create_event(driver.TIMING) for _ in range(2 * _N_PAIRS)]

    def align(self) -> Alignment:
        """Host against `%globaltimer`; the device must be idle.

        A host that is busy with other things gets through fewer round trips in the time; the best
        of those that it got through count.
        """
        self._request.value = 0
        self._answer[1] = 0
        arguments = [
            ctypes.c_uint64(self._device),
            ctypes.c_uint64(self._device + 512),
            ctypes.c_uint32(_N_PINGS),
            ctypes.c_uint64(_PING_LIMIT_NS),
        ]
        _launch(self._kernels.function("ping"), self.stream, arguments)
        trips: list[tuple[int, int, int]] = []
        deadline = time.perf_counter_ns() + _PING_LIMIT_NS
        for number in range(1, _N_PINGS + 1):
            sent = time.perf_counter_ns()
            self._request.value = number
            while self._answer[1] != number and time.perf_counter_ns() <= deadline:
                pass
            received = time.perf_counter_ns()
            if received > deadline:
                break
            middle = (sent + received) // 2
            trips.append((received - sent, middle - self._answer[0], middle))
        driver.check(driver.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        if len(trips) < _N_BEST:
            raise driver.DriverError(0, "ping", "the device does not answer the clock ping")
        best = sorted(trips)[:_N_BEST]
        return Alignment(
            host_ns=trips[-1][2],
            offset_ns=round(median(offset for _, offset, _ in best)),
            error_ns=best[0][0] // 2,
        )

    def launch_empty(self, stream: Any) -> None:
        """A kernel that does nothing, on any stream."""
        arguments = [ctypes.c_uint64(0), ctypes.c_uint64(0)]
        _launch(self._kernels.function("spin"), stream, arguments)

    def event_offset(self, base: Any) -> int:
        """`%globaltimer` at `base`'s moment: add an event's time since `base` to get its stamp.

        `base` must have been recorded, and the device be idle.  Kernels stamp between two events
        behind a closed latch, so that no launch latency lies between them.
        """
        stamps = fresh_stamps(_N_PAIRS)
        driver.write_device(self._stamps, stamps.ctypes.data, stamps.nbytes)
        self._latch.value = 0
        hold = driver.cuStreamWaitValue32(self.stream, self._device + 1024, 1, driver.GEQ)
        driver.check(hold, "cuStreamWaitValue32")
        for pair in range(_N_PAIRS):
            driver.cuEventRecord(self._events[2 * pair], self.stream)
            where = ctypes.c_uint64(self._stamps + 16 * pair)
            _launch(self._kernels.function("spin"), self.stream, [where, ctypes.c_uint64(0)])
            driver.cuEventRecord(self._events[2 * pair + 1], self.stream)
        self._latch.value = 1
        driver.check(driver.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        driver.read_device(stamps.ctypes.data, self._stamps, stamps.nbytes)
        offsets = []
        for pair in range(_N_PAIRS):
            before, after = (
                float(driver.check(driver.cuEventElapsedTime(base, event), "cuEventElapsedTime"))
                for event in self._events[2 * pair : 2 * pair + 2]
            )
            begin, end = (int(stamp) for stamp in stamps[pair])
            offsets.append((begin + end) // 2 - round((before + after) / 2 * 1e6))
        return int(median(offsets))

    def event_floor(self) -> int:
        """What two timing events back to back read (ns, median)."""
        pairs = self._events
        self._latch.value = 0
        hold = driver.cuStreamWaitValue32(self.stream, self._device + 1024, 1, driver.GEQ)
        driver.check(hold, "cuStreamWaitValue32")
        for event in pairs:
            driver.cuEventRecord(event, self.stream)
        self._latch.value = 1
        driver.check(driver.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        gaps = [
            float(driver.check(driver.cuEventElapsedTime(first, second), "cuEventElapsedTime"))
            for first, second in pairwise(pairs)
        ]
        return round(median(gaps) * 1e6)

    def kernel_floor(self) -> int:
        """What the two stamps of a kernel that does nothing read (ns, median)."""
        stamps = fresh_stamps(_N_PAIRS)
        driver.write_device(self._stamps, stamps.ctypes.data, stamps.nbytes)
        for at in range(_N_PAIRS):
            where = ctypes.c_uint64(self._stamps + 16 * at)
            _launch(self._kernels.function("spin"), self.stream, [where, ctypes.c_uint64(0)])
        driver.check(driver.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        driver.read_device(stamps.ctypes.data, self._stamps, stamps.nbytes)
        return int(median(int(end) - int(begin) for begin, end in stamps))

    def launch_floor(self, n: int = 200) -> int:
        """Host time of one launch of a kernel that does nothing (ns, median)."""
        arguments = [ctypes.c_uint64(0), ctypes.c_uint64(0)]
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(item) for item in arguments))
        where = ctypes.addressof(pointers)
        function, launch = self._kernels.function("spin"), driver.cuLaunchKernel
        took = []
        for _ in range(n):
            begun = time.perf_counter_ns()
            launch(function, 1, 1, 1, 1, 1, 1, 0, self.stream, where, 0)
            took.append(time.perf_counter_ns() - begun)
        driver.check(driver.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        return int(median(took))


def host_call_floor(n: int = 2000) -> int:
    """The cheapest driver call through Python (ns): a query of an idle stream."""
    stream = driver.create_stream(is_blocking=False, priority=0)
    query = driver.cuStreamQuery
    begun = time.perf_counter_ns()
    for _ in range(n):
        query(stream)
    elapsed = time.perf_counter_ns() - begun
    driver.check(driver.cuStreamDestroy(stream), "cuStreamDestroy")
    return elapsed // n
