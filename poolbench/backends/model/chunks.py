"""Which chunks of the pool's address space hold memory.

A byte for each chunk, so that counting and searching whole ranges is quick.  Addresses count from
the pool's base here; a chunk that was never asked about holds nothing.
"""

from __future__ import annotations

from poolbench.backends.model.blocks import Block


class Chunks:
    """`n_mapped` chunks hold memory."""

    __slots__ = ("_base", "_held", "_size", "n_mapped")

    def __init__(self, base: int, size: int) -> None:
        self._base = base
        self._size = size
        self._held = bytearray()
        self.n_mapped = 0

    def _touched(self, begin: int, end: int) -> tuple[int, int]:
        """Chunks that share a byte with [begin, end)."""
        return (begin - self._base) // self._size, -(-(end - self._base) // self._size)

    def _inside(self, block: Block) -> tuple[int, int]:
        """Chunks that lie wholly in `block`."""
        first = -(-(block.begin - self._base) // self._size)
        return first, max(first, (block.end - self._base) // self._size)

    def span(self, chunk: int) -> tuple[int, int]:
        """The addresses of a chunk."""
        begin = self._base + chunk * self._size
        return begin, begin + self._size

    def is_backed(self, begin: int, end: int) -> bool:
        first, last = self._touched(begin, end)
        return last <= len(self._held) and self._held.find(0, first, last) < 0

    def missing(self, begin: int, end: int) -> list[int]:
        """Chunks that [begin, end) needs and that hold nothing."""
        first, last = self._touched(begin, end)
        held = self._held
        if last > len(held):
            held.extend(bytes(last - len(held)))
        return [chunk for chunk in range(first, last) if not held[chunk]]

    def n_spare(self, block: Block) -> int:
        """How many chunks inside `block` hold memory."""
        first, last = self._inside(block)
        return self._held.count(1, first, min(last, len(self._held)))

    def last_spare(self, block: Block) -> int:
        """The highest chunk inside `block` that holds memory, -1 if there is none."""
        first, last = self._inside(block)
        return self._held.rfind(1, first, min(last, len(self._held)))

    def map(self, chunk: int) -> None:
        self._held[chunk] = 1
        self.n_mapped += 1

    def unmap(self, chunk: int) -> None:
        self._held[chunk] = 0
        self.n_mapped -= 1
