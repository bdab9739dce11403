"""The device: streams that move on, multiprocessors and copy engines that are taken in turn.

Marks and holds get their times as soon as what they depend on is known, be it in the future; only
what competes for a resource goes through the engine's heap.  Times are nanoseconds.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from poolbench.backends.model.engine import BEGIN, END, Engine
from poolbench.backends.model.ops import UNKNOWN, Hold, Op, Work
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.streams import Latch, Stream
from poolbench.domain import CopyKind

if TYPE_CHECKING:
    from poolbench.backends.model.memory import Memory


class CopyEngine:
    """Does one copy after the other, first come, first served; the last one ends at `end_ns`.

    The thread that calls host functions is one more of the kind.
    """

    __slots__ = ("end_ns", "is_busy", "waiting")

    def __init__(self) -> None:
        self.end_ns = 0
        self.is_busy = False
        self.waiting: deque[tuple[Work, Stream]] = deque()


class Multiprocessors:
    """What is free of the device.

    A kernel starts with as many of its blocks as fit, and needs as many rounds as it takes to get
    through all of them; what frees up in the meantime goes to the kernels behind it.
    """

    __slots__ = ("n_sms", "n_threads")

    def __init__(self, n_sms: int, threads_per_sm: int) -> None:
        self.n_sms = n_sms
        self.n_threads = n_sms * threads_per_sm

    def take(self, op: Work) -> bool:
        """Gives `op` what fits of it; false if that is nothing."""
        kernel = op.kernel
        if kernel is None:
            return True
        _, wanted, block_sms, block_threads = kernel
        n_fitting = wanted
        if wanted * block_sms > self.n_sms:
            n_fitting = self.n_sms
        if n_fitting * block_threads > self.n_threads:
            n_fitting = self.n_threads // block_threads
        if n_fitting <= 0:
            return False
        op.n_resident = n_fitting
        if n_fitting < wanted:
            op.cost_ns *= -(-wanted // n_fitting)
        self.n_sms -= n_fitting * block_sms
        self.n_threads -= n_fitting * block_threads
        return True

    def give_back(self, op: Work) -> None:
        if op.kernel is not None:
            self.n_sms += op.n_resident * op.kernel.block_sms
            self.n_threads += op.n_resident * op.kernel.block_threads


class Device:
    """Carries ops out; `memory` is given where a plan checks what its memory holds."""

    def __init__(self, engine: Engine, profile: DeviceProfile, memory: Memory | None) -> None:
        self._engine = engine
        self._memory = memory
        costs = profile.device
        self._kernel_gap_ns = costs.kernel_gap_ns
        self._copy_gap_ns = costs.copy_gap_ns
        self._dependency_ns = costs.dependency_ns
        self._latch_open_ns = costs.latch_open_ns
        self._timing_record_ns = profile.host.timing_record_ns
        self._sms = Multiprocessors(profile.n_multiprocessors, profile.threads_per_multiprocessor)
        self._waiting: list[tuple[int, int, int, Work, Stream]] = []
        self._n_waited = 0
        self._on_begin, self._on_end = self._ask, self._end
        self.h2d = CopyEngine()
        self.d2h = CopyEngine()
        self.d2d = CopyEngine()
        self.callbacks = CopyEngine()

    def copy_engine(self, kind: CopyKind) -> CopyEngine:
        return {CopyKind.H2D: self.h2d, CopyKind.D2H: self.d2h, CopyKind.D2D: self.d2d}[kind]

    # --- streams ----------------------------------------------------------------------------

    def push(self, stream: Stream, op: Op) -> None:
        """The host has issued `op`."""
        stream.last = op
        if not stream.queue and op.dependency is None and type(op) is Op and not op.before_ns:
            # A mark with nothing ahead of it and nothing to wait for: nobody can wait for it yet.
            begin = stream.time_ns
            if op.arrive_ns > begin:
                begin = op.arrive_ns
            op.begin_ns = begin
            op.done_ns = stream.time_ns = begin + op.cost_ns
            return
        stream.queue.append(op)
        if not stream.is_waiting:
            self._advance([stream])

    def open(self, latch: Latch, value: int, now_ns: int) -> None:
        """The host, or its watchdog, lets every hold up to ticket `value` go."""
        if value <= latch.value:
            return
        latch.store(value, now_ns)
        streams, latch.waiting = latch.waiting, []
        self._advance(streams)

    def _advance(self, streams: list[Stream]) -> None:
        """Takes streams as far as is known now, and those that waited for them."""
        while streams:
            stream = streams.pop()
            stream.is_waiting = False
            queue = stream.queue
            while queue:
                op = queue[0]
                after = stream.time_ns
                if op.dependency is not None:
                    after = self._after_dependency(stream, op.dependency)
                    if after == UNKNOWN:
                        break
                    op.dependency = None  # ops that are over need not live on
                if isinstance(op, Work):
                    self._queue_work(stream, op, after)
                    break
                if isinstance(op, Hold):
                    done = self._after_latch(stream, op)
                    if done == UNKNOWN:
                        break
                elif op.before_ns:
                    op.begin_ns = max(stream.time_ns, op.event_ns) + op.before_ns
                    done = max(op.begin_ns, after, op.arrive_ns) + op.cost_ns
                    self._close_bracket(op, done)
                else:
                    op.begin_ns = done = after if after > op.arrive_ns else op.arrive_ns
                    done += op.cost_ns
                queue.popleft()
                op.done_ns = done
                stream.time_ns = done + op.after_ns
                if op.waiters is not None:
                    streams += op.waiters
                    op.waiters = None

    def _close_bracket(self, op: Op, done_ns: int) -> None:
        """The timing event after an op is issued after it: on an idle stream it is late for that
        (measured: 4 us after the return of the call)."""
        op.after_ns = max(op.after_ns, op.arrive_ns + self._timing_record_ns - done_ns)

    def _after_dependency(self, stream: Stream, dependency: Op | list[Op]) -> int:
        """When `stream` can go on; `UNKNOWN`, and the stream registered, if that is not known."""
        after = stream.time_ns
        for op in dependency if isinstance(dependency, list) else (dependency,):
            done = op.done_ns
            if done == UNKNOWN:
                if op.waiters is None:
                    op.waiters = []
                op.waiters.append(stream)
                stream.is_waiting = True
                return UNKNOWN
            if done + self._dependency_ns > after:
                after = done + self._dependency_ns
        return after

    def _after_latch(self, stream: Stream, op: Hold) -> int:
        latch = op.latch
        if latch.value < op.ticket:
            latch.waiting.append(stream)
            stream.is_waiting = True
            return UNKNOWN
        op.begin_ns = max(stream.time_ns, op.arrive_ns)
        return max(op.begin_ns, latch.opened_ns(op.ticket) + self._latch_open_ns)

    def d2h_end_ns(self) -> int:
        """When the copy to the host is over that started last."""
        return self.d2h.end_ns

    # --- work -------------------------------------------------------------------------------

    def _queue_work(self, stream: Stream, op: Work, after_ns: int) -> None:
        stream.is_waiting = True
        gap = self._kernel_gap_ns if op.engine is None else self._copy_gap_ns
        if op.before_ns:
            op.begin_ns = after_ns = max(after_ns, op.event_ns) + op.before_ns
        ready = after_ns + gap
        if op.arrive_ns > ready:
            ready = op.arrive_ns
        self._engine.schedule(ready, BEGIN, self._on_begin, (op, stream))

    def _ask(self, now_ns: int, subject: tuple[Work, Stream]) -> None:
        op, stream = subject
        engine = op.engine
        if engine is not None:
            if engine.is_busy:
                engine.waiting.append(subject)
            else:
                engine.is_busy = True
                self._start(op, stream, now_ns)
        elif self._waiting or not self._sms.take(op):
            self._n_waited += 1
            heappush(self._waiting, (stream.rank, now_ns, self._n_waited, op, stream))
        else:
            self._start(op, stream, now_ns)

    def _start(self, op: Work, stream: Stream, now_ns: int) -> None:
        if not op.before_ns:
            op.begin_ns = now_ns
        op.done_ns = done = now_ns + op.cost_ns
        if op.before_ns:
            self._close_bracket(op, done)
        if op.engine is not None:
            op.engine.end_ns = done
        self._engine.schedule(done, END, self._on_end, op)
        if op.access is not None and self._memory is not None:
            self._memory.begin(op.access)
        stream.n_queued -= 1
        stream.time_ns = done + op.after_ns
        stream.queue.popleft()
        streams = [stream]
        if op.waiters is not None:
            streams += op.waiters
            op.waiters = None
        self._advance(streams)

    def _end(self, now_ns: int, op: Work) -> None:
        if op.access is not None and self._memory is not None:
            self._memory.end(op.access)
        engine = op.engine
        if engine is not None:
            engine.is_busy = bool(engine.waiting)
            if engine.waiting:
                self._start(*engine.waiting.popleft(), now_ns)
            return
        self._sms.give_back(op)
        waiting = self._waiting
        while waiting and self._sms.take(waiting[0][3]):
            _, _, _, following, stream = heappop(waiting)
            self._start(following, stream, now_ns)
