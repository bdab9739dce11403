"""The rules of a stream-ordered memory pool, as measured on one driver (docs/model.md).

The pool's state lives here and nowhere else.  It never looks at the device: whoever calls it says
what the time is, what a stream or the host knows, and hands over the op of every free, whose
`done_ns` the device fills in.  Addresses and sizes are bytes, times nanoseconds.

An allocation tries, in this order:

1. a pending block that its own stream freed;
2. a free block (host-known, or seen complete before) with memory behind all of it;
3. a pending block whose free its stream comes after (`follow_event_dependencies`);
4. a pending block whose free has completed by now; if none is large enough, all such blocks
   become free blocks, which join whoever freed them (`allow_opportunistic`);
5. address space with too little memory behind it, the tail last: spare chunks are remapped, then
   new ones mapped;
6. a pending block of another stream, for whose free the stream then has to wait
   (`allow_internal_dependencies`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

from poolbench.backends.model.blocks import (
    ENDLESS,
    Block,
    SizeIndex,
    State,
    absorb_following,
    absorb_previous,
    split,
)
from poolbench.backends.model.chunks import Chunks
from poolbench.backends.model.history import History
from poolbench.backends.model.ops import Op
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.streams import Clock
from poolbench.domain import AttributeSet, Outcome


@dataclass(slots=True, kw_only=True)
class Grant:
    """What an allocation got.

    wait_for
        the free that its stream has to wait for, by the driver's own decision.
    reused_row
        row of the free whose block was reused, -1 where there is none.
    n_grown, n_remapped
        chunks.  When the allocation failed (`address` -1): those that the pool has grown by, and
        spare ones that were not enough.
    n_looked
        streams whose progress the driver has looked at.
    """

    address: int = -1
    outcome: Outcome = Outcome.OUT_OF_MEMORY
    wait_for: Op | None = None
    reused_row: int = -1
    n_grown: int = 0
    n_remapped: int = 0
    n_looked: int = 0


class _Pending:
    """What one stream has freed and the host does not know of: by size, and in order.

    `unseen` are the frees not yet seen complete; `seen_seq` is the last one that was.
    """

    __slots__ = ("by_size", "log", "seen_seq", "unseen")

    def __init__(self) -> None:
        self.by_size = SizeIndex()
        self.log: deque[tuple[Op, Block]] = deque()
        self.unseen: deque[Op] = deque()
        self.seen_seq = -1

    def see(self, now_ns: int) -> int:
        """The number of the last free that is complete."""
        unseen = self.unseen
        while unseen and 0 <= unseen[0].done_ns <= now_ns:
            self.seen_seq = unseen.popleft().seq
        return self.seen_seq


def _is_pending_of(stream: int, block: Block) -> bool:
    point = block.point
    return block.state is State.PENDING and point is not None and point.stream_id == stream


class Pool:
    """One pool.

    room
        bytes of the device that the pool may take in all.
    max_size
        0 for none; rounded up to whole chunks.
    """

    def __init__(
        self,
        attributes: AttributeSet,
        profile: DeviceProfile,
        *,
        max_size: int,
        release_threshold: int,
        room: int,
    ) -> None:
        self._attributes = attributes
        self._granule = profile.block_granule
        self._chunk_size = profile.chunk_size
        self._threshold = release_threshold
        limit = room // self._chunk_size
        if max_size:
            limit = min(limit, -(-max_size // self._chunk_size))
        self._max_chunks = limit
        self._chunks = Chunks(profile.pool_base, self._chunk_size)
        self._tail = Block(profile.pool_base, profile.pool_base + ENDLESS, State.FREE)
        self._free = SizeIndex()
        # Free blocks with wholly free chunks that hold memory, by address, and how many of those.
        self._spare: list[tuple[int, Block]] = []
        self._n_spare = 0
        self._pending: dict[int, _Pending] = {}
        self._live: dict[int, tuple[Block, int]] = {}
        self._history = History(attributes)
        self.used = 0
        self.used_high = 0
        self.reserved_high = 0

    @property
    def reserved(self) -> int:
        return self._chunks.n_mapped * self._chunk_size

    def reset_marks(self) -> None:
        self.used_high = self.used
        self.reserved_high = self.reserved

    def _rounded(self, size: int) -> int:
        return max(self._granule, -(-size // self._granule) * self._granule)

    # --- the calls --------------------------------------------------------------------------

    def _of_stream(self, stream: int) -> _Pending:
        """At its first use of the pool a stream takes its place among those that are asked."""
        pending = self._pending.get(stream)
        if pending is None:
            pending = self._pending[stream] = _Pending()
        return pending

    def allocate(self, size: int, stream: int, clock: Clock, now_ns: int) -> Grant:
        """`clock`: what `stream` comes after, of other streams."""
        need = self._rounded(size)
        attributes = self._attributes
        grant = Grant()
        pending = self._of_stream(stream)
        block = pending.by_size.best(need) or self._backed(need)
        if block is None and attributes.follow_event_dependencies and clock:
            block = self._best_until(need, clock)
        if block is None and attributes.allow_opportunistic:
            block = self._completed(need, now_ns, grant)
        taken = self._map(need, grant) if block is None else self._take(block, need)
        if taken is None and attributes.allow_internal_dependencies:
            block = self._pending_elsewhere(need, stream)
            if block is not None:
                grant.wait_for = block.point
                taken = self._take(block, need)
        if taken is None:
            return grant
        if grant.wait_for is not None:
            grant.outcome, grant.reused_row = Outcome.INTERNAL_DEPENDENCY, grant.wait_for.row
        else:
            fresh = Outcome.SLACK
            if grant.n_remapped:
                fresh = Outcome.REMAPPED
            if grant.n_grown:
                fresh = Outcome.GROWN
            grant.outcome, grant.reused_row = self._history.name(
                taken.begin, taken.end, stream, clock, fresh
            )
        grant.address = taken.begin
        taken.state = State.LIVE
        self._live[taken.begin] = (taken, size)
        self.used += size
        self.used_high = max(self.used_high, self.used)
        return grant

    def free(self, address: int, op: Op) -> int:
        """Gives a block back at `op`'s place in its stream; the bytes that were asked for.

        It joins what the same stream has freed beside it and the host does not know of, and the
        whole goes by this free, even if the others were complete (measured).
        """
        block, size = self._live.pop(address)
        self.used -= size
        stream = op.stream_id
        pending = self._of_stream(stream)
        block.state, block.point = State.PENDING, op
        previous, following = block.previous, block.following
        if previous is not None and _is_pending_of(stream, previous):
            pending.by_size.remove(previous)
            absorb_previous(block)
        if following is not None and _is_pending_of(stream, following):
            pending.by_size.remove(following)
            absorb_following(block)
        pending.by_size.add(block)
        pending.log.append((op, block))
        pending.unseen.append(op)
        self._history.free(block.begin, block.end, op)
        return size

    def host_knows(self, clock: Clock, floor: int) -> int:
        """The host has synchronised: it knows of every op up to `floor`, and by stream up to
        `clock`.  Memory above the threshold goes back; the number of chunks that did."""
        self._history.host_knows(clock, floor)
        n_settled = sum(
            self._settle(pending, max(floor, clock.get(stream, 0)))
            for stream, pending in self._pending.items()
            if pending.log
        )
        return self._release(self._threshold, 0) if n_settled else 0

    def trim(self, keep: int) -> int:
        """`cuMemPoolTrimTo`: gives free chunks back, but never goes below `keep`."""
        return self._release(keep, self._chunk_size)

    # --- rules 1 to 4 -----------------------------------------------------------------------

    def _backed(self, need: int) -> Block | None:
        """The best free block that has memory behind all of it: behind the part that is needed is
        not enough (measured)."""
        is_backed = self._chunks.is_backed
        return self._free.first(need, lambda block: is_backed(block.begin, block.end))

    def _best_until(self, need: int, clock: Clock) -> Block | None:
        """The best pending block of the stream that used the pool first, among those streams that
        have one which was freed no later than `clock` says."""
        for stream, pending in self._pending.items():
            known = clock.get(stream, 0)
            if known:
                found = pending.by_size.best_up_to(need, known)
                if found is not None:
                    return found
        return None

    def _completed(self, need: int, now_ns: int, grant: Grant) -> Block | None:
        seen = {
            stream: pending.see(now_ns)
            for stream, pending in self._pending.items()
            if len(pending.by_size)
        }
        grant.n_looked = len(seen)
        block = self._best_until(need, seen)
        if block is not None:
            return block
        for stream, seq in seen.items():
            self._settle(self._pending[stream], seq)
        return None

    def _settle(self, pending: _Pending, known: int) -> int:
        """Makes free blocks of what was freed up to op `known`, the last first (measured); how
        many."""
        log = pending.log
        settled = []
        while log and log[0][0].seq <= known:
            op, block = log.popleft()
            if block.state is State.PENDING and block.point is op:
                settled.append(block)
        for block in reversed(settled):
            pending.by_size.remove(block)
            self._make_free(block)
        return len(settled)

    # --- rule 5: memory ---------------------------------------------------------------------

    def _map(self, need: int, grant: Grant) -> Block | None:
        """A block of address space with memory put behind it.

        If there is not enough memory, what there is is mapped all the same (measured).
        """
        block = self._free.best(need) or self._tail
        taken = self._take(block, need)
        missing = self._chunks.missing(taken.begin, taken.end)
        n_remapped = min(len(missing), self._n_spare)
        n_new = len(missing) - n_remapped
        n_growable = self._max_chunks - self._chunks.n_mapped
        n_grown = min(n_new, max(0, n_growable))
        grant.n_grown = n_grown
        grant.n_remapped = n_remapped
        if n_grown < n_new:
            for chunk in missing[:n_grown]:
                self._chunks.map(chunk)
            self.reserved_high = max(self.reserved_high, self.reserved)
            self._make_free(taken)
            self._release(self._threshold, 0)
            return None
        if n_remapped:
            self._give_up_spare(n_remapped)
        for chunk in missing:
            self._chunks.map(chunk)
        self.reserved_high = max(self.reserved_high, self.reserved)
        return taken

    def _give_up_spare(self, n_chunks: int) -> None:
        """Takes the memory from `n_chunks` chunks of free blocks, the highest first (measured for
        one remap; which chunks a release takes is assumed to be the same)."""
        self._n_spare -= n_chunks
        while n_chunks:
            block = self._spare[-1][1]
            chunk = self._chunks.last_spare(block)
            if chunk < 0:
                self._spare.pop()
                continue
            self._chunks.unmap(chunk)
            self._history.forget(*self._chunks.span(chunk))
            n_chunks -= 1

    def _release(self, keep: int, margin: int) -> int:
        """Gives spare chunks up while more than `keep` bytes (and `margin`) would be left."""
        surplus = self.reserved - keep
        if surplus <= 0 or not self._n_spare:
            return 0
        n_chunks = surplus // margin if margin else -(-surplus // self._chunk_size)
        n_chunks = min(n_chunks, self._n_spare)
        self._give_up_spare(n_chunks)
        return n_chunks

    # --- rule 6 -----------------------------------------------------------------------------

    def _pending_elsewhere(self, need: int, stream: int) -> Block | None:
        """Of the stream that used the pool first among those with a block large enough.

        Not of the one created first (measured: three streams that took their first blocks in the
        order 2, 1, 0 were asked in that order), nor by address or by the order of frees.
        """
        for other, pending in self._pending.items():
            if other != stream:
                block = pending.by_size.best(need)
                if block is not None:
                    return block
        return None

    # --- blocks -----------------------------------------------------------------------------

    def _take(self, block: Block, need: int) -> Block:
        """The front of `block` as a block of its own; the rest stays what it was."""
        if block.state is State.PENDING:
            point = block.point
            assert point is not None
            by_size = self._pending[point.stream_id].by_size
            by_size.remove(block)
            if block.size == need:
                return block
            taken = split(block, block.begin + need)
            by_size.add(block)
            return taken
        self._leave_free(block)
        if block.size == need:
            return block
        taken = split(block, block.begin + need)
        self._enter_free(block)
        return taken

    def _leave_free(self, block: Block) -> None:
        """Takes `block` out of the indices, before anything about it changes."""
        self._n_spare -= self._chunks.n_spare(block)
        index = bisect_left(self._spare, (block.begin,))
        if index < len(self._spare) and self._spare[index][1] is block:
            del self._spare[index]
        if block is not self._tail:
            self._free.remove(block)

    def _enter_free(self, block: Block) -> None:
        n_spare = self._chunks.n_spare(block)
        if n_spare:
            self._n_spare += n_spare
            insort(self._spare, (block.begin, block))
        if block is not self._tail:
            self._free.add(block)

    def _make_free(self, block: Block) -> None:
        """Any stream may have it; neighbours join."""
        block.state, block.point = State.FREE, None
        previous, following = block.previous, block.following
        if previous is not None and previous.state is State.FREE:
            self._leave_free(previous)
            absorb_previous(block)
        assert following is not None  # the tail comes after every block
        if following.state is State.FREE:
            self._leave_free(following)
            if following is self._tail:
                self._tail = block
            absorb_following(block)
        self._enter_free(block)
