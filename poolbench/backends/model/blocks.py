"""The pool's address space: blocks in the order of their addresses, and indices to search them.

One contiguous range that starts at the pool's base and never ends: its last block is the *tail*,
address space that nobody has used yet or that is free to the end.  Blocks know their neighbours;
which of the chunks behind them hold memory is kept by `chunks.Chunks`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from enum import IntEnum

from poolbench.backends.model.ops import Op

ENDLESS = 1 << 62


class State(IntEnum):
    LIVE = 0
    PENDING = 1
    """Freed; nobody but its stream may take it for granted that the free is over."""
    FREE = 2
    """Free for any stream: host-known, seen complete, or never used."""
    GONE = 3
    """Joined with a neighbour."""


class Block:
    """A range of addresses.  `point` is the free that a pending block waits for: the last one of
    its stream in it.  `turn` is its place among equals of the index that it is in."""

    __slots__ = ("begin", "end", "following", "point", "previous", "state", "turn")

    def __init__(self, begin: int, end: int, state: State, point: Op | None = None) -> None:
        self.begin = begin
        self.end = end
        self.state = state
        self.point = point
        self.previous: Block | None = None
        self.following: Block | None = None
        self.turn = 0

    @property
    def size(self) -> int:
        return self.end - self.begin


def split(block: Block, at: int) -> Block:
    """Cuts the front of `block` off, up to address `at`, as a block of its own; returns it.

    `block` stays what it was, only smaller.
    """
    front = Block(block.begin, at, block.state, block.point)
    block.begin = at
    front.previous, front.following = block.previous, block
    if block.previous is not None:
        block.previous.following = front
    block.previous = front
    return front


def absorb_previous(block: Block) -> None:
    """`block` takes its lower neighbour in."""
    gone = block.previous
    assert gone is not None
    block.begin = gone.begin
    block.previous = gone.previous
    if gone.previous is not None:
        gone.previous.following = block
    gone.state = State.GONE


def absorb_following(block: Block) -> None:
    """`block` takes its upper neighbour in."""
    gone = block.following
    assert gone is not None
    block.end = gone.end
    block.following = gone.following
    if gone.following is not None:
        gone.following.previous = block
    gone.state = State.GONE


class SizeIndex:
    """Blocks by size; among equals the one that came into the index first comes first."""

    __slots__ = ("_entries", "_n_added")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, Block]] = []
        self._n_added = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, block: Block) -> None:
        """The block's size must not change while it is in the index."""
        self._n_added = block.turn = self._n_added + 1
        insort(self._entries, (block.end - block.begin, block.turn, block))

    def remove(self, block: Block) -> None:
        entries = self._entries
        index = bisect_left(entries, (block.end - block.begin, block.turn))
        assert entries[index][2] is block
        del entries[index]

    def best(self, size: int) -> Block | None:
        """The smallest block of at least `size`."""
        entries = self._entries
        index = bisect_left(entries, (size,))
        return entries[index][2] if index < len(entries) else None

    def best_up_to(self, size: int, seq: int) -> Block | None:
        """The same among pending blocks whose free is no later than op `seq` of its stream."""
        entries = self._entries
        for index in range(bisect_left(entries, (size,)), len(entries)):
            block = entries[index][2]
            if block.point is not None and block.point.seq <= seq:
                return block
        return None

    def first(self, size: int, is_wanted: Callable[[Block], bool]) -> Block | None:
        """The smallest wanted block of at least `size`."""
        entries = self._entries
        for index in range(bisect_left(entries, (size,)), len(entries)):
            if is_wanted(entries[index][2]):
                return entries[index][2]
        return None
