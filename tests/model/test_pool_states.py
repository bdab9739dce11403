"""The pool alone, driven by hypothesis: its books balance after every call, in any order."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from poolbench.backends.model.blocks import Block, State
from poolbench.backends.model.ops import Op
from poolbench.backends.model.pool import Pool
from poolbench.backends.model.profile import MIB
from poolbench.backends.model.profile_file import load
from poolbench.domain import COMBINATIONS, AttributeSet, Outcome

H200 = load().profile

STREAMS = st.integers(1, 3)
SIZES = st.one_of(st.integers(1, 4 * MIB), st.integers(1, 6).map(lambda n: n * 16 * MIB))
NO_REUSE = {Outcome.SLACK, Outcome.GROWN, Outcome.REMAPPED}


class PoolStates(RuleBasedStateMachine):
    """Streams free behind work that ends when a rule says so."""

    @initialize(
        attributes=st.sampled_from(COMBINATIONS),
        max_size=st.sampled_from((0, 64 * MIB, 192 * MIB)),
        threshold=st.sampled_from((0, 64 * MIB, 2**64 - 1)),
    )
    def make(self, attributes: AttributeSet, max_size: int, threshold: int) -> None:
        self.max_size = max_size
        self.pool = Pool(
            attributes,
            H200,
            max_size=max_size,
            release_threshold=threshold,
            room=1024 * MIB,
        )
        self.live: dict[int, int] = {}
        self.asked: dict[int, int] = {}
        self.frees: list[Op] = []
        self.seq = 0
        self.now = 0
        self.clocks: dict[int, dict[int, int]] = {1: {}, 2: {}, 3: {}}
        self.host: dict[int, int] = {}

    @rule(size=SIZES, stream=STREAMS)
    def allocate(self, size: int, stream: int) -> None:
        grant = self.pool.allocate(size, stream, self.clocks[stream], self.now)
        assert (grant.address < 0) == (grant.outcome is Outcome.OUT_OF_MEMORY)
        if grant.address < 0:
            return
        end = grant.address + -(-size // 512) * 512
        assert all(
            end <= begin or begin + room <= grant.address for begin, room in self.live.items()
        )
        self.live[grant.address] = end - grant.address
        self.asked[grant.address] = size
        waits = grant.outcome is Outcome.INTERNAL_DEPENDENCY
        assert waits == (grant.wait_for is not None)
        assert (grant.reused_row < 0) == (grant.outcome in NO_REUSE)

    @rule(data=st.data(), stream=STREAMS)
    def free(self, data: st.DataObject, stream: int) -> None:
        if not self.live:
            return
        address = data.draw(st.sampled_from(sorted(self.live)))
        del self.live[address]
        self.seq += 1
        op = Op(self.seq, stream, self.seq, 0, None, 0)
        self.frees.append(op)
        assert self.pool.free(address, op) == self.asked.pop(address)

    @rule(stream=STREAMS)
    def complete(self, stream: int) -> None:
        """Everything of a stream is over."""
        self.now += 1
        for op in self.frees:
            if op.stream_id == stream and op.done_ns < 0:
                op.done_ns = self.now

    @rule(stream=STREAMS, other=STREAMS)
    def order(self, stream: int, other: int) -> None:
        """`stream` waits for an event of `other`."""
        if stream != other:
            self.clocks[stream] = {**self.clocks[stream], other: self.seq}

    @rule(stream=STREAMS)
    def synchronise(self, stream: int) -> None:
        self.complete(stream)
        before = self.pool.reserved
        self.host[stream] = self.seq
        released = self.pool.host_knows(dict(self.host), 0)
        assert self.pool.reserved == before - released * H200.chunk_size

    @rule(keep=st.sampled_from((0, 40 * MIB, 96 * MIB)))
    def trim(self, keep: int) -> None:
        before = self.pool.reserved
        released = self.pool.trim(keep)
        assert self.pool.reserved == before - released * H200.chunk_size
        assert not released or self.pool.reserved >= keep

    # --- what always holds ------------------------------------------------------------------

    def blocks(self) -> Iterator[Block]:
        block: Block | None = self.pool._tail
        while block is not None:
            yield block
            block = block.previous

    @invariant()
    def blocks_cover_the_address_space(self) -> None:
        """Neighbours touch, and no two free ones are left apart."""
        following: Block | None = None
        for block in self.blocks():
            assert block.begin < block.end
            assert block.following is following
            if following is not None:
                assert block.end == following.begin
                assert not (block.state is following.state is State.FREE)
            following = block
        assert following is not None
        assert following.begin == H200.pool_base

    @invariant()
    def memory_is_counted(self) -> None:
        """Live and pending blocks have memory; used, reserved and their limits agree."""
        pool = self.pool
        assert pool.used == sum(self.asked.values())
        assert pool.used <= pool.used_high
        assert sum(self.live.values()) <= pool.reserved <= pool.reserved_high
        assert pool.reserved % H200.chunk_size == 0
        assert not self.max_size or pool.reserved <= self.max_size
        for block in self.blocks():
            if block.state is not State.FREE:
                assert pool._chunks.is_backed(block.begin, block.end)

    @invariant()
    def indices_hold_what_is_there(self) -> None:
        """Every free and pending block can be found by its size; spare chunks are counted."""
        pool = self.pool
        free = [block for block in self.blocks() if block.state is State.FREE]
        pending = [block for block in self.blocks() if block.state is State.PENDING]
        assert len(pool._free) == len(free) - 1  # the tail is not in it
        assert sum(len(one.by_size) for one in pool._pending.values()) == len(pending)
        spare = {block.begin: pool._chunks.n_spare(block) for block in free}
        assert pool._n_spare == sum(spare.values())
        assert {begin for begin, n in spare.items() if n} <= {begin for begin, _ in pool._spare}


TestPoolStates = PoolStates.TestCase
TestPoolStates.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
