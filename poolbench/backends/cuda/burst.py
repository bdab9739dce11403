"""Rows of steps that go to the driver from a compiled loop, where that is asked for.

From Python each driver call costs a few tenths of a microsecond beside its own time.  `burst.c`
makes the same calls with the same arguments without that.  Steps that need more than one driver
call (latches, streams that steps create) stay in Python, between two bursts, and so does what is
done about a failed allocation.  It is compiled once a worker and needs a C compiler.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.issue import StepFailed
from poolbench.backends.cuda.program import Call, Live, Program
from poolbench.domain import AttributeSet, Baseline, CopyKind
from poolbench.plan import steps as st

VARIABLE = "POOLBENCH_ISSUE_LOOP"
WIDTH = 8
_SHORTEST = 2
"""A burst of one step would cost more than its call."""


class Loop(StrEnum):
    """What issues the steps of a timed run."""

    COMPILED = "compiled"
    PYTHON = "python"


class Choice(StrEnum):
    """What can be asked for; `AUTO` is the compiled loop if there is a compiler."""

    PYTHON = "python"
    COMPILED = "compiled"
    AUTO = "auto"


class Kind(IntEnum):
    """What a step is in `burst.c`, with the words behind the kind."""

    POOL_ALLOC = 0
    """buffer, size, pool, stream"""
    PLAIN_ALLOC = 1
    """buffer, size"""
    POOL_FREE = 2
    """buffer, stream"""
    PLAIN_FREE = 3
    """buffer"""
    LAUNCH = 4
    """function, blocks, threads, shared bytes, stream, parameters"""
    COPY_H2D = 5
    """target buffer, source buffer, size, stream"""
    COPY_D2H = 6
    COPY_D2D = 7
    SET = 8
    """buffer, value, size, stream"""
    RECORD = 9
    """event, stream"""
    WAIT = 10
    """stream, event"""
    SYNC_STREAM = 11
    """stream"""
    SYNC_EVENT = 12
    """event"""
    SYNC_DEVICE = 13
    QUERY_STREAM = 14
    """stream"""
    QUERY_EVENT = 15
    """event"""
    LAUNCH_GRAPH = 16
    """graph, stream"""
    HOST_WORK = 17
    """nanoseconds; no driver call"""


_ENTRY_POINTS = {
    Kind.POOL_ALLOC: "cuMemAllocFromPoolAsync",
    Kind.PLAIN_ALLOC: "cuMemAlloc_v2",
    Kind.POOL_FREE: "cuMemFreeAsync",
    Kind.PLAIN_FREE: "cuMemFree_v2",
    Kind.LAUNCH: "cuLaunchKernel",
    Kind.COPY_H2D: "cuMemcpyHtoDAsync_v2",
    Kind.COPY_D2H: "cuMemcpyDtoHAsync_v2",
    Kind.COPY_D2D: "cuMemcpyDtoDAsync_v2",
    Kind.SET: "cuMemsetD8Async",
    Kind.RECORD: "cuEventRecord",
    Kind.WAIT: "cuStreamWaitEvent",
    Kind.SYNC_STREAM: "cuStreamSynchronize",
    Kind.SYNC_EVENT: "cuEventSynchronize",
    Kind.SYNC_DEVICE: "cuCtxSynchronize",
    Kind.QUERY_STREAM: "cuStreamQuery",
    Kind.QUERY_EVENT: "cuEventQuery",
    Kind.LAUNCH_GRAPH: "cuGraphLaunch",
}
_COPIES = {
    CopyKind.H2D: Kind.COPY_H2D,
    CopyKind.D2H: Kind.COPY_D2H,
    CopyKind.D2D: Kind.COPY_D2D,
}
_ALLOCATING = (Kind.POOL_ALLOC, Kind.PLAIN_ALLOC)


class NoCompiler(Exception):
    """The compiled loop was asked for and cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """The compiled loop, loaded; `library` keeps it there.  Without one, `why` says why not."""

    library: Any = None
    entries: Any = None
    why: str = ""

    @property
    def loop(self) -> Loop:
        return Loop.PYTHON if self.library is None else Loop.COMPILED

    @property
    def text(self) -> str:
        """`compiled`, or `python (no C compiler)`."""
        return f"{self.loop} ({self.why})" if self.why else str(self.loop)

    @classmethod
    def make(cls, wanted: str | None = None) -> Self:
        """`wanted`: a `Choice`, by default that of the environment, else Python's loop.

        Raises `NoCompiler` if the compiled loop is demanded and cannot be made.
        """
        wanted = wanted or os.environ.get(VARIABLE) or Choice.PYTHON
        if wanted not in tuple(Choice):
            raise NoCompiler(f"{VARIABLE} is {wanted!r}; it can be {', '.join(Choice)}")
        if wanted == Choice.PYTHON:
            return cls()
        try:
            library = _compiled()
        except NoCompiler as fault:
            if wanted == Choice.COMPILED:
                raise
            return cls(why=str(fault))
        entries = (ctypes.c_void_p * len(Kind))()
        for kind, name in _ENTRY_POINTS.items():
            entries[kind] = driver.entry_point(name)
        return cls(library=library, entries=entries)


