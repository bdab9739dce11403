"""Memory outside the pool: what exists before the first step, and `cuMemAlloc`.

Addresses are never used twice here, so that no baseline can be wrong about reuse.
"""

from __future__ import annotations

from poolbench.backends.model.graph_memory import graph_memory
from poolbench.domain import MemoryKind
from poolbench.plan.plan import Plan

_DEVICE_BASE = 0x7F0000000000
_HOST_BASE = 0x100000000000


class PlainMemory:
    """Hands out device memory as long as there is room, in steps of the device's granule.

    `untouched`: how much of the room nobody has had yet.
    """

    def __init__(self, room: int, granule: int) -> None:
        self.room = self.untouched = room
        self.granule = granule
        self._next = _DEVICE_BASE
        self._next_host = _HOST_BASE
        self._sizes: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """An address, -1 where there is not enough room."""
        taken = max(1, -(-size // self.granule)) * self.granule
        if taken > self.room:
            return -1
        address = self._next
        self._next += taken
        self.room -= taken
        self.untouched = max(0, self.untouched - taken)
        self._sizes[address] = taken
        return address

    def free(self, address: int) -> int:
        """Gives memory back; its size."""
        size = self._sizes.pop(address)
        self.room += size
        return size

    def host(self, size: int) -> int:
        """Host memory: there is enough."""
        address = self._next_host
        self._next_host += size
        return address


def lasting_addresses(plan: Plan, memory: PlainMemory) -> list[int] | None:
    """Addresses, by buffer, of what exists before the first step (-1 for the others); `None` if
    the device has no room for it."""

    slots = [memory.allocate(size) for size in plan.slots]
    addresses = []
    for index, spec in enumerate(plan.buffers):
        if spec.memory is MemoryKind.DEVICE:
            addresses.append(memory.allocate(spec.size))
        elif spec.memory is not None:
            addresses.append(memory.host(spec.size))
        elif slots and plan.slot_of[index] >= 0:
            addresses.append(slots[plan.slot_of[index]])
        else:
            addresses.append(-1)
            continue
        if addresses[-1] < 0:
            return None
    if -1 in slots or not _place_graphs(plan, memory, addresses):
        return None
    return addresses


def _place_graphs(plan: Plan, memory: PlainMemory, addresses: list[int]) -> bool:
    """What graphs allocate is there before the first step; false if the device has no room."""
    base = {
        stream: memory.allocate(size)
        for stream, size in graph_memory(plan, memory.granule).items()
        if size
    }
    for graph in plan.graphs:
        at = base.get(graph.branches[0], 0)
        places = []
        for size in graph.slots:
            places.append(at)
            at += -(-size // memory.granule) * memory.granule
        for buffer, slot in zip(graph.buffers, graph.slot_of, strict=True):
            addresses[buffer] = places[slot]
    return -1 not in base.values()
