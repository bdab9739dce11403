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
    its stream in it."""

    __slots__ = ("begin", "end", "following", "point", "previous", "state")

    def __init__(self, begin: int, end: int, state: State, point: Op | None = None) -> None:
        self.begin = begin
        self.end = end
        self.state = state
        self.point = point
        self.previous: Block | None = None
        self.following: Block | None = None

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
    """Blocks by size; among equals the one with the smaller `order` comes first.

    `order` must not change while a block is in the index, and differ between equal sizes.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, Block]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, block: Block, order: int) -> None:
        insort(self._entries, (block.end - block.begin, order, block))

    def remove(self, block: Block, order: int) -> None:
        entries = self._entries
        index = bisect_left(entries, (block.end - block.begin, order))
        assert entries[index][2] is block
        del entries[index]

    def best(self, size: int) -> Block | None:
        """The smallest block of at least `size`."""
        entries = self._entries
        index = bisect_left(entries, (size,))
        return entries[index][2] if index < len(entries) else None

    def best_up_to(self, size: int, order: int) -> tuple[int, int, Block] | None:
        """The same among blocks whose `order` is not above the limit, with size and order.

        Of each size only the smallest order matters, so that this looks at sizes, not at blocks.
        """
        entries = self._entries
        index = bisect_left(entries, (size,))
        while index < len(entries):
            found = entries[index]
            if found[1] <= order:
                return found
            index = bisect_left(entries, (found[0] + 1,), index)
        return None

    def first(self, size: int, is_wanted: Callable[[Block], bool]) -> Block | None:
        """The smallest wanted block of at least `size`."""
        entries = self._entries
        for index in range(bisect_left(entries, (size,)), len(entries)):
            if is_wanted(entries[index][2]):
                return entries[index][2]
        return None
