"""What memory holds, where a plan asks: patterns of `fill`, moved by copies, destroyed by writes.

A byte holds (seed, origin): the pattern of `seed` counted from address `origin`; or something else.
A range written by two ops at once holds nothing in particular, and a check that runs beside a
write sees it, so a pool that hands out memory still in use is found out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from poolbench.analysis.ranges import LastUsers

_OTHER = 0
"""Content that is no pattern; also what was never written."""


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
        self._contents = LastUsers()
        self._numbers: dict[tuple[int, int], int] = {}
        self._patterns: list[tuple[int, int] | None] = [None]

    def begin(self, access: Access) -> None:
        if access.is_check:
            access.n_different = self._n_different(access)
        elif access.seed is not None:
            for address, size in access.writes:
                number = self._number(access.seed, address)
                self._contents.put(address, address + size, number)
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

    def _number(self, seed: int, origin: int) -> int:
        known = self._numbers.setdefault((seed, origin), len(self._patterns))
        if known == len(self._patterns):
            self._patterns.append((seed, origin))
        return known

    def _destroy(self, access: Access) -> None:
        for address, size in access.writes:
            self._contents.put(address, address + size, _OTHER)

    def _copy(self, source: int, target: int, size: int) -> None:
        shift = target - source
        for piece in self._contents.pieces(source, source + size):
            pattern = self._patterns[piece.user] if piece.user > 0 else None
            number = _OTHER
            if pattern is not None:
                number = self._number(pattern[0], pattern[1] + shift)
            self._contents.put(piece.begin + shift, piece.end + shift, number)

    def _n_different(self, access: Access) -> int:
        assert access.seed is not None
        ((address, size),) = access.writes
        wanted = self._numbers.get((access.seed, address), _OTHER)
        return sum(
            piece.end - piece.begin
            for piece in self._contents.pieces(address, address + size)
            if piece.user != wanted or wanted == _OTHER
        )