def _compiled() -> Any:
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        raise NoCompiler("no C compiler")
    source = Path(__file__).with_name("burst.c")
    with TemporaryDirectory(prefix="poolbench-") as folder:
        target = Path(folder) / "burst.so"
        kinds = [f"-D{kind.name}={kind.value}" for kind in Kind]
        command = [compiler, "-O2", "-shared", "-fPIC", *kinds, "-o", str(target), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise NoCompiler(f"{compiler} cannot be run: {type(fault).__name__}") from None
        if done.returncode:
            raise NoCompiler(f"{compiler} failed with exit code {done.returncode}")
        try:
            library = ctypes.CDLL(str(target))
        except OSError:
            raise NoCompiler("what the C compiler made cannot be loaded") from None
    library.burst.restype = ctypes.c_size_t
    return library


class Blocks(MutableSequence[Any]):
    """`Live.pointers` in words that `burst.c` and Python's calls share.  From Python it is slower
    than a list, and what the bindings are given is a number that they have to turn into an address:
    for the compiled loop alone."""

    def __init__(self, addresses: Sequence[int]) -> None:
        self.words = (ctypes.c_uint64 * max(1, len(addresses)))(*addresses)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: Any) -> Any:
        return self.words[index]

    def __setitem__(self, index: Any, pointer: Any) -> None:
        self.words[index] = int(pointer)

    def __delitem__(self, index: Any) -> None:
        raise TypeError(f"buffer {index} stays: a plan has as many as it has")

    def insert(self, index: int, value: Any) -> None:
        raise TypeError(f"no room for {value} at {index}: a plan has as many buffers as it has")


def shared_live(issuer: Issuer, lasting: Sequence[int]) -> Live | None:
    """What a program needs so that bursts can be made of its steps; `None` for Python's loop.
    `lasting` is that of the program."""
    if issuer.library is None:
        return None
    words = (ctypes.c_uint64 * max(1, len(lasting)))(*lasting)
    return Live(words=words, pointers=Blocks(lasting))


class Burst:
    """Consecutive steps, issued by one call.  Called, it returns success or raises `StepFailed` or
    `AllocationFailed`."""

    def __init__(self, issuer: Issuer, program: Program, ops: Sequence[tuple[int, Op]]) -> None:
        self._steps = [step for step, _ in ops]
        self._kinds = [op[0] for _, op in ops]
        self._program = program
        self._words: npt.NDArray[np.uint64] = np.zeros((len(ops), WIDTH), dtype=np.uint64)
        for row, (_, op) in zip(self._words, ops, strict=True):
            row[: len(op)] = op
        self._code = ctypes.c_int(0)
        live, n = program.live, len(ops)
        blocks = live.pointers
        assert isinstance(blocks, Blocks)
        self._call = issuer.library.burst
        self._n = n
        self._first = (issuer.entries, ctypes.c_void_p(self._words.ctypes.data))
        self._last = (ctypes.c_size_t(n), live.words, blocks.words, ctypes.byref(self._code))

    def __call__(self) -> Sequence[Any]:
        at = 0
        while True:
            at = self._call(*self._first, ctypes.c_size_t(at), *self._last)
            if at == self._n:
                return (0,)
            code, step = self._code.value, self._steps[at]
            if self._kinds[at] in _ALLOCATING:
                code = int(self._program.recover(step, code)[0])
            if code:
                raise StepFailed(step, code)
            at += 1


