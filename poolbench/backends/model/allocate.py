"""`alloc` and `free` by row: from the pool, by `cuMemAlloc`, or not at all.

Times are nanoseconds, sizes bytes.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

from poolbench.backends.model.host import Host
from poolbench.backends.model.ops import Op
from poolbench.backends.model.pool import Grant, Pool
from poolbench.backends.model.profile import MIB
from poolbench.backends.model.streams import Stream
from poolbench.domain import AttributeSet, Baseline, OnOom, Outcome
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE


class AllocationFailed(Exception):
    """Out of memory, and `on_oom` did not help."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class Allocator(Protocol):
    """`event_ns`: in the traced pass, when the timing event before the call can take its place."""

    @property
    def is_idle(self) -> bool:
        """The row has no allocations: its steps are left out."""
        ...

    def alloc(self, step: Alloc, row: int, event_ns: int, /) -> None: ...

    def free(self, step: Free, row: int, event_ns: int, /) -> None: ...


def make_allocator(host: Host) -> Allocator:
    if host.pool is not None:
        return _FromPool(host, host.pool)
    return _Plain(host)


class _Plain:
    """The baselines: buffers that exist already, or `cuMemAlloc` and `cuMemFree`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.is_idle = host.plan.case.row is Baseline.PREALLOCATED
        self._cold_ns = host.profile.host.plain_cold_ns

    def alloc(self, step: Alloc, row: int, _event_ns: int) -> None:
        host, costs = self._host, self._host.profile.host
        cost = self._cost(step.size, costs.plain_alloc_ns, costs.plain_alloc_ns_per_mib)
        host.now_ns += cost + self._cold_ns + self._clear_ns(step.size)
        self._cold_ns = 0
        address = host.plain.allocate(step.size)
        if address < 0:
            if host.plan.on_oom is OnOom.FAIL:
                _give_up(host, row)
            _recover(host, row)
            address = host.plain.allocate(step.size)
            if address < 0:
                _give_up(host, row)
        if step.size > host.profile.small_plain_size:
            _map_beside_copies(host, 1)
        host.addresses[step.buffer] = address
        if host.recording is not None:
            host.recording.allocated(row, address, Outcome.OUTSIDE_POOL, NONE)

    def free(self, step: Free, _row: int, _event_ns: int) -> None:
        """Waits for everything that runs on the device (measured with a held stream)."""
        host, costs = self._host, self._host.profile.host
        host.wait_for_all()
        host.plain.free(host.addresses[step.buffer])
        size = host.plan.buffers[step.buffer].size
        host.now_ns += self._cost(size, costs.plain_free_ns, costs.plain_free_ns_per_mib)

    def _clear_ns(self, size: int) -> int:
        """Memory that was given back is cleared before it is handed out again."""
        host = self._host
        if size <= host.plain.untouched:
            return 0
        return round(host.profile.host.clear_ns_per_mib * size / MIB)

    def _cost(self, size: int, call_ns: int, ns_per_mib: float) -> int:
        profile = self._host.profile
        if size <= profile.small_plain_size:
            return profile.host.small_plain_ns
        return call_ns + round(ns_per_mib * size / MIB)


class _FromPool:
    """`cuMemAllocFromPoolAsync` and `cuMemFreeAsync`."""

    is_idle = False

    def __init__(self, host: Host, pool: Pool) -> None:
        self._host = host
        self._pool = pool
        self._costs = host.profile.pool
        self._latency_ns = host.profile.device.command_latency_ns
        self._free_ns = host.profile.device.free_ns
        self._is_traced = host.recording is not None
        self._look_ns = self._costs.look_traced_ns if self._is_traced else self._costs.look_ns
        self._mark_ns = 0
        row = host.plan.case.row
        if isinstance(row, AttributeSet) and row.allow_opportunistic and not self._is_traced:
            self._mark_ns = self._costs.opportunistic_free_ns
        self._first_grow_ns = self._costs.first_grow_ns
        self._grow_ns_per_chunk = (
            self._costs.grow_ns_per_chunk
            if host.plan.leave_free is None
            else self._costs.grow_crowded_ns_per_chunk
        )

    def alloc(self, step: Alloc, row: int, event_ns: int) -> None:
        host = self._host
        stream = host.stream(step.stream)
        grant = self._attempt(step.size, stream)
        if grant.address < 0:
            if host.plan.on_oom is OnOom.FAIL:
                _give_up(host, row)
            _recover(host, row)
            grant = self._attempt(step.size, stream)
            if grant.address < 0:
                _give_up(host, row)
        host.addresses[step.buffer] = grant.address
        if grant.wait_for is not None or self._is_traced:
            op = host.new_mark(stream, row, self._latency_ns)
            self._depend(op, grant.wait_for)
            self._push(op, stream, event_ns)
        if host.recording is not None:
            host.recording.allocated(row, grant.address, grant.outcome, grant.reused_row)

    def _attempt(self, size: int, stream: Stream) -> Grant:
        """One call, with its cost."""
        host, costs = self._host, self._costs
        host.order_implicitly(stream)
        grant = self._pool.allocate(size, stream.number, stream.clock, host.now_ns)
        cost = float(costs.alloc_ns if grant.address >= 0 else costs.alloc_failed_ns)
        cost += costs.alloc_ns_per_mib * size / MIB + grant.n_looked * self._look_ns
        if grant.n_grown:
            cost += costs.grow_ns + grant.n_grown * self._grow_ns_per_chunk + self._first_grow_ns
            self._first_grow_ns = 0
        if grant.n_remapped and grant.address >= 0:
            cost += costs.remap_ns + grant.n_remapped * costs.remap_ns_per_chunk
        elif grant.address < 0:
            cost += grant.n_remapped * costs.remap_failed_ns_per_chunk
        host.now_ns += round(cost)
        if grant.n_grown:
            _map_beside_copies(host, grant.n_grown)
        return grant

    def _depend(self, op: Op, free: Op | None) -> None:
        if free is not None:
            others = op.dependency if isinstance(op.dependency, list) else []
            op.dependency = [free, *others] if others else free

    def free(self, step: Free, row: int, event_ns: int) -> None:
        host = self._host
        stream = host.stream(step.stream)
        size = host.plan.buffers[step.buffer].size
        cost = self._costs.free_ns + self._mark_ns
        host.now_ns += cost + round(self._costs.free_ns_per_mib * size / MIB)
        op = host.new_mark(stream, row, self._latency_ns, self._free_ns)
        self._pool.free(host.addresses[step.buffer], op)
        host.addresses[step.buffer] = NONE
        self._push(op, stream, event_ns)

    def _push(self, op: Op, stream: Stream, event_ns: int) -> None:
        host = self._host
        if host.recording is not None:
            op.event_ns = event_ns
            op.before_ns = op.after_ns = host.traced_ns
            host.recording.ops.append(op)
        host.device.push(stream, op)


def _map_beside_copies(host: Host, n_pieces: int) -> None:
    """Each piece that is mapped waits for its turn beside a copy to the host; other copies and
    kernels are not in the way (measured)."""
    turns_ns = host.now_ns + n_pieces * host.profile.host.copy_turn_ns
    host.catch_up_with(min(host.device.d2h_end_ns(), turns_ns))


def _note_failure(host: Host, row: int) -> None:
    host.n_out_of_memory += 1
    if host.recording is not None:
        host.recording.n_failures[row] += 1


def _give_up(host: Host, row: int) -> NoReturn:
    _note_failure(host, row)
    if host.recording is not None:
        host.recording.allocated(row, NONE, Outcome.OUT_OF_MEMORY, NONE)
    raise AllocationFailed(row)


def _recover(host: Host, row: int) -> None:
    """What the program does before it tries again."""
    _note_failure(host, row)
    host.wait_for_all()
    if host.plan.on_oom is OnOom.TRIM_RETRY and host.pool is not None:
        host.now_ns += host.profile.pool.trim_ns
        host.charge_release(host.pool.trim(0))
