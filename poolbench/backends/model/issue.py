"""The steps as the host issues them: one handler for each kind, arguments looked up beforehand.

Every handler moves the host's clock by what its call costs and hands the device an op.  Times are
nanoseconds, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, assert_never

from poolbench.backends.model.allocate import AllocationFailed, Allocator, make_allocator
from poolbench.backends.model.host import Host
from poolbench.backends.model.memory import Access
from poolbench.backends.model.ops import Footprint, Op, Work
from poolbench.backends.model.streams import Recorded
from poolbench.backends.model.work import copy_ns, footprint, memory_footprint, memset_ns
from poolbench.domain import CopyKind, HostCall
from poolbench.plan import steps as st
from poolbench.trace import NONE

Handler = Callable[[int], None]
"""Issues a step as this row of the trace."""


class _Kind(NamedTuple):
    """What the traced pass does around a call: two timing events, two statistics of the pool."""

    is_bracketed: bool
    reads_pool: bool


_READS_POOL = (
    st.Alloc, st.Free, st.Trim, st.Sample, st.SyncStream, st.SyncEvent, st.SyncDevice
)  # fmt: skip

_WAITING_CALLS = (HostCall.HOST_FREE, HostCall.MODULE_LOAD)
"""Calls that wait for all work of the device (measured)."""

_BRACKETED = (st.Memcpy, st.Memset)
_KERNELS = (st.Launch, st.Fill, st.Check)
_NEVER_COLD = (st.HostWork, st.Sample)


class Issuer:
    """Issues one plan for one host, iteration by iteration."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._plan = host.plan
        self._costs = host.profile.host
        self._latency_ns = host.profile.device.command_latency_ns
        self._launch_latency_ns = host.profile.device.launch_latency_ns
        self._launch_limit = host.profile.n_launches_queued
        self._allocator: Allocator = make_allocator(host)
        self._bracket_begin_ns = 0
        self.checks: list[tuple[int, Access]] = []
        self._prepared = [
            (index, handler)
            for index, step in enumerate(self._plan.steps)
            if (handler := self._handler(step)) is not None
        ]
        self._cold_ns = self._first_calls()

    def _first_calls(self) -> dict[int, int]:
        """Step -> what its call costs more, because it is the first of its kind."""
        found: dict[int, int] = {}
        seen: set[type] = set()
        steps = self._plan.steps
        for index, _ in self._prepared:
            kind = type(steps[index])
            if kind in seen:
                continue
            is_first_kernel = kind in _KERNELS and not seen.intersection(_KERNELS)
            seen.add(kind)
            if kind not in _NEVER_COLD:
                costs = self._costs
                found[index] = costs.cold_launch_ns if is_first_kernel else costs.cold_ns
        return found

    def issue(self, iteration: int) -> int:
        """Issues all steps; the row of the allocation that failed for good, else -1."""
        first = iteration * self._plan.n_steps
        try:
            if self._host.recording is not None:
                self._issue_traced(first)
            else:
                self._issue_timed(first)
        except AllocationFailed as failed:
            return failed.row
        return NONE

    def _issue_timed(self, first: int) -> None:
        host, heap, run_until = self._host, self._host.engine.heap, self._host.engine.run_until
        step_ns, pace_ns = self._costs.step_ns, self._plan.pace_ns
        cold_ns = {} if first else self._cold_ns
        due = 0
        for index, handler in self._prepared:
            if pace_ns:
                due = self._pace(due)
            if index in cold_ns:
                host.now_ns += cold_ns[index]
            if heap and heap[0][0] <= host.now_ns:
                run_until(host.now_ns)
            handler(first + index)
            host.now_ns += step_ns

    def _issue_traced(self, first: int) -> None:
        host, recording = self._host, self._host.recording
        assert recording is not None
        pool, read_ns = host.pool, 2 * host.profile.pool.read_ns
        begin, end = recording.host_begin, recording.host_end
        cold_ns = {} if first else self._cold_ns
        steps, kinds = self._plan.steps, self._kinds()
        due = 0
        for index, handler in self._prepared:
            row = first + index
            step = steps[index]
            is_bracketed, reads_pool = kinds[type(step)]
            if type(step) is st.Launch:
                is_bracketed = isinstance(step.work, st.Custom)
            if self._plan.pace_ns:
                due = self._pace(due)
            if is_bracketed:
                host.now_ns += self._costs.timing_record_ns
                self._bracket_begin_ns = host.now_ns + self._latency_ns
            begin[row] = host.now_ns
            if index in cold_ns:
                host.now_ns += cold_ns[index]
            host.engine.run_until(host.now_ns)
            try:
                handler(row)
            finally:
                end[row] = host.now_ns
                if reads_pool and pool is not None:
                    recording.reserved[row], recording.used[row] = pool.reserved, pool.used
            if is_bracketed:
                host.now_ns += self._costs.timing_record_ns
            if reads_pool and pool is not None:
                host.now_ns += read_ns
            host.now_ns += self._costs.step_ns

    def _pace(self, due: int) -> int:
        host = self._host
        host.now_ns = max(host.now_ns, due)
        return host.now_ns + self._plan.pace_ns

    def _kinds(self) -> dict[type, _Kind]:
        """A launch is bracketed only if its kernel has no stamps of its own."""
        has_pool = self._host.pool is not None
        return {
            kind: _Kind(
                is_bracketed=kind in _BRACKETED or (has_pool and kind in (st.Alloc, st.Free)),
                reads_pool=kind in _READS_POOL,
            )
            for kind in st.KIND_NAMES
        }

    # --- what a step does -------------------------------------------------------------------

    def _handler(self, step: st.Step) -> Handler | None:
        """`None` for steps that a baseline leaves out."""
        host, costs, profile = self._host, self._costs, self._host.profile
        match step:
            case st.Alloc():
                if self._allocator.is_idle:
                    return None
                return lambda row: self._allocator.alloc(step, row, self._bracket_begin_ns)
            case st.Free():
                if self._allocator.is_idle:
                    return None
                return lambda row: self._allocator.free(step, row, self._bracket_begin_ns)
            case st.Launch():
                found = footprint(step, self._plan.buffers, self._plan.kernels, profile)
                is_traced = isinstance(step.work, st.Custom)
                if host.memory is not None and isinstance(step.work, st.Touch):
                    return partial(self._touch, step.stream, step.work, found)
                return partial(self._launch, step.stream, found, None, is_traced)
            case st.Record():
                return partial(self._record, step.stream, step.event)
            case st.Wait():
                return partial(self._wait, step.stream, step.event)
            case st.Fill() | st.Check():
                return partial(self._pattern, step, memory_footprint(step.size, profile))
            case st.Memcpy():
                return partial(self._memcpy, step, copy_ns(step, profile))
            case st.Memset():
                return partial(self._memset, step, memset_ns(step.size, profile))
            case st.SyncStream():
                return partial(self._sync_stream, step.stream)
            case st.SyncEvent():
                return partial(self._sync_event, step.event)
            case st.SyncDevice():
                return lambda _row: host.wait_for_all()
            case st.QueryStream() | st.QueryEvent():
                return partial(self._spend, costs.query_ns)
            case st.HostWork():
                return partial(self._spend, step.duration_ns)
            case st.CallDriver():
                return partial(self._call, step.call, costs.of_call(step.call))
            case st.Sample():
                return partial(self._spend, costs.sample_ns)
            case st.Hold():
                return partial(self._hold, step)
            case st.Release():
                return partial(self._release, step)
            case st.Trim():
                return None if host.pool is None else partial(self._trim, step.keep)
            case st.CreateStream():
                return partial(self._create, step.stream)
            case st.DestroyStream():
                return partial(self._destroy, step.stream)
            case _:
                assert_never(step)

    def _spend(self, duration_ns: int, _row: int) -> None:
        self._host.now_ns += duration_ns

    def _call(self, call: HostCall, duration_ns: int, _row: int) -> None:
        host = self._host
        host.before_waiting()
        if call in _WAITING_CALLS:
            host.wait_out()
        host.now_ns += duration_ns

    # --- work -------------------------------------------------------------------------------

    def _launch(
        self, index: int, found: Footprint, access: Access | None, is_traced: bool, row: int
    ) -> None:
        host = self._host
        stream = host.stream(index)
        while stream.n_queued >= self._launch_limit:
            host.now_ns = max(host.now_ns, host.engine.step())
        host.now_ns += self._costs.launch_ns
        op = host.new_work(stream, row, self._launch_latency_ns, found.duration_ns)
        op.kernel = found
        op.access = access
        if is_traced:
            self._bracket(op)
        if host.recording is not None:
            host.recording.ops.append(op)
        stream.n_queued += 1
        host.device.push(stream, op)

    def _bracket(self, op: Op) -> None:
        op.event_ns = self._bracket_begin_ns
        op.before_ns = op.after_ns = self._host.traced_ns

    def _touch(self, index: int, work: st.Touch, found: Footprint, row: int) -> None:
        """A kernel whose writes matter to what a check finds."""
        addresses, buffers = self._host.addresses, self._plan.buffers
        writes = tuple((addresses[buffer], buffers[buffer].size) for buffer in work.writes)
        self._launch(index, found, Access(writes=writes), False, row)

    def _pattern(self, step: st.Fill | st.Check, found: Footprint, row: int) -> None:
        access = None
        if self._host.memory is not None:
            where = ((self._host.addresses[step.buffer], step.size),)
            is_check = isinstance(step, st.Check)
            access = Access(writes=where, seed=step.seed, is_check=is_check)
            if is_check:
                self.checks.append((row, access))
        self._launch(step.stream, found, access, False, row)

    def _memcpy(self, step: st.Memcpy, duration_ns: int, row: int) -> None:
        host = self._host
        if step.is_pageable:
            host.before_waiting()
        host.now_ns += self._costs.memcpy_ns
        engine = {
            CopyKind.H2D: host.device.h2d,
            CopyKind.D2H: host.device.d2h,
            CopyKind.D2D: host.device.d2d,
        }[step.kind]
        source, target = host.addresses[step.src], host.addresses[step.dst]
        access = None
        if host.memory is not None:
            access = Access(writes=((target, step.size),), source=source)
        op = self._move(step.stream, duration_ns, access, row)
        op.engine = engine
        host.device.push(host.stream(step.stream), op)
        if step.is_pageable:
            done = host.engine.run_until_done(op)
            host.now_ns = max(host.now_ns, done + op.after_ns)

    def _memset(self, step: st.Memset, duration_ns: int, row: int) -> None:
        host = self._host
        host.now_ns += self._costs.memset_ns
        access = None
        if host.memory is not None:
            access = Access(writes=((host.addresses[step.buffer], step.size),))
        op = self._move(step.stream, duration_ns, access, row)
        host.device.push(host.stream(step.stream), op)

    def _move(self, index: int, duration_ns: int, access: Access | None, row: int) -> Work:
        host = self._host
        stream = host.stream(index)
        op = host.new_work(stream, row, self._launch_latency_ns, duration_ns)
        op.access = access
        stream.n_queued += 1
        if host.recording is not None:
            self._bracket(op)
            host.recording.ops.append(op)
        return op

    # --- order ------------------------------------------------------------------------------

    def _record(self, index: int, event: int, row: int) -> None:
        host = self._host
        stream = host.stream(index)
        host.now_ns += self._costs.record_ns
        op = host.new_mark(stream, row, self._latency_ns)
        host.events[event] = Recorded(op, stream.clock)
        host.device.push(stream, op)

    def _wait(self, index: int, event: int, row: int) -> None:
        host = self._host
        stream = host.stream(index)
        host.now_ns += self._costs.wait_ns
        recorded = host.events[event]
        if recorded is None:
            return  # an event that was never recorded counts as complete
        op = host.new_mark(stream, row, self._latency_ns)
        others = op.dependency if isinstance(op.dependency, list) else []
        op.dependency = [recorded.op, *others] if others else recorded.op
        stream.learn(recorded.op.stream_id, recorded.clock, recorded.op.seq)
        host.device.push(stream, op)

    def _sync_stream(self, index: int, _row: int) -> None:
        self._host.wait_for_stream(index)

    def _sync_event(self, event: int, _row: int) -> None:
        recorded = self._host.events[event]
        if recorded is None:
            self._host.wait_for_nothing()
        else:
            self._host.wait_for(recorded.op, recorded.clock)

    def _hold(self, step: st.Hold, row: int) -> None:
        host = self._host
        host.now_ns += self._costs.hold_ns
        host.push_hold(host.stream(step.stream), step.stream, step.ticket, row)
        host.latches.close(step.stream, step.ticket, row, host.now_ns)

    def _release(self, step: st.Release, _row: int) -> None:
        host = self._host
        host.latches.open(step.stream, step.ticket, host.now_ns)
        host.now_ns += self._costs.release_ns

    def _trim(self, keep: int, _row: int) -> None:
        host = self._host
        assert host.pool is not None
        host.now_ns += host.profile.pool.trim_ns
        host.charge_release(host.pool.trim(keep))

    def _create(self, index: int, _row: int) -> None:
        self._host.now_ns += self._costs.create_stream_ns
        self._host.create_stream(index)

    def _destroy(self, index: int, _row: int) -> None:
        self._host.now_ns += self._costs.destroy_stream_ns
        self._host.destroy_stream(index)