Op = tuple[int, ...]
"""A kind and its words."""


def bursts(
    issuer: Issuer, program: Program, calls: Sequence[tuple[int, Call]]
) -> list[tuple[int, Call]]:
    """`calls` with every row of steps that `burst.c` can issue in the place of their calls; the
    program's `live` is `shared_live`.

    A burst stands at its first step's index.
    """
    if issuer.library is None:
        return list(calls)
    made: list[tuple[int, Call]] = []
    row: list[tuple[int, Op]] = []
    plain: list[tuple[int, Call]] = []

    def end_row() -> None:
        if len(row) < _SHORTEST:
            made.extend(plain)
        else:
            made.append((row[0][0], Burst(issuer, program, row)))
        row.clear()
        plain.clear()

    for step, call in calls:
        op = _op(program, step)
        if op is None:
            end_row()
            made.append((step, call))
        else:
            row.append((step, op))
            plain.append((step, call))
    end_row()
    return made


def _op(program: Program, k: int) -> Op | None:
    """Step `k` for `burst.c`; `None` if it stays in Python.

    Under `issue: ahead` whatever may make the host wait does, because it opens the latches first.
    """
    plan = program.plan
    step = plan.steps[k]
    stream = getattr(step, "stream", None)
    handle = 0
    if stream is not None:
        if plan.streams[stream].is_created_by_step:
            return None
        handle = int(program.streams[stream])
    op = _in_stream(program, k, step, handle)
    if op is None:
        op = _on_host(program, step, handle)
        is_waiting = not isinstance(step, st.QueryStream | st.QueryEvent | st.HostWork)
    else:
        is_waiting = op[0] == Kind.PLAIN_FREE or (isinstance(step, st.Memcpy) and step.is_pageable)
    return None if is_waiting and program.is_ahead else op


def _in_stream(program: Program, k: int, step: st.Step, stream: int) -> Op | None:
    row = program.plan.case.row
    match step:
        case st.Alloc() if isinstance(row, AttributeSet):
            return (Kind.POOL_ALLOC, step.buffer, step.size, int(program.pool), stream)
        case st.Alloc() if row is Baseline.CUDAMALLOC:
            return (Kind.PLAIN_ALLOC, step.buffer, step.size)
        case st.Free() if isinstance(row, AttributeSet):
            return (Kind.POOL_FREE, step.buffer, stream)
        case st.Free() if row is Baseline.CUDAMALLOC:
            return (Kind.PLAIN_FREE, step.buffer)
        case st.Launch() | st.Fill() | st.Check():
            packed = program.packed[k]
            grid = (packed.blocks, packed.threads, packed.shared)
            return (Kind.LAUNCH, int(packed.function), *grid, stream, packed.parameters)
        case st.Memcpy():
            return (_COPIES[step.kind], step.dst, step.src, step.size, stream)
        case st.Memset():
            return (Kind.SET, step.buffer, step.value, step.size, stream)
        case st.Record():
            return (Kind.RECORD, int(program.events[step.event]), stream)
        case st.Wait():
            return (Kind.WAIT, stream, int(program.events[step.event]))
        case st.LaunchGraph():
            return (Kind.LAUNCH_GRAPH, int(program.graphs[step.graph]), stream)
        case _:
            return None


def _on_host(program: Program, step: st.Step, stream: int) -> Op | None:
    match step:
        case st.SyncStream():
            return (Kind.SYNC_STREAM, stream)
        case st.SyncEvent():
            return (Kind.SYNC_EVENT, int(program.events[step.event]))
        case st.SyncDevice():
            return (Kind.SYNC_DEVICE,)
        case st.QueryStream():
            return (Kind.QUERY_STREAM, stream)
        case st.QueryEvent():
            return (Kind.QUERY_EVENT, int(program.events[step.event]))
        case st.HostWork():
            return (Kind.HOST_WORK, step.duration_ns)
        case _:
            return None
