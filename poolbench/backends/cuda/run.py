"""The state of one run: made, iterated, given back.  Lives in the worker process.

A `Run` makes everything but the `Device` afresh and gives it back whatever happened.
Times are nanoseconds, sizes bytes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.burst import bursts, shared_live
from poolbench.backends.cuda.calls import DriverCalls
from poolbench.backends.cuda.clock import Alignment, fresh_stamps
from poolbench.backends.cuda.device import STICKY, Device
from poolbench.backends.cuda.graphs import GraphMemory, Graphs
from poolbench.backends.cuda.issue import (
    StepFailed,
    TracedCall,
    host_columns,
    issue_timed,
    issue_traced,
)
from poolbench.backends.cuda.latch import Latches, Watchdog, queue_hold
from poolbench.backends.cuda.program import AHEAD, AllocationFailed, Call, Program
from poolbench.backends.cuda.recorder import Recorder, traced_calls
from poolbench.backends.cuda.rehearsal import rehearse
from poolbench.backends.cuda.resources import (
    destroy_streams,
    make_pool,
    make_streams,
    prime,
    reset_marks,
)
from poolbench.domain import AttributeSet, Issue, MemoryKind, Pass, Status
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, LatchOpening, StepTrace


@dataclass(slots=True)
class Ending:
    """How the run stands; starts as ok.  `is_fatal`: the context is lost."""

    status: Status = Status.OK
    reason: str = ""
    failed_row: int = NONE
    is_fatal: bool = False


@dataclass(slots=True)
class Marks:
    """The pool's statistics in bytes."""

    reserved_high: int = 0
    used_high: int = 0
    reserved_end: int = 0
    used_end: int = 0


