"""The parent's side of the CUDA backend, with workers that misbehave; needs no GPU."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.domain import BackendKind, Pass, Status
from poolbench.errors import DeviceFailed
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import Trace
from tests.cuda.plans import make_plan, row

PLAN = make_plan([st.HostWork(duration_ns=1000)], row=row("111"))
SLOW = make_plan([st.HostWork(duration_ns=2000)], row=row("111"))
DEADLY = make_plan([st.HostWork(duration_ns=3000)], row=row("111"))
STICKY = make_plan([st.HostWork(duration_ns=4000)], row=row("111"))


def _trace(plan: Plan, pid: int) -> Trace:
    return Trace(
        case=plan.case,
        backend=BackendKind.CUDA,
        measured=Pass.TIMED,
        repetition=1,
        status=Status.OK,
        reason=str(pid),
        makespan_ns=np.array([5]),
        host_ns=np.array([4]),
    )


def answering(connection: Connection, ordinal: int) -> None:
    """Answers as a worker does; what a plan does to it is told by its only step."""
    connection.send(("ready", None))
    while True:
        request = connection.recv()
        if request[0] == "close":
            return
        plan = request[1]
        if plan == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        if plan == SLOW:
            time.sleep(60)
        connection.send(("trace", _trace(plan, os.getpid()), plan == STICKY))
        if plan == STICKY:
            return


def refusing(connection: Connection, ordinal: int) -> None:
    connection.send(("failed", "no such device"))


def stillborn(connection: Connection, ordinal: int) -> None:
    os._exit(7)


def run(backend: CudaBackend, plan: Plan) -> Trace:
    return backend.run(plan, measured=Pass.TIMED, repetition=1)


def test_one_worker_serves_all_runs() -> None:
    """The worker is kept from run to run, and ends with the backend."""
    backend = CudaBackend(worker=answering)
    first, second = run(backend, PLAN), run(backend, PLAN)
    backend.close()
    assert first.status is Status.OK
    assert first.reason == second.reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.reason), 0)


def test_renewed_workers_owe_nothing_to_earlier_runs() -> None:
    """A worker that has run something is replaced; a fresh one is kept."""
    backend = CudaBackend(worker=answering)
    try:
        first = run(backend, PLAN)
        backend.renew()
        backend.renew()
        second, third = run(backend, PLAN), run(backend, PLAN)
    finally:
        backend.close()
    assert first.reason != second.reason == third.reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.reason), 0)


def test_a_worker_that_dies_costs_one_run() -> None:
    """The run has a status and says which signal; the next one has a fresh worker."""
    backend = CudaBackend(worker=answering)
    try:
        before = run(backend, PLAN)
        lost = run(backend, DEADLY)
        after = run(backend, PLAN)
    finally:
        backend.close()
    assert lost.status is Status.ERROR
    assert "signal 9" in lost.reason
    assert (lost.makespan_ns == -1).all()
    assert after.status is Status.OK
    assert after.reason != before.reason


def test_a_worker_that_hangs_is_killed() -> None:
    """A run over the time limit is a timeout, and its worker is gone."""
    backend = CudaBackend(time_limit_s=0.5, worker=answering)
    try:
        before = run(backend, PLAN)
        lost = run(backend, SLOW)
    finally:
        backend.close()
    assert lost.status is Status.TIMEOUT
    with pytest.raises(ProcessLookupError):
        os.kill(int(before.reason), 0)


def test_a_lost_context_gets_a_fresh_worker() -> None:
    """A worker whose context is lost answers once more and is replaced."""
    backend = CudaBackend(worker=answering)
    try:
        sticky = run(backend, STICKY)
        after = run(backend, PLAN)
    finally:
        backend.close()
    assert sticky.status is Status.OK
    assert after.reason != sticky.reason


@pytest.mark.parametrize(
    ("worker", "words"), [(refusing, "no such device"), (stillborn, "exit code 7")]
)
def test_a_worker_that_cannot_start_ends_the_run(worker: object, words: str) -> None:
    """Without a device there is nothing to go on with: the reason is in the error."""
    backend = CudaBackend(worker=worker)  # type: ignore[arg-type]
    with pytest.raises(DeviceFailed, match=words):
        run(backend, PLAN)
    backend.close()


def test_nothing_is_started_before_the_first_run(tmp_path: Path) -> None:
    """Making a backend costs no process."""
    CudaBackend(worker=stillborn).close()
