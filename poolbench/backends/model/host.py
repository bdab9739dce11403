"""The host: a clock that calls advance, and what it knows of the device.

The host is the simulation's driver: before each of its calls the engine catches up with it, and
where it has to wait the engine runs on until the work is over.  Times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from poolbench.backends.model.baselines import PlainMemory
from poolbench.backends.model.device import Device
from poolbench.backends.model.engine import Engine
from poolbench.backends.model.latches import AHEAD, Latches
from poolbench.backends.model.memory import Memory
from poolbench.backends.model.ops import Hold, Op, Work
from poolbench.backends.model.pool import Pool
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.recording import Recording
from poolbench.backends.model.streams import NOTHING_KNOWN, Clock, Recorded, Stream
from poolbench.domain import Issue, StreamKind, StreamPriority
from poolbench.plan.plan import Plan

_RANK = {StreamPriority.HIGH: 0, StreamPriority.NORMAL: 1, StreamPriority.LOW: 2}
_IMPLICIT = (StreamKind.BLOCKING, StreamKind.PER_THREAD_DEFAULT)
"""Streams that the legacy default stream waits for, and that wait for it."""


class Host:
    """The state of one run on the host's side.

    now_ns
        the host's clock, 0 when the first iteration begins.
    seq
        number of the op issued last; `floor`: the host knows that every op up to it is over.
    streams
        by the plan's index; `None` while a stream does not exist.
    addresses
        by buffer, -1 where there is no memory.
    """

    def __init__(
        self,
        plan: Plan,
        profile: DeviceProfile,
        *,
        pool: Pool | None,
        plain: PlainMemory,
        addresses: list[int],
        memory: Memory | None,
        recording: Recording | None,
    ) -> None:
        self.plan = plan
        self.profile = profile
        self.pool = pool
        self.plain = plain
        self.addresses = addresses
        self.memory = memory
        self.recording = recording
        self.engine = Engine()
        self.device = Device(self.engine, profile, memory)
        self.latches = Latches(len(plan.streams), plan.latch_limit_ns, self.engine, self.device)
        self.now_ns = 0
        self.seq = 0
        self.floor = 0
        self.clock: dict[int, int] = {}
        self.events: list[Recorded | None] = [None] * len(plan.events)
        self.n_out_of_memory = 0
        self.traced_ns = profile.device.timing_event_ns if recording is not None else 0
        self._is_ahead = plan.issue is Issue.AHEAD
        self._sync_ns = profile.host.sync_ns
        self._sync_return_ns = profile.host.sync_return_ns
        self._n_made = 0
        self._has_legacy = any(spec.kind is StreamKind.LEGACY_DEFAULT for spec in plan.streams)
        self._all: list[Stream] = []
        self.streams: list[Stream | None] = [None] * len(plan.streams)
        for index, spec in enumerate(plan.streams):
            if not spec.is_created_by_step:
                self.create_stream(index)

    # --- streams ----------------------------------------------------------------------------

    def create_stream(self, index: int) -> None:
        spec = self.plan.streams[index]
        self._n_made += 1
        stream = Stream(self._n_made, spec.kind, _RANK[spec.priority])
        self.streams[index] = stream
        self._all.append(stream)

    def branch(self, index: int) -> Stream:
        """A stream of one launch of a graph, with the priority of the plan's stream `index`."""
        self._n_made += 1
        priority = self.plan.streams[index].priority
        return Stream(self._n_made, StreamKind.NON_BLOCKING, _RANK[priority])

    def destroy_stream(self, index: int) -> None:
        """Its work goes on."""
        self.streams[index] = None

    def stream(self, index: int) -> Stream:
        stream = self.streams[index]
        assert stream is not None, "the plan uses a stream that does not exist"
        return stream

    def new_mark(self, stream: Stream, row: int, latency_ns: int, cost_ns: int = 0) -> Op:
        """The next op of `stream`; its call returns now.  So with the other two."""
        self.seq += 1
        dependency = self._implicit(stream) if self._has_legacy else None
        return Op(self.seq, stream.number, row, self.now_ns + latency_ns, dependency, cost_ns)

    def new_work(self, stream: Stream, row: int, latency_ns: int, cost_ns: int) -> Work:
        self.seq += 1
        dependency = self._implicit(stream) if self._has_legacy else None
        return Work(self.seq, stream.number, row, self.now_ns + latency_ns, dependency, cost_ns)

    def order_implicitly(self, stream: Stream) -> None:
        """What the next op of `stream` will come after by the kinds of the streams is known."""
        if self._has_legacy:
            self._implicit(stream)

    def wait_for_stream(self, index: int) -> None:
        """`cuStreamSynchronize`.  With the legacy default stream it waits for, and the host then
        knows of, what is on the blocking streams by now, whether or not the legacy stream has
        anything queued that comes after it (measured)."""
        stream = self.stream(index)
        ops = [] if stream.last is None else [stream.last]
        if stream.kind is StreamKind.LEGACY_DEFAULT:
            ops += self._implicit(stream) or ()
        if not ops:
            self.wait_for_nothing()
            return
        self.before_waiting()
        self._return_after(max(self.engine.run_until_done(op) for op in ops))
        for op in ops:
            self._learn(op.stream_id, op.seq)
        for number, seq in stream.clock.items():
            self._learn(number, seq)
        self._tell_pool(self.clock)

    def _implicit(self, stream: Stream) -> list[Op] | None:
        """What the legacy default stream and the blocking streams wait for in each other."""
        others: Iterable[Stream] = ()
        if stream.kind is StreamKind.LEGACY_DEFAULT:
            others = (one for one in self._all if one.kind in _IMPLICIT)
        elif stream.kind in _IMPLICIT:
            others = (one for one in self._all if one.kind is StreamKind.LEGACY_DEFAULT)
        found = []
        for other in others:
            if other.last is not None:
                stream.learn(other.number, other.clock, other.last.seq)
                found.append(other.last)
        return found or None

    # --- waiting ----------------------------------------------------------------------------

    def is_over(self, done: int) -> int:
        """When all that was issued is over, not before `done`."""
        for stream in self._all:
            if stream.last is not None:
                done = max(done, self.engine.run_until_done(stream.last), stream.time_ns)
        return done

    def _return_after(self, done_ns: int) -> None:
        now = self.now_ns + self._sync_ns
        if done_ns > self.now_ns:
            now = max(now, done_ns + self._sync_return_ns)
        self.now_ns = now
        self.engine.run_until(now)

    def catch_up_with(self, time_ns: int) -> None:
        """The call returns no earlier than this."""
        if time_ns > self.now_ns:
            self.now_ns = time_ns
            self.engine.run_until(time_ns)

    def before_waiting(self) -> None:
        """Under `issue: ahead` the streams must run before the host waits for them."""
        if self._is_ahead:
            self.latches.open_ahead(self.now_ns)

    def wait_for(self, op: Op, clock: Clock) -> None:
        """Synchronises with an op of a stream that came after `clock`."""
        self.before_waiting()
        self._return_after(self.engine.run_until_done(op))
        self._learn(op.stream_id, op.seq)
        for number, seq in clock.items():
            self._learn(number, seq)
        self._tell_pool(self.clock)

    def wait_for_nothing(self) -> None:
        self.before_waiting()
        self.now_ns += self._sync_ns

    def _learn(self, number: int, seq: int) -> None:
        if seq > self.floor and seq > self.clock.get(number, 0):
            self.clock[number] = seq

    def wait_out(self) -> None:
        """A call that returns when the device is idle, and tells the pool nothing (assumed)."""
        self._return_after(self.is_over(self.now_ns))

    def wait_for_all(self) -> None:
        """`cuCtxSynchronize`, without the latches of `issue: ahead`."""
        self.before_waiting()
        self._return_after(self.is_over(self.now_ns))
        self.floor = self.seq
        self.clock.clear()
        for stream in self._all:
            stream.clock = NOTHING_KNOWN
            # A wait for work that is over waits for nothing.
            stream.last = None
        self._all = [stream for stream in self._all if stream in self.streams]
        self._tell_pool(NOTHING_KNOWN)

    def _tell_pool(self, clock: Clock) -> None:
        if self.pool is not None:
            self.charge_release(self.pool.host_knows(clock, self.floor))

    def charge_release(self, n_chunks: int) -> None:
        """The host's time for giving chunks back to the device."""
        if n_chunks:
            costs = self.profile.pool
            self.now_ns += costs.release_ns + n_chunks * costs.release_ns_per_chunk

    # --- iterations -------------------------------------------------------------------------

    def open_iteration(self) -> int:
        """Host time just before the first step, after the start event; latches are closed."""
        self.latches.reset()
        if self._is_ahead:
            hold_ns = self.profile.host.hold_ns
            self.now_ns += hold_ns  # the stream of the start event
            for stream in self.streams:
                if stream is not None:
                    self.now_ns += hold_ns
                    self.push_hold(stream, AHEAD, 1, -1)
            self.latches.close_ahead(self.now_ns)
        self.now_ns += self.profile.host.timing_record_ns
        return self.now_ns + self.profile.device.command_latency_ns

    def push_hold(self, stream: Stream, latch: int, ticket: int, row: int) -> None:
        latency = self.profile.device.command_latency_ns
        self.seq += 1
        dependency = self._implicit(stream) if self._has_legacy else None
        arrive, word = self.now_ns + latency, self.latches.latch(latch)
        op = Hold(self.seq, stream.number, row, arrive, dependency, word, ticket)
        self.device.push(stream, op)

    def ahead_opened_ns(self) -> int:
        """When the streams of `issue: ahead` went on; 0 where they were never held."""
        if not self._is_ahead:
            return 0
        return self.latches.latch(AHEAD).opened_ns(1) + self.profile.device.latch_open_ns

    def end_event(self) -> int:
        """Arrival of the event that follows the last work of every stream."""
        costs = self.profile.host
        self.now_ns += len(self.streams) * (costs.record_ns + costs.wait_ns)
        self.now_ns += costs.timing_record_ns
        return self.now_ns + self.profile.device.command_latency_ns
