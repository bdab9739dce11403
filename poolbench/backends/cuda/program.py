"""A plan's steps as calls that are ready to go: arguments packed, nothing left but the driver.

Each call takes nothing and returns a tuple whose first item is 0 (or false) on success, as the
driver's own entry points do; a pool allocation that fails for good raises `AllocationFailed`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.calls import DriverCalls
from poolbench.backends.cuda.kernels import Kernels, Packed
from poolbench.backends.cuda.latch import MAX_LATCHES, Latches, queue_hold
from poolbench.backends.cuda.resources import make_stream
from poolbench.domain import AttributeSet, Baseline, CopyKind, Issue, OnOom
from poolbench.plan import steps as st
from poolbench.plan.plan import Plan

Call = Callable[[], Sequence[Any]]

AHEAD = MAX_LATCHES - 1
"""The latch that holds all streams back under `issue: ahead`."""

_DONE = (0,)


class AllocationFailed(Exception):
    """Out of memory, and `on_oom` did not help."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


@dataclass(slots=True)
class Live:
    """What changes while a plan is being issued.

    `words[b]` holds buffer `b`'s address where kernels read it, `pointers[b]` the same as the
    driver's object while the buffer is alive, 0 afterwards.  `failures` counts failed attempts by
    step.
    """

    words: Any
    pointers: MutableSequence[Any]
    failures: dict[int, int] = field(default_factory=dict)
    first_row: int = 0


