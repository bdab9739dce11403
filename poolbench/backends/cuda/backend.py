"""The CUDA backend as the measuring loop sees it: plans go to a worker process, traces come back.

The parent holds the time limit.  A worker that hangs is killed, one that dies is replaced; either
costs the run in question, which gets a status and a reason.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from poolbench.backends.cuda.worker import serve
from poolbench.domain import BackendKind, Pass, Status
from poolbench.errors import DeviceFailed
from poolbench.plan.plan import Plan
from poolbench.results.environment import Environment
from poolbench.trace import NONE, Trace

_START_LIMIT_S = 60.0
_CLOSE_LIMIT_S = 10.0


class _Lost(Exception):
    """The worker is gone or had to be killed."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class CudaBackend:
    """Runs plans on one GPU; `time_limit_s` bounds a single run.

    `worker` is the function of the worker process, which answers as `worker.serve` does.
    """

    def __init__(
        self,
        device: int = 0,
        time_limit_s: float = 60.0,
        worker: Callable[[Connection, int], None] = serve,
    ) -> None:
        self._ordinal = device
        self._worker = worker
        self._time_limit_s = time_limit_s
        self._process: SpawnProcess | None = None
        self._is_used = False
        self._connection: Connection | None = None

    @property
    def kind(self) -> BackendKind:
        return BackendKind.CUDA

    def environment(self) -> Environment:
        try:
            answer = self._ask(("environment",), _START_LIMIT_S)
        except _Lost as lost:
            raise DeviceFailed(f"the GPU worker did not answer: {lost.reason}") from None
        environment: Environment = answer
        return environment

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        self._is_used = True
        try:
            answer = self._ask(("run", plan, measured, repetition), self._time_limit_s)
        except _Lost as lost:
            return _lost_trace(plan, measured, repetition, lost)
        trace: Trace = answer
        return trace

    def renew(self) -> None:
        """A new worker, unless the present one has not run anything yet."""
        if self._is_used:
            self.close()

    def close(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # the worker may be gone already
                self._connection.send(("close",))
        if self._process is not None:
            self._process.join(_CLOSE_LIMIT_S)
        self._drop()

    # --- the worker -------------------------------------------------------------------------

    def _ask(self, request: tuple[Any, ...], limit_s: float) -> Any:
        connection = self._connection or self._start()
        try:
            connection.send(request)
            if not connection.poll(limit_s):
                self._drop()
                raise _Lost(Status.TIMEOUT, f"no answer within {limit_s:g} s; worker killed")
            _, answer, is_dead = connection.recv()
        except (EOFError, OSError):
            code = self._drop()
            raise _Lost(Status.ERROR, f"the GPU worker died ({_how(code)})") from None
        if is_dead:
            self._drop()
        return answer

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=self._worker, args=(theirs, self._ordinal), name="poolbench-gpu", daemon=True
        )
        process.start()
        theirs.close()
        self._process, self._connection = process, ours
        try:
            if not ours.poll(_START_LIMIT_S):
                self._drop()
                raise DeviceFailed(f"the GPU worker did not start within {_START_LIMIT_S:g} s")
            kind, reason = ours.recv()
        except (EOFError, OSError):
            code = self._drop()
            raise DeviceFailed(f"the GPU worker died at its start ({_how(code)})") from None
        if kind != "ready":
            self._drop()
            raise DeviceFailed(f"the GPU cannot be used: {reason}")
        return ours

    def _drop(self) -> int | None:
        """Ends the worker for certain; its exit code."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        self._is_used = False
        if connection is not None:
            connection.close()
        if process is None:
            return None
        process.join(1.0)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode


def _how(code: int | None) -> str:
    if code is None:
        return "unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _lost_trace(plan: Plan, measured: Pass, repetition: int, lost: _Lost) -> Trace:
    nothing = np.full(plan.n_iterations, NONE, dtype=np.int64)
    return Trace(
        case=plan.case,
        backend=BackendKind.CUDA,
        measured=measured,
        repetition=repetition,
        status=lost.status,
        reason=lost.reason,
        makespan_ns=nothing,
        host_ns=nothing.copy(),
    )
