"""What stands in a stream: one object for each step that the device carries out.

Plain mutable records without behaviour; the host makes them, the device fills in the times.
Times are nanoseconds on the host's axis, `UNKNOWN` until the device has got that far.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolbench.backends.model.device import CopyEngine
    from poolbench.backends.model.memory import Access
    from poolbench.backends.model.streams import Latch, Stream

UNKNOWN = -1


class OpKind(IntEnum):
    """How the device deals with an op."""

    MARK = 0
    """Takes (next to) no time: alloc, free, record, wait."""
    WORK = 1
    """Occupies multiprocessors, a copy engine, or (memset) neither."""
    HOLD = 2


class Op:
    """One op.

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
    n_blocks, block_sms, block_threads
        a kernel's blocks, and what each of them occupies: a multiprocessor of its own (1 or 0) and
        thread slots.
    n_resident
        how many blocks it got at its start.
    """

    __slots__ = (
        "access",
        "after_ns",
        "arrive_ns",
        "before_ns",
        "begin_ns",
        "block_sms",
        "block_threads",
        "cost_ns",
        "dependency",
        "done_ns",
        "engine",
        "event_ns",
        "kind",
        "latch",
        "n_blocks",
        "n_resident",
        "row",
        "seq",
        "stream_id",
        "ticket",
        "waiters",
    )

    def __init__(
        self,
        kind: OpKind,
        seq: int,
        stream_id: int,
        row: int,
        arrive_ns: int,
        dependency: Op | list[Op] | None = None,
        cost_ns: int = 0,
        traced_ns: int = 0,
    ) -> None:
        self.kind = kind
        self.seq = seq
        self.stream_id = stream_id
        self.row = row
        self.arrive_ns = arrive_ns
        self.dependency = dependency
        self.cost_ns = cost_ns
        self.event_ns = 0
        self.before_ns = self.after_ns = traced_ns
        self.begin_ns = UNKNOWN
        self.done_ns = UNKNOWN
        self.waiters: list[Stream] | None = None
        self.n_blocks = 0
        self.block_sms = 0
        self.block_threads = 0
        self.n_resident = 0
        self.latch: Latch | None = None
        self.ticket = 0
        self.engine: CopyEngine | None = None
        self.access: Access | None = None