class Program:
    """Packs the steps of one plan for one pool and one set of streams."""

    def __init__(
        self,
        plan: Plan,
        *,
        kernels: Kernels,
        latches: Latches,
        calls: DriverCalls,
        pool: Any,
        streams: list[Any],
        events: Sequence[Any],
        end_events: Sequence[Any],
        lasting: Sequence[int],
        stamps: int | None,
        counters: int,
        live: Live | None = None,
    ) -> None:
        """`lasting[b]` is the address of a buffer that no step allocates, 0 for the others;
        `stamps` the device address of the stamp rows, `None` in the timed pass; `counters` that of
        the words for `check`.  `live` is that of another program for the same buffers."""
        self.plan = plan
        self._kernels = kernels
        self._latches = latches
        self._calls = calls
        self.pool = pool
        self.streams = streams
        self.events = events
        self._end_events = end_events
        self._stamps = stamps
        self._counters = counters
        self.check_steps = tuple(
            k for k, step in enumerate(plan.steps) if isinstance(step, st.Check)
        )
        n = max(1, len(plan.buffers))
        self.live = live or Live(words=(ctypes.c_uint64 * n)(*lasting), pointers=list(lasting))
        self.graphs: Sequence[Any] = ()
        base = ctypes.addressof(self.live.words)
        self._address_of = [base + 8 * index for index in range(n)]
        self._sizes = [spec.size for spec in plan.buffers]
        self.is_ahead = plan.issue is Issue.AHEAD
        self.packed: dict[int, Packed] = {}
        """Launch arguments by step."""
        self._attempts: dict[int, Call] = {}
        self._inner: list[Program] = []
        """Programs of graphs, whose arguments live as long as this."""

    def calls(self) -> list[tuple[int, Call]]:
        """(step, call) in issue order; steps that a baseline leaves out are missing."""
        packed = []
        for k, step in enumerate(self.plan.steps):
            call = self._pack(k, step)
            if call is not None:
                packed.append((k, call))
        return packed

    def in_graph(self, body: Plan, streams: Sequence[Any], events: Sequence[Any]) -> Sequence[Call]:
        """The calls of a graph's body, for the buffers of this program."""
        inner = Program(
            body,
            kernels=self._kernels,
            latches=self._latches,
            calls=self._calls,
            pool=self.pool,
            streams=list(streams),
            events=events,
            end_events=(),
            lasting=(),
            stamps=None,
            counters=0,
            live=self.live,
        )
        self._inner.append(inner)
        return [call for _, call in inner.calls()]

    def open_ahead(self) -> None:
        self._latches.open(AHEAD, 1)

    # --- one step ---------------------------------------------------------------------------

    def _pack(self, k: int, step: st.Step) -> Call | None:
        match step:
            case st.Alloc():
                return self._alloc(k, step)
            case st.Free():
                return self._free(step)
            case st.Launch():
                packed = self._kernels.pack(step, self.plan.kernels, self._address_of, self._sizes)
                return self._launch(k, step.stream, packed)
            case st.Fill():
                address = self._address_of[step.buffer]
                packed = self._kernels.pack_fill(address, step.size, step.seed)
                return self._launch(k, step.stream, packed)
            case st.Check():
                counter = self._counters + 8 * self.check_steps.index(k)
                address = self._address_of[step.buffer]
                packed = self._kernels.pack_check(address, step.size, step.seed, counter)
                return self._launch(k, step.stream, packed)
            case st.Memcpy():
                return self._memcpy(step)
            case st.Memset():
                return self._memset(step)
            case st.Record():
                event = self.events[step.event]
                return self._on(step.stream, lambda s: partial(driver.cuEventRecord, event, s))
            case st.Wait():
                event = self.events[step.event]
                return self._on(
                    step.stream, lambda s: partial(driver.cuStreamWaitEvent, s, event, 0)
                )
            case st.SyncStream():
                sync = driver.cuStreamSynchronize
                return self._blocking(self._on(step.stream, lambda s: partial(sync, s)))
            case st.SyncEvent():
                event = self.events[step.event]
                return self._blocking(partial(driver.cuEventSynchronize, event))
            case st.SyncDevice():
                return self._blocking(driver.cuCtxSynchronize)
            case st.QueryStream():
                query = driver.cuStreamQuery
                return _asking(self._on(step.stream, lambda s: partial(query, s)))
            case st.QueryEvent():
                return _asking(partial(driver.cuEventQuery, self.events[step.event]))
            case st.HostWork():
                return partial(_work, step.duration_ns)
            case st.Hold():
                return self._hold(k, step)
            case st.Release():
                return partial(self._release, step.stream, step.ticket)
            case st.Trim():
                if self.pool is None:
                    return None
                return partial(driver.cuMemPoolTrimTo, self.pool, step.keep)
            case st.CallDriver():
                return self._blocking(self._calls.pack(step.call))
            case st.Callback():
                return self._callback(step)
            case st.LaunchGraph():
                graph, launch = self.graphs[step.graph], driver.cuGraphLaunch
                return self._on(step.stream, lambda s: partial(launch, graph, s))
            case st.Sample():
                return lambda: _DONE
            case st.CreateStream():
                return partial(self._create, step.stream)
            case st.DestroyStream():
                return partial(self._destroy, step.stream)
            case _:
                assert_never(step)

    def _on(self, stream: int, make: Callable[[Any], Call]) -> Call:
        """A call on a stream, bound now if the stream exists, when issued if a step makes it."""
        if not self.plan.streams[stream].is_created_by_step:
            return make(self.streams[stream])
        return lambda: make(self.streams[stream])()

    def _launch(self, k: int, stream: int, packed: Packed) -> Call:
        self.packed[k] = packed
        if packed.stamp is not None and self._stamps is not None:
            packed.stamp.value = self._stamps + 16 * k
        return self._on(
            stream,
            lambda s: partial(
                driver.cuLaunchKernel,
                packed.function,
                packed.blocks,
                1,
                1,
                packed.threads,
                1,
                1,
                packed.shared,
                s,
                packed.parameters,
                0,
            ),
        )

    # --- memory -----------------------------------------------------------------------------

    def _alloc(self, k: int, step: st.Alloc) -> Call | None:
        match self.plan.case.row:
            case Baseline.PREALLOCATED:
                return None
            case Baseline.CUDAMALLOC:
                attempt: Call = partial(driver.cuMemAlloc, step.size)
            case AttributeSet():
                size, pool = step.size, self.pool
                allocate = driver.cuMemAllocFromPoolAsync
                attempt = self._on(step.stream, lambda s: partial(allocate, size, pool, s))
        self._attempts[k] = attempt
        words, pointers, buffer = self.live.words, self.live.pointers, step.buffer

        def alloc() -> Sequence[Any]:
            result = attempt()
            if result[0]:
                return self.recover(k, int(result[0]))
            pointer = result[1]
            pointers[buffer] = pointer
            words[buffer] = int(pointer)
            return result

        return alloc

    def recover(self, k: int, code: int) -> Sequence[Any]:
        """After allocation `k` failed with `code`: what `on_oom` says.  Raises `AllocationFailed`
        if that did not help."""
        result = self._retry(k, self._attempts[k], code)
        if not result[0]:
            step = self.plan.steps[k]
            assert isinstance(step, st.Alloc)
            self.live.pointers[step.buffer] = result[1]
            self.live.words[step.buffer] = int(result[1])
        return result

    def _retry(self, k: int, attempt: Call, code: int) -> Sequence[Any]:
        """Out of memory is handled as the plan says; any other fault goes back to the loop."""
        if code != driver.OUT_OF_MEMORY:
            return (code,)
        failures = self.live.failures
        failures[k] = failures.get(k, 0) + 1
        if self.plan.on_oom is OnOom.FAIL:
            raise AllocationFailed(k)
        if self.is_ahead:
            self.open_ahead()
        driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
        if self.plan.on_oom is OnOom.TRIM_RETRY and self.pool is not None:
            driver.check(driver.cuMemPoolTrimTo(self.pool, 0), "cuMemPoolTrimTo")
        again = attempt()
        if again[0] and int(again[0]) == driver.OUT_OF_MEMORY:
            failures[k] += 1
            raise AllocationFailed(k)
        return again

    def _free(self, step: st.Free) -> Call | None:
        pointers, buffer = self.live.pointers, step.buffer
        match self.plan.case.row:
            case Baseline.PREALLOCATED:
                return None
            case Baseline.CUDAMALLOC:
                plain = driver.cuMemFree

                def free() -> Sequence[Any]:
                    pointer, pointers[buffer] = pointers[buffer], 0
                    return plain(pointer)  # type: ignore[no-any-return]

                return self._blocking(free)  # it waits for all running work
            case AttributeSet():
                ordered = driver.cuMemFreeAsync

                def make(stream: Any) -> Call:
                    def free_async() -> Sequence[Any]:
                        pointer, pointers[buffer] = pointers[buffer], 0
                        return ordered(pointer, stream)  # type: ignore[no-any-return]

                    return free_async

                return self._on(step.stream, make)

    def _memcpy(self, step: st.Memcpy) -> Call:
        copy = {
            CopyKind.H2D: driver.cuMemcpyHtoDAsync,
            CopyKind.D2H: driver.cuMemcpyDtoHAsync,
            CopyKind.D2D: driver.cuMemcpyDtoDAsync,
        }[step.kind]
        pointers, dst, src, size = self.live.pointers, step.dst, step.src, step.size
        call = self._on(step.stream, lambda s: lambda: copy(pointers[dst], pointers[src], size, s))
        return self._blocking(call) if step.is_pageable else call

    def _memset(self, step: st.Memset) -> Call:
        fill, pointers = driver.cuMemsetD8Async, self.live.pointers
        buffer, value, size = step.buffer, step.value, step.size
        return self._on(step.stream, lambda s: lambda: fill(pointers[buffer], value, size, s))

    def _callback(self, step: st.Callback) -> Call:
        """In whole microseconds."""
        duration_us = round(step.duration_ns / 1000)
        return self._on(step.stream, lambda s: partial(driver.sleep_in_stream, int(s), duration_us))

    # --- host -------------------------------------------------------------------------------

    def _blocking(self, call: Call) -> Call:
        """A call that may make the host wait: under `issue: ahead` it opens the latches first."""
        if not self.is_ahead:
            return call

        def wait() -> Sequence[Any]:
            self.open_ahead()
            return call()

        return wait

    def _hold(self, k: int, step: st.Hold) -> Call:
        address = self._latches.address(step.stream)
        close = self._on(step.stream, lambda s: partial(queue_hold, s, address, step.ticket))

        def hold() -> Sequence[Any]:
            result = close()
            self._latches.note_closed(step.stream, step.ticket, self.live.first_row + k)
            return result

        return hold

    def _release(self, stream: int, ticket: int) -> Sequence[Any]:
        self._latches.open(stream, ticket)
        return _DONE

    def _create(self, stream: int) -> Sequence[Any]:
        self.streams[stream] = make_stream(self.plan, stream)
        return _DONE

    def _destroy(self, stream: int) -> Sequence[Any]:
        """The stream's end is marked first: pending work goes on without the handle."""
        handle, self.streams[stream] = self.streams[stream], None
        recorded = driver.cuEventRecord(self._end_events[stream], handle)
        return recorded if recorded[0] else driver.cuStreamDestroy(handle)  # type: ignore[no-any-return]


def _asking(call: Call) -> Call:
    """A query: "not ready" is an answer, not a fault."""

    def ask() -> Sequence[Any]:
        result = call()
        return _DONE if int(result[0]) == driver.NOT_READY else result

    return ask


def _work(duration_ns: int) -> Sequence[Any]:
    until = time.perf_counter_ns() + duration_ns
    while time.perf_counter_ns() < until:
        pass
    return _DONE
