"""The process that talks to the GPU: a hang, a crash or a sticky error costs one case, no results.

The parent sends `("run", plan, measured, repetition)`, `("environment",)` or `("close",)` over a
pipe and receives one answer for each.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29


def _die_with_parent() -> None:
    """Linux: the kernel kills this process when its parent is gone, even inside a driver call."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wake_up_in_time() -> None:
    """Linux lets sleeping threads oversleep by 50 us unless told not to; those that the driver
    makes for host functions inherit this."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)


def serve(connection: Connection, ordinal: int, *, has_ranges: bool = False) -> None:
    """Answers until told to close, until the parent is gone, or until the context is lost.

    `has_ranges`: runs are marked for a profiler.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _die_with_parent()
    _wake_up_in_time()
    os.environ.setdefault("CUDA_MODULE_LOADING", "EAGER")
    from poolbench.backends.cuda.burst import NoCompiler
    from poolbench.backends.cuda.driver import CompileError, DriverError
    from poolbench.backends.cuda.runner import Runner

    try:
        runner = Runner(ordinal, has_ranges=has_ranges)
    except (DriverError, CompileError, NoCompiler, RuntimeError) as fault:
        connection.send(("failed", str(fault)))
        return
    connection.send(("ready", None))
    while not runner.is_dead:
        try:
            request: tuple[Any, ...] = connection.recv()
        except EOFError:
            return
        match request:
            case ("run", plan, measured, repetition):
                trace = runner.run(plan, measured=measured, repetition=repetition)
                connection.send(("trace", trace, runner.is_dead))
            case ("environment",):
                connection.send(("environment", runner.environment(), runner.is_dead))
            case _:
                return
