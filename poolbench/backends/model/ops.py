"""What stands in a stream: one object for each step that the device carries out.

Plain mutable records without behaviour; the host makes them, the device fills in the times.
Times are nanoseconds on the host's axis, `UNKNOWN` until the device has got that far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poolbench.backends.model.device import CopyEngine
    from poolbench.backends.model.memory import Access
    from poolbench.backends.model.streams import Latch, Stream

UNKNOWN = -1


class Footprint(NamedTuple):
    """A kernel: its blocks, what each of them occupies (a multiprocessor of its own, thread slots),
    and the time that it takes if all of its blocks run at once."""

    duration_ns: int
    n_blocks: int
    block_sms: int
    block_threads: int


class Op:
    """A mark, which takes (next to) no time: alloc, free, record, wait.

    seq
        number in the order of issue over all streams.
    stream_id, row
        where the op stands; `row` is -1 for what the plan has no step for.
    arrive_ns
        the device cannot know of the op earlier.
    dependency
        op (or ops) of other streams that must be over before this one.
    begin_ns, done_ns
        when the op started, and when it is over: both known in advance once it has started.
    event_ns, before_ns, after_ns
        in the traced pass some ops stand between two timing events: when the first can start, and
        what the two take.
    cost_ns
        its own time.
    """

    __slots__ = (
        "after_ns",
        "arrive_ns",
        "before_ns",
        "begin_ns",
        "cost_ns",
        "dependency",
        "done_ns",
        "event_ns",
        "row",
        "seq",
        "stream_id",
        "waiters",
    )

    def __init__(
        self,
        seq: int,
        stream_id: int,
        row: int,
        arrive_ns: int,
        dependency: Op | list[Op] | None,
        cost_ns: int,
    ) -> None:
        self.seq = seq
        self.stream_id = stream_id
        self.row = row
        self.arrive_ns = arrive_ns
        self.dependency = dependency
        self.cost_ns = cost_ns
        self.event_ns = self.before_ns = self.after_ns = 0
        self.begin_ns = self.done_ns = UNKNOWN
        self.waiters: list[Stream] | None = None


class Work(Op):
    """A kernel, a copy or a memset.

    kernel
        what it occupies; `None` for what occupies no multiprocessor.
    n_resident
        how many of its blocks it got at its start.
    engine
        a copy's.
    """

    __slots__ = ("access", "engine", "kernel", "n_resident")

    def __init__(
        self,
        seq: int,
        stream_id: int,
        row: int,
        arrive_ns: int,
        dependency: Op | list[Op] | None,
        cost_ns: int,
    ) -> None:
        super().__init__(seq, stream_id, row, arrive_ns, dependency, cost_ns)
        self.kernel: Footprint | None = None
        self.n_resident = 0
        self.engine: CopyEngine | None = None
        self.access: Access | None = None


class Hold(Op):
    """Waits until the word of `latch` reaches `ticket`."""

    __slots__ = ("latch", "ticket")

    def __init__(
        self,
        seq: int,
        stream_id: int,
        row: int,
        arrive_ns: int,
        dependency: Op | list[Op] | None,
        latch: Latch,
        ticket: int,
    ) -> None:
        super().__init__(seq, stream_id, row, arrive_ns, dependency, 0)
        self.latch = latch
        self.ticket = ticket
