"""One simulated run: everything is made afresh, iterated, and turned into a result.

Times are nanoseconds on the host's axis, 0 when the first iteration begins; sizes bytes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from poolbench.backends.model.baselines import PlainMemory, lasting_addresses
from poolbench.backends.model.graph_memory import graph_marks
from poolbench.backends.model.host import Host
from poolbench.backends.model.issue import Issuer
from poolbench.backends.model.memory import Memory
from poolbench.backends.model.ops import Op
from poolbench.backends.model.pool import Pool
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.recording import Recording
from poolbench.backends.model.streams import NOTHING_KNOWN
from poolbench.backends.model.work import unpredictable
from poolbench.domain import AttributeSet, Outcome, Status
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Check
from poolbench.trace import NONE, LatchOpening, StepTrace

_PRIMING = 0
"""Number of the stream that primes the pool; the plan's streams count from 1."""


@dataclass(slots=True)
class Result:
    """What a run came to; the fields are those of a `Trace`."""

    makespan_ns: list[int]
    host_ns: list[int]
    status: Status = Status.OK
    reason: str = ""
    reserved_high: int = 0
    used_high: int = 0
    reserved_end: int = 0
    used_end: int = 0
    graph_reserved_high: int = 0
    graph_used_high: int = 0
    n_out_of_memory: int = 0
    failed_row: int = NONE
    n_corrupt: dict[int, int] = field(default_factory=dict)
    latches: list[LatchOpening] = field(default_factory=list)
    steps: StepTrace | None = None


def simulate(plan: Plan, profile: DeviceProfile, *, is_traced: bool) -> Result:
    """Runs `plan` once."""
    result = Result([NONE] * plan.n_iterations, [NONE] * plan.n_iterations)
    reason = unpredictable(plan)
    if reason is not None:
        result.status, result.reason = Status.UNSUPPORTED, reason
        return result
    plain = PlainMemory(profile.memory_free, profile.plain_granule)
    addresses = lasting_addresses(plan, plain)
    if addresses is None or (plan.leave_free or 0) > plain.room:
        result.status = Status.OUT_OF_MEMORY
        result.reason = "outside the steps: no room on the device for its buffers or leave_free"
        return result
    if plan.leave_free is not None:
        plain.room = plain.untouched = plan.leave_free
    pool = _make_pool(plan, profile, plain.room)
    if pool is not None and plan.prime and not _prime(pool, plan.prime):
        result.status = Status.OUT_OF_MEMORY
        result.reason = "outside the steps: the pool cannot be primed with so much memory"
        return result
    host = Host(
        plan,
        profile,
        pool=pool,
        plain=plain,
        addresses=addresses,
        memory=Memory() if any(isinstance(step, Check) for step in plan.steps) else None,
        recording=Recording(plan.n_iterations * plan.n_steps) if is_traced else None,
    )
    with _no_collection():
        issuer = Issuer(host)
        for iteration in range(plan.n_iterations):
            _iterate(host, issuer, iteration, result)
            if result.status is not Status.OK:
                break
        host.engine.run_out()
    _finish(host, issuer, result)
    return result


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hundreds of thousands of ops that all live to the end: nothing to collect, much to search."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _make_pool(plan: Plan, profile: DeviceProfile, room: int) -> Pool | None:
    row = plan.case.row
    if not isinstance(row, AttributeSet):
        return None
    return Pool(
        row,
        profile,
        max_size=plan.max_size,
        release_threshold=plan.release_threshold,
        room=room,
    )


def _prime(pool: Pool, size: int) -> bool:
    """A block that is allocated, freed and synchronised before the clock starts."""
    grant = pool.allocate(size, _PRIMING, NOTHING_KNOWN, 0)
    if grant.address < 0:
        return False
    free = Op(0, _PRIMING, NONE, 0, None, 0)
    free.done_ns = 0
    pool.free(grant.address, free)
    pool.host_knows(NOTHING_KNOWN, 0)
    pool.reset_marks()
    return True


def _iterate(host: Host, issuer: Issuer, iteration: int, result: Result) -> None:
    costs, pool = host.profile.device, host.pool
    begun = host.now_ns
    start_arrives = host.open_iteration()
    failed_row = issuer.issue(iteration)
    issued = host.now_ns
    host.before_waiting()
    if failed_row != NONE:
        result.status, result.failed_row = Status.OUT_OF_MEMORY, failed_row
        host.latches.open_all(host.now_ns)
    end_arrives = host.end_event()
    if pool is not None:
        result.reserved_high, result.used_high = pool.reserved_high, pool.used_high
        result.reserved_end, result.used_end = pool.reserved, pool.used
        host.now_ns += 4 * host.profile.pool.read_ns
    over = host.is_over(0) + costs.dependency_ns
    host.wait_for_all()
    if failed_row == NONE:
        start = max(start_arrives, host.ahead_opened_ns())
        result.makespan_ns[iteration] = max(over, end_arrives) - start
        result.host_ns[iteration] = issued - begun


def _finish(host: Host, issuer: Issuer, result: Result) -> None:
    plan, recording = host.plan, host.recording
    result.graph_reserved_high, result.graph_used_high = graph_marks(
        plan, host.profile.plain_granule
    )
    result.n_out_of_memory = host.n_out_of_memory
    result.latches = sorted(
        host.latches.openings, key=lambda one: (one.opened_ns, one.closed_ns, one.row, one.stream)
    )
    for row, access in issuer.checks:
        result.n_corrupt[row] = access.n_different
    n_bytes = sum(result.n_corrupt.values())
    if n_bytes and result.status is Status.OK:
        result.status = Status.CORRUPTED
        result.reason = f"{n_bytes} bytes differ from what was filled in"
    if recording is None:
        return
    if plan.slots:
        n_rows = plan.n_iterations * plan.n_steps
        for row in range(n_rows):
            step = plan.steps[row % plan.n_steps]
            if isinstance(step, Alloc):
                address = host.addresses[step.buffer]
                recording.allocated(row, address, Outcome.OUTSIDE_POOL, NONE)
    result.steps = recording.steps()
