"""What each byte of an address space was last used for.

Disjoint ranges in the order of their addresses, half open, each with a value; gaps have none.  A
change costs a binary search plus the ranges that it replaces.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")


class Ranges(Generic[T]):
    """A map from addresses to values."""

    __slots__ = ("_begins", "_ends", "_values")

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._values: list[T] = []

    def _span(self, begin: int, end: int) -> tuple[int, int]:
        """Indices of the ranges that share a byte with [begin, end)."""
        first = bisect_right(self._begins, begin)
        if first and self._ends[first - 1] > begin:
            first -= 1
        return first, bisect_left(self._begins, end, first)

    def pieces(self, begin: int, end: int) -> list[tuple[int, int, T | None]]:
        """The parts of [begin, end) in order; together they cover it."""
        first, last = self._span(begin, end)
        found: list[tuple[int, int, T | None]] = []
        at = begin
        for index in range(first, last):
            left, right = max(self._begins[index], begin), min(self._ends[index], end)
            if left > at:
                found.append((at, left, None))
            found.append((left, right, self._values[index]))
            at = right
        if at < end:
            found.append((at, end, None))
        return found

    def whole(self, begin: int, end: int) -> T | None:
        """The value of exactly this range, if it is one of the map's."""
        index = bisect_left(self._begins, begin)
        if index < len(self._begins) and self._begins[index] == begin and self._ends[index] == end:
            return self._values[index]
        return None

    def put(self, begin: int, end: int, value: T) -> None:
        index = bisect_left(self._begins, begin)
        if index < len(self._begins) and self._begins[index] == begin and self._ends[index] == end:
            self._values[index] = value
            return
        self._replace(begin, end, ([begin], [end], [value]))

    def forget(self, begin: int, end: int) -> None:
        self._replace(begin, end, ([], [], []))

    def _replace(self, begin: int, end: int, by: tuple[list[int], list[int], list[T]]) -> None:
        first, last = self._span(begin, end)
        begins, ends, values = by
        if first < last:
            if self._begins[first] < begin:
                begins.insert(0, self._begins[first])
                ends.insert(0, begin)
                values.insert(0, self._values[first])
            if self._ends[last - 1] > end:
                begins.append(end)
                ends.append(self._ends[last - 1])
                values.append(self._values[last - 1])
        self._begins[first:last] = begins
        self._ends[first:last] = ends
        self._values[first:last] = values