class Run:
    """The state of one run."""

    def __init__(self, device: Device, plan: Plan, measured: Pass) -> None:
        self._device = device
        self._plan = plan
        self._is_traced = measured is Pass.TRACED
        self.makespan_ns = np.full(plan.n_iterations, NONE, dtype=np.int64)
        self.host_ns = np.full(plan.n_iterations, NONE, dtype=np.int64)
        self.ending = Ending()
        self.marks = Marks()
        self.n_corrupt: dict[int, int] = {}
        self.n_out_of_memory = 0
        self.openings: list[LatchOpening] = []
        self._pool: Any = None
        self._graphs = Graphs(device.handle)
        self.graph_memory = GraphMemory()
        self._program: Program | None = None
        self._streams: list[Any] = []
        self._made: list[tuple[Any, Any]] = []
        self._first: Alignment | None = None
        self._last: Alignment | None = None
        self._recorder: Recorder | None = None
        self._origin_ns = 0
        self._n_checks = sum(isinstance(step, st.Check) for step in plan.steps)

    @property
    def _is_in_bursts(self) -> bool:
        """Nothing has to be done between two steps."""
        return not (self._is_traced or self._plan.pace_ns or self._device.ranges.are_marked)

    # --- resources --------------------------------------------------------------------------

    @contextmanager
    def resources(self) -> Iterator[None]:
        """Makes everything that exists before the first step, and gives it back."""
        plan, device = self._plan, self._device
        try:
            self._scratch = self._own(
                driver.check(driver.cuMemAlloc(self._scratch_size()), "cuMemAlloc"),
                driver.cuMemFree,
            )
            self._streams = make_streams(plan)
            self._events = [self._event() for _ in plan.events]
            self._end_events = [self._event() for _ in plan.streams]
            self._make_room()
            lasting = self._lasting_addresses()
            calls = DriverCalls(device.ordinal, device.clock.stream, device.kernels)
            self._own(calls, DriverCalls.give_back)
            calls.prepare(plan)
            device.ballast.leave(plan.leave_free)
            row = plan.case.row
            if isinstance(row, AttributeSet):
                self._pool = make_pool(device.ordinal, row, plan)
                prime(self._pool, plan, device.clock.stream)
                reset_marks(self._pool)
            self._program = Program(
                plan,
                kernels=device.kernels,
                latches=device.latches,
                calls=calls,
                pool=self._pool,
                streams=self._streams,
                events=self._events,
                end_events=self._end_events,
                lasting=lasting,
                stamps=int(self._scratch) if self._is_traced else None,
                counters=int(self._scratch) + 16 * plan.n_steps,
                live=shared_live(device.issuer, lasting) if self._is_in_bursts else None,
            )
            if plan.graphs:
                self._graphs.capture(plan, self._program.in_graph)
                self._graphs.upload(plan, self._streams, device.clock.stream)
                self._graphs.reset_marks()
                self._program.graphs = self._graphs.launchable
            yield
        finally:
            self._give_back()

    def _make_room(self) -> None:
        """Lasting buffers come on top of what the plan leaves free: the last run's ballast must not
        be in their way."""
        plan = self._plan
        lasting = [spec.size for spec in plan.buffers if spec.memory is MemoryKind.DEVICE]
        needed = sum(_granules(size) for size in (*plan.slots, *lasting))
        leave_free = plan.leave_free
        self._device.ballast.leave(None if leave_free is None else leave_free + needed)

    def _scratch_size(self) -> int:
        """A stamp row a step and a counter a check."""
        return max(256, 16 * self._plan.n_steps + 8 * self._n_checks)

    def _own(self, thing: Any, give_back: Any) -> Any:
        self._made.append((thing, give_back))
        return thing

    def _event(self) -> Any:
        return self._own(driver.create_event(driver.NO_TIMING), driver.cuEventDestroy)

    def _lasting_addresses(self) -> list[int]:
        plan, lasting = self._plan, self._device.lasting
        slots = [lasting.take_plain(MemoryKind.DEVICE, max(1, size)) for size in plan.slots]
        addresses = []
        for buffer, spec in enumerate(plan.buffers):
            if spec.memory is not None:
                addresses.append(lasting.take(spec))
            elif slots and plan.slot_of[buffer] >= 0:
                addresses.append(slots[plan.slot_of[buffer]])
            else:
                addresses.append(0)
        if not isinstance(plan.case.row, AttributeSet):
            for graph in plan.graphs:
                own = [lasting.take_plain(MemoryKind.DEVICE, max(1, size)) for size in graph.slots]
                for buffer, slot in zip(graph.buffers, graph.slot_of, strict=True):
                    addresses[buffer] = own[slot]
        return addresses

    def _give_back(self) -> None:
        """In every case; a lost context refuses all of it, which is no further news."""
        self._device.latches.open_all()
        results = [driver.cuCtxSynchronize(), self._graphs.give_back()]
        if self._program is not None:
            results += self._free_leftovers(self._program)
        if self._pool is not None:
            results.append(driver.cuMemPoolDestroy(self._pool))
        results += [give_back(thing) for thing, give_back in reversed(self._made)]
        if any(int(result[0]) for result in results):
            self._device.is_dead = True
            return
        self._device.lasting.give_back_all()
        if self._streams:
            destroy_streams(self._plan, self._streams)

    def _free_leftovers(self, program: Program) -> list[Any]:
        """Blocks of a run that was cut short."""
        if self._plan.slots:
            return []
        results = []
        pointers = program.live.pointers
        for buffer, spec in enumerate(self._plan.buffers):
            if spec.alloc_step >= 0 and pointers[buffer]:
                stream = self._device.clock.stream
                results.append(
                    driver.cuMemFreeAsync(pointers[buffer], stream)
                    if self._pool is not None
                    else driver.cuMemFree(pointers[buffer])
                )
                pointers[buffer] = 0
        results.append(driver.cuStreamSynchronize(self._device.clock.stream))
        return results

    # --- iterations -------------------------------------------------------------------------

    def iterations(self) -> None:
        """Runs them all, or up to the first that fails; `resources` must be open."""
        plan, clock, program = self._plan, self._device.clock, self._program
        assert program is not None
        ranges = self._device.ranges
        calls = ranges.calls(plan, program.calls())
        if self._is_in_bursts:
            calls = bursts(self._device.issuer, program, calls)
        traced: list[TracedCall] = []
        if self._is_traced:
            self._first = clock.align()
            indices = iter(range(2 * len(calls)))
            traced = traced_calls(plan, calls, lambda: self._device.timing_event(next(indices)))
            self._recorder = Recorder(plan, traced)
        with _watching(plan, self._device.latches), _no_collection():
            for iteration in range(plan.n_iterations):
                with (
                    ranges.around(plan.case.scenario),
                    ranges.around(plan.case.key),
                    ranges.around(f"iteration {iteration}"),
                ):
                    self._iterate(program, iteration, calls, traced)
                if self.ending.status is not Status.OK:
                    break
        if self._is_traced and not self.ending.is_fatal:
            self._last = clock.align()
        if self.ending.status is Status.OK and any(self.n_corrupt.values()):
            n_bytes = sum(self.n_corrupt.values())
            self.ending.status = Status.CORRUPTED
            self.ending.reason = f"{n_bytes} bytes differ from what was filled in"

    def _iterate(
        self,
        program: Program,
        iteration: int,
        calls: Sequence[tuple[int, Call]],
        traced: Sequence[TracedCall],
    ) -> None:
        plan, device, live = self._plan, self._device, program.live
        n = plan.n_steps
        live.first_row = iteration * n
        live.failures.clear()
        stamps = fresh_stamps(n)
        counters = np.zeros(max(1, self._n_checks), dtype=np.uint64)
        driver.write_device(int(self._scratch), stamps.ctypes.data, stamps.nbytes)
        if self._n_checks:
            where = int(self._scratch) + 16 * n
            driver.write_device(where, counters.ctypes.data, counters.nbytes)
        base_ns = 0
        if self._is_traced:
            driver.check(driver.cuEventRecord(device.base, device.clock.stream))
            base_ns = device.clock.event_offset(device.base)
        if not iteration:
            rehearse(device, plan, program.streams)
        device.latches.reset(plan.latch_limit_ns)
        columns = host_columns(n)
        begun = self._open_iteration()
        self._origin_ns = self._origin_ns or begun
        try:
            if self._is_traced:
                issue_traced(traced, self._streams, self._pool, plan.pace_ns, columns)
            else:
                issue_timed(calls, plan.pace_ns)
        except AllocationFailed as fault:
            self.ending.status = Status.OUT_OF_MEMORY
            self.ending.failed_row = iteration * n + fault.step
        except StepFailed as fault:
            self._fail(fault.code, fault.step)
        issued = time.perf_counter_ns()
        self._close_iteration(iteration, begun, issued)
        self._note_openings()
        self.n_out_of_memory += sum(live.failures.values())
        if self.ending.is_fatal:
            return
        driver.read_device(stamps.ctypes.data, int(self._scratch), stamps.nbytes)
        self._read_counters(program, iteration, counters)
        if self._recorder is not None:
            self._recorder.add(
                iteration,
                columns,
                stamps,
                base=device.base,
                base_ns=base_ns,
                addresses=live.words,
                failures=live.failures,
            )
            self._forget_addresses(program)

    def _open_iteration(self) -> int:
        """Host time just before the first step; the start event is queued."""
        plan, device = self._plan, self._device
        clock = device.clock.stream
        driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
        begun = time.perf_counter_ns()
        if plan.issue is Issue.AHEAD:
            held = [clock, *(stream for stream in self._streams if stream is not None)]
            for stream in held:
                driver.check(queue_hold(stream, device.latches.address(AHEAD), 1))
            device.latches.note_closed(AHEAD, 1, NONE)
        driver.check(driver.cuEventRecord(device.start, clock), "cuEventRecord")
        return begun

    def _close_iteration(self, iteration: int, begun: int, issued: int) -> None:
        """Joins all streams into the end event, samples the pool, then synchronises."""
        plan, device = self._plan, self._device
        clock = device.clock.stream
        if plan.issue is Issue.AHEAD:
            device.latches.open(AHEAD, 1)
        results = []
        for stream, event, spec in zip(self._streams, self._end_events, plan.streams, strict=True):
            if stream is not None:
                results.append(driver.cuEventRecord(event, stream))
            if stream is not None or spec.is_created_by_step:
                results.append(driver.cuStreamWaitEvent(clock, event, 0))
        results.append(driver.cuEventRecord(device.end, clock))
        if plan.graphs:
            self.graph_memory = self._graphs.memory(plan)
        if self._pool is not None:
            self.marks = Marks(
                reserved_high=driver.pool_value(self._pool, driver.RESERVED_HIGH),
                used_high=driver.pool_value(self._pool, driver.USED_HIGH),
                reserved_end=driver.pool_value(self._pool, driver.RESERVED),
                used_end=driver.pool_value(self._pool, driver.USED),
            )
        if self.ending.status is not Status.OK:
            device.latches.open_all()
        results.append(driver.cuCtxSynchronize())
        for result in results:
            if int(result[0]):
                self._fail(int(result[0]), NONE)
                return
        if self.ending.status is Status.OK:
            self.host_ns[iteration] = issued - begun
            elapsed = driver.check(
                driver.cuEventElapsedTime(device.start, device.end), "cuEventElapsedTime"
            )
            self.makespan_ns[iteration] = round(float(elapsed) * 1e6)

    def _fail(self, code: int, step: int) -> None:
        where = "while the steps ran"
        if step >= 0:
            place = self._plan.place(step)
            where = f"{place.kind} {self._plan.names[step]} (line {place.line})"
        if self.ending.status is Status.OK or code in STICKY:
            self.ending.status = Status.ERROR
            self.ending.reason = f"{where}: {driver.explain(code)}"
        self.ending.is_fatal |= code in STICKY

    def _note_openings(self) -> None:
        for opening in self._device.latches.take_openings():
            if opening.stream != AHEAD:
                self.openings.append(opening)
                continue
            self.openings += [
                replace(opening, stream=stream) for stream in range(len(self._plan.streams))
            ]

    def _read_counters(self, program: Program, iteration: int, counters: Any) -> None:
        if not self._n_checks:
            return
        where = int(self._scratch) + 16 * self._plan.n_steps
        driver.read_device(counters.ctypes.data, where, counters.nbytes)
        for step, count in zip(program.check_steps, counters, strict=True):
            self.n_corrupt[iteration * self._plan.n_steps + step] = int(count)

    def _forget_addresses(self, program: Program) -> None:
        if not self._plan.slots:
            for buffer, spec in enumerate(self._plan.buffers):
                if spec.alloc_step >= 0:
                    program.live.words[buffer] = 0

    def finish(self) -> StepTrace | None:
        """Puts all times on the run's axis; the columns of a traced run, without outcomes yet."""
        self.openings = [
            replace(
                opening,
                closed_ns=opening.closed_ns - self._origin_ns,
                opened_ns=opening.opened_ns - self._origin_ns,
            )
            for opening in self.openings
        ]
        if self._recorder is None or self._last is None or self._first is None:
            return None
        return self._recorder.finish(self._first, self._last, self._origin_ns)


def _granules(size: int) -> int:
    """Plain allocations take whole granules of 2 MiB."""
    return -(-size // (2 << 20)) * (2 << 20)


@contextmanager
def _watching(plan: Plan, latches: Latches) -> Iterator[None]:
    """The watchdog runs only where something can be held: its thread would disturb the others."""
    if plan.issue is Issue.AHEAD or any(isinstance(step, st.Hold) for step in plan.steps):
        with Watchdog(latches):
            yield
    else:
        yield


@contextmanager
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
