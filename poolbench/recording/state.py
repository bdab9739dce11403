"""What CUPTI says of the pool while the program ran: how much it held and had given out.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poolbench.recording.raw import MEMORY, RAN, What
from poolbench.recording.read import Recording, cells
from poolbench.recording.window import Window

_AT, _RAN = cells(MEMORY), cells(RAN)
_LOCAL = 1
"""`CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL`: the only one with a size."""
_MOST = 2**48
"""No pool is larger: what says so is no size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """Bytes; 0 where CUPTI did not say.

    reserved_at_begin
        about when the recorded part began: at its first allocation or free.
    threshold
        release threshold, `None` where it is not known.
    cupti_ns
        time that CUPTI and the taking down of its records took, on whatever thread.
    """

    reserved_at_begin: int = 0
    reserved_high: int = 0
    used_high: int = 0
    threshold: int | None = None
    cupti_ns: int = 0


def pool_state(recording: Recording, window: Window) -> PoolState:
    """Of the pool with the most calls in the recorded part."""
    rows = recording.of(What.POOL_MEMORY)
    at = rows[:, _AT["at"]]
    reserved, used = rows[:, _AT["reserved"]], rows[:, _AT["used"]]
    is_sound = (
        (rows[:, _AT["pool_type"]] == _LOCAL)
        & (at >= window.begin)
        & (at <= window.end)
        & (reserved >= 0)
        & (reserved < _MOST)
        & (used >= 0)
        & (used < _MOST)
    )
    rows = rows[is_sound]
    cupti_ns = _overhead(recording, window)
    if not len(rows):
        return PoolState(cupti_ns=cupti_ns)
    pools, counts = np.unique(rows[:, _AT["pool"]], return_counts=True)
    rows = rows[rows[:, _AT["pool"]] == pools[int(np.argmax(counts))]]
    rows = rows[np.argsort(rows[:, _AT["at"]], kind="stable")]
    return PoolState(
        reserved_at_begin=int(rows[0, _AT["reserved"]]),
        reserved_high=int(rows[:, _AT["reserved"]].max()),
        used_high=int(rows[:, _AT["used"]].max()),
        threshold=int(rows[-1, _AT["threshold"]]) & (2**64 - 1),
        cupti_ns=cupti_ns,
    )


def _overhead(recording: Recording, window: Window) -> int:
    rows = recording.of(What.OVERHEAD)
    start, end = rows[:, _RAN["start"]], rows[:, _RAN["end"]]
    is_within = (start >= window.begin) & (start <= window.end) & (end >= start)
    return int((end - start)[is_within].sum())
