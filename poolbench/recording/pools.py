"""What the program set its memory pool to.  Pure.

A scenario has one pool.  Where the program allocates from several, the settings are those of the
one with the most allocations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from poolbench.domain import THRESHOLD_MAX

_FOLLOW, _OPPORTUNISTIC, _INTERNAL, _THRESHOLD = 1, 2, 3, 4
"""`CUmemPool_attribute`."""
_OF_DEVICE = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """`max_size` 0 is no limit; `n_pools` that were allocated from."""

    bits: str = "111"
    release_threshold: int = 0
    max_size: int = 0
    n_pools: int = 1
    is_own: bool = False
    """A pool that the program created, not the device's."""


@dataclass(slots=True)
class _Pool:
    attributes: dict[int, int] = field(default_factory=dict)
    max_size: int = 0


@dataclass(slots=True)
class Pools:
    _pools: dict[int, _Pool] = field(default_factory=dict)
    _created: set[int] = field(default_factory=set)
    _default: int = 0
    _used: Counter[int] = field(default_factory=Counter)

    def created(self, pool: int, max_size: int) -> None:
        """A handle that comes again is a new pool."""
        self._pools[pool] = _Pool(max_size=max_size)
        self._created.add(pool)

    def set(self, pool: int, attribute: int, value: int) -> None:
        self._pools.setdefault(pool, _Pool()).attributes[attribute] = value & (2**64 - 1)

    def default_is(self, pool: int) -> None:
        self._default = self._default or pool

    def chosen(self, pool: int) -> None:
        self._default = pool

    def used(self, pool: int) -> None:
        self._used[pool or self._default] += 1

    def settings(self, seen_threshold: int | None = None) -> PoolSettings:
        """`seen_threshold`: as CUPTI reports it, for a pool that was set before anyone looked."""
        most = self._used.most_common(1)
        handle = most[0][0] if most else self._default
        if (
            handle == _OF_DEVICE and len(self._pools) == 1
        ):  # the program asked for it by other means
            (handle,) = self._pools
        pool = self._pools.get(handle, _Pool())
        flags = [pool.attributes.get(one, 1) for one in (_FOLLOW, _OPPORTUNISTIC, _INTERNAL)]
        threshold = pool.attributes.get(_THRESHOLD, 0 if seen_threshold is None else seen_threshold)
        return PoolSettings(
            bits="".join("1" if flag else "0" for flag in flags),
            release_threshold=min(threshold, THRESHOLD_MAX),
            max_size=pool.max_size,
            n_pools=max(1, len(self._used)),
            is_own=handle in self._created,
        )
