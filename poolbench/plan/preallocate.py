"""The buffers that a program without allocation would hold: the baseline `preallocated`.

Pure.  A slot is a buffer that exists before the first step.  An allocation may live in a slot if
the last free in it happens before the allocation, so that the row never waits for anything that
the scenario itself does not order: the ideal that every attribute set is compared with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from poolbench.plan import steps as s
from poolbench.plan.order import Order
from poolbench.plan.plan import BufferSpec
from poolbench.plan.steps import Step

SEARCHED = 16
"""Free slots looked at for each stream: enough for a good fit, few enough for long plans."""

_Free = tuple[int, int]
"""(slot, step of its last free)."""


def _best(candidates: Sequence[tuple[int, _Free]], sizes: Sequence[int], size: int) -> int | None:
    """The index of the candidate with the least waste; the largest one if none is large enough.

    The first of equals wins, and candidates come in the order of preference.
    """
    if not candidates:
        return None

    def cost(candidate: tuple[int, _Free]) -> tuple[bool, int]:
        waste = sizes[candidate[1][0]] - size
        return (waste < 0, abs(waste))

    return min(candidates, key=cost)[0]


def preallocate(
    steps: Sequence[Step], buffers: Sequence[BufferSpec], order: Order
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(sizes of the slots, slot of each buffer or -1 for one that is no pool buffer).

    A slot that its own stream freed last is preferred, then one of another stream, then a new one;
    a slot grows to the largest of its buffers.
    """
    sizes: list[int] = []
    slot_of = [-1] * len(buffers)
    free: dict[int, deque[_Free]] = {}
    for index, step in enumerate(steps):
        if isinstance(step, s.Free):
            ended = free.setdefault(int(order.column[index]), deque())
            ended.append((slot_of[step.buffer], index))
        elif isinstance(step, s.Alloc):
            slot = _taken(free, sizes, order, index, step.size)
            if slot < 0:
                slot = len(sizes)
                sizes.append(0)
            sizes[slot] = max(sizes[slot], step.size)
            slot_of[step.buffer] = slot
    return tuple(sizes), tuple(slot_of)


def _taken(
    free: dict[int, deque[_Free]], sizes: Sequence[int], order: Order, alloc: int, size: int
) -> int:
    """Takes a slot that an allocation may live in; -1 if there is none."""
    own = int(order.column[alloc])
    mine = free.get(own, deque())
    recent = range(len(mine) - 1, max(-1, len(mine) - 1 - SEARCHED), -1)
    found = _best([(at, mine[at]) for at in recent], sizes, size)
    if found is not None:
        return _removed(mine, found)
    for column, theirs in free.items():
        if column == own:
            continue
        ordered = []
        for at in range(min(SEARCHED, len(theirs))):
            # frees of a stream are in order: after one that is not over, none is
            if not order.happens_before(theirs[at][1], alloc):
                break
            ordered.append((at, theirs[at]))
        found = _best(ordered, sizes, size)
        if found is not None:
            return _removed(theirs, found)
    return -1


def _removed(queue: deque[_Free], at: int) -> int:
    slot = queue[at][0]
    del queue[at]
    return slot
