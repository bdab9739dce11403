"""Who used each byte of an address space last.

`LastUsers` is a table that one classification builds up and throws away; nothing else sees it.
Addresses and sizes are bytes, ranges half open.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a range with its last user, `NOBODY` where nothing was ever kept there."""

    begin: int
    end: int
    user: int


class LastUsers:
    """Disjoint ranges in the order of their addresses, each with a user.

    A change costs a binary search plus the ranges that it replaces, so that n allocations cost
    about n log n: every range that is replaced was put there once.
    """

    __slots__ = ("_begins", "_ends", "_users")

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._users: list[int] = []

    def _span(self, begin: int, end: int) -> tuple[int, int]:
        """Indices of the ranges that share a byte with [begin, end)."""
        first = bisect_right(self._begins, begin)
        if first and self._ends[first - 1] > begin:
            first -= 1
        return first, max(first, bisect_left(self._begins, end))

    def pieces(self, begin: int, end: int) -> tuple[Piece, ...]:
        """The parts of [begin, end) in order; together they cover it."""
        first, last = self._span(begin, end)
        found: list[Piece] = []
        at = begin
        for index in range(first, last):
            left, right = max(self._begins[index], begin), min(self._ends[index], end)
            if left > at:
                found.append(Piece(at, left, NOBODY))
            found.append(Piece(left, right, self._users[index]))
            at = right
        if at < end:
            found.append(Piece(at, end, NOBODY))
        return tuple(found)

    def beside(self, begin: int, end: int) -> tuple[Piece | None, Piece | None]:
        """The ranges that end where [begin, end) begins and begin where it ends."""
        first, last = self._span(begin, end)
        left = right = None
        if first and self._ends[first - 1] == begin:
            left = self._piece(first - 1)
        if last < len(self._begins) and self._begins[last] == end:
            right = self._piece(last)
        return left, right

    def _piece(self, index: int) -> Piece:
        return Piece(self._begins[index], self._ends[index], self._users[index])

    def put(self, begin: int, end: int, user: int) -> None:
        """Makes `user` the last user of [begin, end); `NOBODY` forgets the range."""
        first, last = self._span(begin, end)
        begins, ends, users = [begin], [end], [user]
        if user == NOBODY:
            begins, ends, users = [], [], []
        if first < last and self._begins[first] < begin:
            begins.insert(0, self._begins[first])
            ends.insert(0, begin)
            users.insert(0, self._users[first])
        if first < last and self._ends[last - 1] > end:
            begins.append(end)
            ends.append(self._ends[last - 1])
            users.append(self._users[last - 1])
        self._begins[first:last] = begins
        self._ends[first:last] = ends
        self._users[first:last] = users
