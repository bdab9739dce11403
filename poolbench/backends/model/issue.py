"""The steps as the host issues them: one action for each kind, what it takes looked up beforehand.

Every action moves the host's clock by what its call costs and hands the device an op.  Times are
nanoseconds, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from poolbench.backends.model.allocate import AllocationFailed, Allocator, make_allocator
from poolbench.backends.model.graphs import GraphLauncher
from poolbench.backends.model.host import Host
from poolbench.backends.model.memory import Access, access_of
from poolbench.backends.model.ops import Footprint, Op, Work
from poolbench.backends.model.streams import Recorded, Stream
from poolbench.backends.model.work import copy_ns, footprint, memory_footprint, memset_ns
from poolbench.domain import HostCall
from poolbench.plan import steps as st
from poolbench.trace import NONE

Action = Callable[[Any, Any, int], None]
"""Issues a step, with what was looked up for it, as this row of the trace."""


class _Kind(NamedTuple):
    """What the traced pass does around a call: two timing events, two statistics of the pool."""

    is_bracketed: bool
    reads_pool: bool


_READS_POOL = (
    st.Alloc, st.Free, st.Trim, st.Sample, st.SyncStream, st.SyncEvent, st.SyncDevice
)  # fmt: skip

_WAITING_CALLS = (HostCall.HOST_FREE, HostCall.MODULE_LOAD)
"""Calls that wait for all work of the device (measured)."""

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
        self._spins: dict[tuple[int, int], Footprint] = {}
        self._graphs = GraphLauncher(host, self._look_up)
        self._prepared = self._prepare()
        self._cold_ns = self._first_calls()

    def _first_calls(self) -> dict[int, int]:
        """Step -> what its call costs more, because it is the first of its kind."""
        found: dict[int, int] = {}
        seen: set[type] = set()
        n_kinds = len(set(map(type, self._plan.steps)))
        for index, _, step, _ in self._prepared:
            kind = type(step)
            if kind in seen:
                if len(seen) == n_kinds:
                    break
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
        for index, action, step, found in self._prepared:
            if pace_ns:
                due = self._pace(due)
            if index in cold_ns:
                host.now_ns += cold_ns[index]
            if heap and heap[0][0] <= host.now_ns:
                run_until(host.now_ns)
            action(step, found, first + index)
            host.now_ns += step_ns

    def _issue_traced(self, first: int) -> None:
        host, recording = self._host, self._host.recording
        assert recording is not None
        pool, read_ns = host.pool, 2 * host.profile.pool.read_ns
        begin, end = recording.host_begin, recording.host_end
        cold_ns = {} if first else self._cold_ns
        kinds = self._kinds()
        due = 0
        for index, action, step, found in self._prepared:
            row = first + index
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
                action(step, found, row)
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
                is_bracketed=kind in st.BRACKETED_STEPS
                or (has_pool and kind in (st.Alloc, st.Free)),
                reads_pool=kind in _READS_POOL,
            )
            for kind in st.KIND_NAMES
        }

    # --- what a step does -------------------------------------------------------------------

    def _prepare(self) -> list[tuple[int, Action, Any, Any]]:
        """(index, action, step, what was looked up) of the steps that are issued."""
        actions = self._actions()
        prepared = []
        for index, step in enumerate(self._plan.steps):
            action = actions.get(type(step))
            if action is not None:
                prepared.append((index, action, step, self._look_up(step)))
        return prepared

    def _actions(self) -> Mapping[type, Action]:
        """Without those that a baseline leaves out."""
        actions: dict[type, Action] = {
            st.Launch: self._launch_step,
            st.Record: self._record,
            st.Wait: self._wait,
            st.Fill: self._pattern,
            st.Check: self._pattern,
            st.Memcpy: self._memcpy,
            st.Memset: self._memset,
            st.SyncStream: self._sync_stream,
            st.SyncEvent: self._sync_event,
            st.SyncDevice: self._sync_device,
            st.QueryStream: self._spend,
            st.QueryEvent: self._spend,
            st.HostWork: self._spend,
            st.Sample: self._spend,
            st.CallDriver: self._call,
            st.Callback: self._callback,
            st.LaunchGraph: self._launch_graph,
            st.Hold: self._hold,
            st.Release: self._release,
            st.CreateStream: self._create,
            st.DestroyStream: self._destroy,
        }
        if not self._allocator.is_idle:
            actions |= {st.Alloc: self._alloc, st.Free: self._free}
        if self._host.pool is not None:
            actions[st.Trim] = self._trim
        return actions

    def _look_up(self, step: st.Step) -> Footprint | int | None:
        """What a kernel occupies, how long a copy or a call takes."""
        profile = self._host.profile
        match step:
            case st.Alloc() | st.Free() | st.Record() | st.Wait() | st.LaunchGraph():
                return None
            case st.Launch():
                work = step.work
                if not isinstance(work, st.Spin):
                    return footprint(step, self._plan.buffers, self._plan.kernels, profile)
                key = (id(step.grid), work.duration_ns)  # the plan keeps its grids
                found = self._spins.get(key)
                if found is None:
                    found = footprint(step, self._plan.buffers, self._plan.kernels, profile)
                    self._spins[key] = found
                return found
            case st.Fill() | st.Check():
                return memory_footprint(step.size, profile)
            case st.Memcpy():
                return copy_ns(step, profile)
            case st.Memset():
                return memset_ns(step.size, profile)
            case st.QueryStream() | st.QueryEvent():
                return self._costs.query_ns
            case st.HostWork():
                return step.duration_ns
            case st.Sample():
                return self._costs.sample_ns
            case st.CallDriver():
                return self._costs.of_call(step.call)
            case st.Callback():
                return step.duration_ns + profile.device.callback_ns
            case _:
                return None

    def _spend(self, _step: st.Step, duration_ns: int, _row: int) -> None:
        self._host.now_ns += duration_ns

    def _call(self, step: st.CallDriver, duration_ns: int, _row: int) -> None:
        host = self._host
        host.before_waiting()
        if step.call in _WAITING_CALLS:
            host.wait_out()
        host.now_ns += duration_ns

    def _alloc(self, step: st.Alloc, _found: None, row: int) -> None:
        self._allocator.alloc(step, row, self._bracket_begin_ns)

    def _free(self, step: st.Free, _found: None, row: int) -> None:
        self._allocator.free(step, row, self._bracket_begin_ns)

    # --- work -------------------------------------------------------------------------------

    def _launch_step(self, step: st.Launch, found: Footprint, row: int) -> None:
        access, work = None, step.work
        if self._host.memory is not None and isinstance(work, st.Touch):
            access = access_of(step, self._host.addresses, self._plan.buffers)
        self._launch(step.stream, found, access, isinstance(work, st.Custom), row)

    def _launch(
        self, index: int, found: Footprint, access: Access | None, is_traced: bool, row: int
    ) -> None:
        host = self._host
        stream = host.stream(index)
        if stream.n_queued >= self._launch_limit:
            self._wait_for_room(stream)
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

    def _wait_for_room(self, stream: Stream) -> None:
        host = self._host
        while stream.n_queued >= self._launch_limit:
            host.now_ns = max(host.now_ns, host.engine.step())

    def _bracket(self, op: Op) -> None:
        op.event_ns = self._bracket_begin_ns
        op.before_ns = op.after_ns = self._host.traced_ns

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
        op = self._move(step, duration_ns, row)
        op.engine = host.device.copy_engine(step.kind)
        host.device.push(host.stream(step.stream), op)
        if step.is_pageable:
            done = host.engine.run_until_done(op)
            host.now_ns = max(host.now_ns, done + op.after_ns)

    def _memset(self, step: st.Memset, duration_ns: int, row: int) -> None:
        host = self._host
        host.now_ns += self._costs.memset_ns
        op = self._move(step, duration_ns, row)
        host.device.push(host.stream(step.stream), op)

    def _callback(self, step: st.Callback, duration_ns: int, row: int) -> None:
        """One thread of the driver serves all streams."""
        host = self._host
        host.now_ns += self._costs.callback_ns
        op = self._move(step, duration_ns, row)
        op.engine = host.device.callbacks
        host.device.push(host.stream(step.stream), op)

    def _launch_graph(self, step: st.LaunchGraph, _found: None, row: int) -> None:
        stream = self._host.stream(step.stream)
        self._wait_for_room(stream)
        self._graphs.launch(step, row)

    def _move(self, step: st.Memcpy | st.Memset | st.Callback, duration_ns: int, row: int) -> Work:
        host = self._host
        stream = host.stream(step.stream)
        op = host.new_work(stream, row, self._launch_latency_ns, duration_ns)
        if host.memory is not None:
            op.access = access_of(step, host.addresses, self._plan.buffers)
        stream.n_queued += 1
        if host.recording is not None:
            self._bracket(op)
            host.recording.ops.append(op)
        return op

    # --- order ------------------------------------------------------------------------------

    def _record(self, step: st.Record, _found: None, row: int) -> None:
        host = self._host
        stream = host.stream(step.stream)
        host.now_ns += self._costs.record_ns
        op = host.new_mark(stream, row, self._latency_ns)
        host.events[step.event] = Recorded(op, stream.clock)
        host.device.push(stream, op)

    def _wait(self, step: st.Wait, _found: None, row: int) -> None:
        host = self._host
        stream = host.stream(step.stream)
        host.now_ns += self._costs.wait_ns
        recorded = host.events[step.event]
        if recorded is None:
            return  # an event that was never recorded counts as complete
        op = host.new_mark(stream, row, self._latency_ns)
        others = op.dependency if isinstance(op.dependency, list) else []
        op.dependency = [recorded.op, *others] if others else recorded.op
        stream.learn(recorded.op.stream_id, recorded.clock, recorded.op.seq)
        host.device.push(stream, op)

    def _sync_stream(self, step: st.SyncStream, _found: None, _row: int) -> None:
        self._host.wait_for_stream(step.stream)

    def _sync_device(self, _step: st.SyncDevice, _found: None, _row: int) -> None:
        self._host.wait_for_all()

    def _sync_event(self, step: st.SyncEvent, _found: None, _row: int) -> None:
        recorded = self._host.events[step.event]
        if recorded is None:
            self._host.wait_for_nothing()
        else:
            self._host.wait_for(recorded.op, recorded.clock)

    def _hold(self, step: st.Hold, _found: None, row: int) -> None:
        host = self._host
        host.now_ns += self._costs.hold_ns
        host.push_hold(host.stream(step.stream), step.stream, step.ticket, row)
        host.latches.close(step.stream, step.ticket, row, host.now_ns)

    def _release(self, step: st.Release, _found: None, _row: int) -> None:
        host = self._host
        host.latches.open(step.stream, step.ticket, host.now_ns)
        host.now_ns += self._costs.release_ns

    def _trim(self, step: st.Trim, _found: None, _row: int) -> None:
        host = self._host
        assert host.pool is not None
        host.now_ns += host.profile.pool.trim_ns
        host.charge_release(host.pool.trim(step.keep))

    def _create(self, step: st.CreateStream, _found: None, _row: int) -> None:
        self._host.now_ns += self._costs.create_stream_ns
        self._host.create_stream(step.stream)

    def _destroy(self, step: st.DestroyStream, _found: None, _row: int) -> None:
        self._host.now_ns += self._costs.destroy_stream_ns
        self._host.destroy_stream(step.stream)
