"""The kernels on the device, and how a plan's `Launch` becomes packed launch arguments.

Holds device functions for the life of a worker.  Sizes are bytes, times nanoseconds.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from poolbench.backends.cuda import driver
from poolbench.plan.plan import KernelSource
from poolbench.plan.steps import Compute, Custom, Grid, Launch, Spin, Touch

MAX_TOUCHED = 8
"""Buffers that one `stream` kernel can read, and as many that it can write."""

_THREADS = 1024
_OPERATIONS_PER_ROUND = 16

_SCALARS: dict[str, type[Any]] = {
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


class Unsupported(Exception):
    """The device cannot run a step as asked."""


@dataclass(slots=True)
class Packed:
    """Launch arguments in memory of our own: the driver reads them at each launch.

    `stamp` is the kernel's first argument, where it has one; a traced run points it at the step's
    row.  `keep` holds everything that `parameters` points to.
    """

    function: Any
    blocks: int
    threads: int
    shared: int
    parameters: int
    stamp: ctypes.c_uint64 | None
    keep: list[Any] = field(default_factory=list)


class Kernels:
    """Built-in kernels and the scenario's own, compiled once a worker."""

    def __init__(self, device: Any) -> None:
        major = driver.device_attribute(device, "COMPUTE_CAPABILITY_MAJOR")
        minor = driver.device_attribute(device, "COMPUTE_CAPABILITY_MINOR")
        self._architecture = f"sm_{major}{minor}"
        self.n_multiprocessors = driver.device_attribute(device, "MULTIPROCESSOR_COUNT")
        self._shared = driver.device_attribute(device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        source = Path(__file__).with_name("kernels.cu").read_text("utf8")
        module = driver.load_module(driver.compile_cuda(source, "kernels.cu", self._architecture))
        names = ("spin", "touch", "compute", "fill", "check", "ping")
        self._functions = {name: driver.module_function(module, name) for name in names}
        for name in names[:-1]:
            driver.allow_shared_memory(self._functions[name], self._shared)
        self._own: dict[tuple[str, str], Any] = {}
        self._sink = ctypes.c_uint64(int(driver.check(driver.cuMemAlloc(256), "cuMemAlloc")))

    def compile_own(self, kernels: Sequence[KernelSource]) -> None:
        """Raises `driver.CompileError` with the log, naming the kernel."""
        for kernel in kernels:
            if (kernel.text, kernel.entry) in self._own:
                continue
            try:
                code = driver.compile_cuda(kernel.text, f"{kernel.name}.cu", self._architecture)
            except driver.CompileError as fault:
                raise driver.CompileError(f"kernel {kernel.name}:\n{fault}") from None
            module = driver.load_module(code)
            self._own[kernel.text, kernel.entry] = driver.module_function(module, kernel.entry)

    def small_image(self) -> bytes:
        """Machine code of a kernel that does nothing."""
        source = 'extern "C" __global__ void nothing() {}'
        return driver.compile_cuda(source, "nothing.cu", self._architecture)

    def function(self, name: str) -> Any:
        return self._functions[name]

    def _grid(self, grid: Grid) -> tuple[int, int, int]:
        """Blocks, threads and dynamic shared memory.  A share is one block on each of so many
        multiprocessors, kept alone there by taking all of the shared memory."""
        if grid.share is not None:
            return math.ceil(grid.share * self.n_multiprocessors), _THREADS, self._shared
        return grid.blocks or 1, grid.threads, 0

    def pack(
        self,
        step: Launch,
        own: Sequence[KernelSource],
        address_of: Sequence[int],
        sizes: Sequence[int],
    ) -> Packed:
        """`address_of[b]` is the *host* address of the word that will hold buffer `b`'s device
        address by the time of the launch."""
        blocks, threads, shared = self._grid(step.grid)
        stamp = ctypes.c_uint64(0)
        work = step.work
        match work:
            case Spin():
                keep: list[Any] = [stamp, ctypes.c_uint64(work.duration_ns)]
                name = "spin"
            case Touch():
                keep = self._touch_arguments(stamp, work, address_of, sizes)
                name = "touch"
            case Compute():
                per_round = blocks * threads * _OPERATIONS_PER_ROUND
                rounds = max(1, round(work.flops / per_round))
                keep = [stamp, self._sink, ctypes.c_uint64(rounds)]
                name = "compute"
            case Custom():
                source = own[work.kernel]
                arguments = [
                    address_of[item] if isinstance(item, int) else _SCALARS[item[0]](item[1])
                    for item in work.arguments
                ]
                function = self._own[source.text, source.entry]
                if shared:
                    driver.allow_shared_memory(function, shared)
                return _packed(function, (blocks, threads, shared), arguments, None)
            case _:
                assert_never(work)
        return _packed(self._functions[name], (blocks, threads, shared), keep, stamp)

    def _touch_arguments(
        self,
        stamp: ctypes.c_uint64,
        work: Touch,
        address_of: Sequence[int],
        sizes: Sequence[int],
    ) -> list[Any]:
        if max(len(work.reads), len(work.writes)) > MAX_TOUCHED:
            raise Unsupported(f"a stream kernel takes at most {MAX_TOUCHED} buffers each way")
        null, zero = ctypes.c_uint64(0), ctypes.c_uint64(0)
        counts = [ctypes.c_uint32(len(work.reads)), ctypes.c_uint32(len(work.writes))]
        spans: list[Any] = []
        for side in (work.reads, work.writes):
            for buffer in side:
                spans += [address_of[buffer], ctypes.c_uint64(sizes[buffer])]
            spans += [null, zero] * (MAX_TOUCHED - len(side))
        return [stamp, self._sink, *counts, *spans]

    def pack_fill(self, address: int, size: int, seed: int) -> Packed:
        stamp = ctypes.c_uint64(0)
        arguments = [stamp, address, ctypes.c_uint64(size), ctypes.c_uint64(seed)]
        return _packed(self._functions["fill"], self._memory_grid(size), arguments, stamp)

    def pack_check(self, address: int, size: int, seed: int, counter: int) -> Packed:
        """`counter` is the device address of the word that takes the number of wrong bytes."""
        stamp = ctypes.c_uint64(0)
        numbers = [ctypes.c_uint64(size), ctypes.c_uint64(seed), ctypes.c_uint64(counter)]
        arguments = [stamp, address, *numbers]
        return _packed(self._functions["check"], self._memory_grid(size), arguments, stamp)

    def _memory_grid(self, size: int) -> tuple[int, int, int]:
        blocks = min(2 * self.n_multiprocessors, max(1, math.ceil(size / (8 * _THREADS))))
        return blocks, _THREADS, 0


def _packed(
    function: Any,
    grid: tuple[int, int, int],
    arguments: Sequence[Any],
    stamp: ctypes.c_uint64 | None,
) -> Packed:
    """An `int` argument is the host address of the value, anything else the value itself."""
    pointers = (ctypes.c_void_p * max(1, len(arguments)))(
        *(item if isinstance(item, int) else ctypes.addressof(item) for item in arguments)
    )
    return Packed(
        function=function,
        blocks=grid[0],
        threads=grid[1],
        shared=grid[2],
        parameters=ctypes.addressof(pointers),
        stamp=stamp,
        keep=[pointers, *arguments],
    )
