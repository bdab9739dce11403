"""What memory holds, where a plan asks: patterns of `fill`, moved by copies, destroyed by writes.

A byte holds (seed, origin): the pattern of `seed` counted from address `origin`; or something else.
A range written by two ops at once holds nothing in particular, and a check that runs beside a
write sees it, so a pool that hands out memory still in use is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from poolbench.backends.model.ranges import Ranges
from poolbench.plan.plan import BufferSpec
from poolbench.plan.steps import Launch, Memcpy, Memset, Step, Touch

Pattern = tuple[int, int]
"""Seed and origin."""


@dataclass(slots=True, kw_only=True)
class Access:
    """What one op does to memory: `writes` destroys, `seed` fills or (`is_check`) compares,
    `source` copies.  Ranges are (address, size)."""

    writes: tuple[tuple[int, int], ...] = ()
    seed: int | None = None
    is_check: bool = False
    source: int | None = None
    n_different: int = field(default=0, init=False)


class Memory:
    """Contents by address; ops must come in the order of their times."""

    def __init__(self) -> None:
        self._contents: Ranges[Pattern] = Ranges()

    def begin(self, access: Access) -> None:
        if access.is_check:
            access.n_different = self._n_different(access)
        elif access.seed is not None:
            for address, size in access.writes:
                self._contents.put(address, address + size, (access.seed, address))
        elif access.source is not None:
            self._copy(access.source, *access.writes[0])
        else:
            self._destroy(access)

    def end(self, access: Access) -> None:
        """Writes go on until the end: what began in between has lost."""
        if access.is_check:
            access.n_different = max(access.n_different, self._n_different(access))
        elif access.seed is None and access.source is None:
            self._destroy(access)

    def _destroy(self, access: Access) -> None:
        for address, size in access.writes:
            self._contents.forget(address, address + size)

    def _copy(self, source: int, target: int, size: int) -> None:
        shift = target - source
        for begin, end, pattern in self._contents.pieces(source, source + size):
            if pattern is None:
                self._contents.forget(begin + shift, end + shift)
            else:
                moved = (pattern[0], pattern[1] + shift)
                self._contents.put(begin + shift, end + shift, moved)

    def _n_different(self, access: Access) -> int:
        assert access.seed is not None
        ((address, size),) = access.writes
        wanted = (access.seed, address)
        return sum(
            end - begin
            for begin, end, pattern in self._contents.pieces(address, address + size)
            if pattern != wanted
        )


def access_of(step: Step, addresses: Sequence[int], buffers: Sequence[BufferSpec]) -> Access | None:
    """What a step writes and where from, as far as that matters to what a check finds."""
    match step:
        case Launch(work=Touch(writes=writes)):
            return Access(writes=tuple((addresses[one], buffers[one].size) for one in writes))
        case Memcpy(dst=dst, src=src, size=size):
            return Access(writes=((addresses[dst], size),), source=addresses[src])
        case Memset(buffer=buffer, size=size):
            return Access(writes=((addresses[buffer], size),))
        case _:
            return None
