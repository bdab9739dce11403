"""Which chunks of a pool's address space have memory behind them, as far as it can be told.

The pool maps physical memory in chunks of 32 MiB (measured on an H200, driver 580: reserved grows
in these steps, and addresses of different growths never share a chunk).  Nothing says which chunk a
release took away; `Chunks` keeps what follows from the addresses handed out and from the pool's
`reserved`: chunks that must be mapped, and *suspects*, which may have been released.

A table that one classification builds up and throws away.  Sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

CHUNK_SHIFT = 25
CHUNK_SIZE = 1 << CHUNK_SHIFT


def n_chunks(size: int) -> int:
    return -(-size >> CHUNK_SHIFT)


def chunks_of(begin: int, end: int) -> range:
    """Numbers of the chunks that hold a byte of [begin, end)."""
    return range(begin >> CHUNK_SHIFT, ((end - 1) >> CHUNK_SHIFT) + 1)


MayLose = Callable[[int], bool]
"""Whether a chunk that nobody uses can have lost its memory: not while the driver has to keep it
for a stream that freed it."""


class Backing(Enum):
    """Where the memory behind a range that an allocation received came from."""

    MAPPED = auto()
    REMAPPED = auto()
    GROWN = auto()


@dataclass(frozen=True, slots=True)
class Mapping:
    """What an allocation's chunks tell: new backing, and history that no longer counts.

    backing
        chunks of the allocation that had no known memory behind them before.
    released
        chunks known to have lost their memory: who used them last is of no interest any more.
    primed
        the range that was primed before the first step, once an allocation has shown where it is.
    """

    backing: dict[int, Backing]
    released: tuple[int, ...]
    primed: tuple[int, int] | None = None


class Chunks:
    """`reserved` is what the pool holds before the first step, `primed` the bytes of it that were
    allocated and freed once."""

    __slots__ = ("_expected", "_live", "_mapped", "_primed", "_suspects", "reserved")

    def __init__(self, reserved: int, primed: int) -> None:
        self.reserved = reserved
        self._primed = min(primed, reserved)
        self._expected: int | None = None
        self._live: dict[int, int] = {}
        self._mapped: set[int] = set()
        self._suspects: set[int] = set()

    def see(self, reserved: int, may_lose: MayLose) -> tuple[int, ...]:
        """Takes note of the pool's `reserved` after a call that allocated nothing.

        Returns the chunks that have certainly lost their memory.
        """
        self._expected = None
        if reserved < self.reserved:
            self._suspect(may_lose)
        self.reserved = reserved
        return self._resolve()

    def _suspect(self, may_lose: MayLose) -> None:
        self._suspects |= {
            chunk for chunk in self._mapped - self._live.keys() - self._suspects if may_lose(chunk)
        }

    def expect_release(self, threshold: int) -> None:
        """A synchronisation that nobody read the pool after: free chunks go until `threshold` bytes
        remain.  The next reading may still show that they did not."""
        if self.reserved > threshold:
            kept = max(len(self._live), threshold // CHUNK_SIZE) * CHUNK_SIZE
            self._expected = min(self.reserved, kept)

    def allocate(
        self, begin: int, end: int, reserved: int, may_lose: MayLose, *, took_long: bool
    ) -> Mapping:
        """An allocation received [begin, end), and the pool holds `reserved` since.

        `took_long`: the call took the time of mapping memory, not that of handing out a block.
        """
        wanted = chunks_of(begin, end)
        released = self._apply_expected(reserved, len(wanted))
        growth = max(0, n_chunks(reserved - self.reserved))
        fresh = [chunk for chunk in wanted if chunk not in self._mapped]
        primed = self._find_primed(fresh) if len(fresh) > growth else None
        if primed is not None:
            known = chunks_of(*primed)
            self._mapped.update(known)
            fresh = [chunk for chunk in fresh if chunk not in known]
        suspects = [chunk for chunk in wanted if chunk in self._suspects]
        # Memory that is in the pool but was never seen under an address: left by a growth whose
        # allocation went elsewhere.
        unseen = max(0, n_chunks(self.reserved) - len(self._mapped))
        backing: dict[int, Backing] = {}
        for chunk in fresh:
            if growth:
                growth -= 1
                backing[chunk] = Backing.GROWN
            elif unseen:
                unseen -= 1
                backing[chunk] = Backing.MAPPED
            else:
                backing[chunk] = Backing.REMAPPED
        # A suspect that is handed out while the pool grew by more than the new chunks has lost its
        # memory and got new.  Without growth it had never lost it, unless the call took as long as
        # mapping does and no other chunk accounts for that.
        lost: tuple[int, ...] = ()
        if growth:
            lost = tuple(suspects)
            backing.update(dict.fromkeys(lost, Backing.GROWN))
        elif took_long and not backing:
            lost = tuple(suspects)
            backing.update(dict.fromkeys(lost, Backing.REMAPPED))
        self._suspects.difference_update(suspects)
        self._mapped.update(wanted)
        for chunk in wanted:
            self._live[chunk] = self._live.get(chunk, 0) + 1
        self.reserved = reserved
        if Backing.REMAPPED in backing.values():
            self._suspect(may_lose)
        return Mapping(backing, released + lost + self._resolve(), primed)

    def free(self, begin: int, end: int) -> None:
        for chunk in chunks_of(begin, end):
            left = self._live.get(chunk, 0) - 1
            if left > 0:
                self._live[chunk] = left
            else:
                self._live.pop(chunk, None)

    def _apply_expected(self, reserved: int, n_wanted: int) -> tuple[int, ...]:
        """Believes in the expected release unless the pool would have had to grow by more than
        the allocation can use, to the very size that it had before."""
        expected, self._expected = self._expected, None
        if expected is None or expected >= self.reserved:
            return ()
        if reserved == self.reserved and reserved - expected > n_wanted * CHUNK_SIZE:
            return ()
        return self.see(expected, lambda _: True)

    def _find_primed(self, fresh: list[int]) -> tuple[int, int] | None:
        """Primed memory is one block; the first allocation from it gets its start."""
        if not self._primed or not fresh:
            return None
        begin, size = fresh[0] << CHUNK_SHIFT, self._primed
        self._primed = 0
        return begin, begin + size

    def _resolve(self) -> tuple[int, ...]:
        """Once at least as many chunks are missing as there are suspects, all of them are gone."""
        missing = len(self._mapped) - n_chunks(self.reserved)
        if not self._suspects or missing < len(self._suspects):
            return ()
        gone = tuple(self._suspects)
        self._mapped.difference_update(gone)
        self._suspects.clear()
        return gone
