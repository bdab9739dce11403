"""Warnings: scenarios that run but may not show what their author wants.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from poolbench.domain import Issue
from poolbench.errors import Note
from poolbench.plan import steps as s
from poolbench.plan.expansion import Expansion
from poolbench.plan.faults import Fault
from poolbench.plan.order import Order
from poolbench.units import format_size

MAX_QUEUED_LAUNCHES = 1000
"""Kernel launches behind a held stream; the driver blocks at 1020 (measured, driver 580)."""

SYNC_HIDES_POLICY = "sync-hides-policy"

_SYNCS = (s.SyncStream, s.SyncEvent, s.SyncDevice)
_LAUNCHES = (s.Launch, s.Fill, s.Check)


def _warning(
    expansion: Expansion, step: int, key: str, code: str, message: str, *notes: Note
) -> Fault:
    return Fault(
        place=expansion.place(step, key), code=code, message=message, notes=notes, is_warning=True
    )


def held_syncs(expansion: Expansion, order: Order) -> Iterator[Fault]:
    """Host calls that wait for a stream while its latch is closed."""
    closed: dict[int, list[int]] = {}
    for index, step in enumerate(expansion.steps):
        match step:
            case s.Hold(stream=stream):
                closed.setdefault(stream, []).append(index)
            case s.Release(stream=stream):
                if closed.get(stream):
                    closed[stream].pop(0)
            case s.SyncStream() | s.SyncEvent() | s.SyncDevice():
                blocked = [
                    hold
                    for holds in closed.values()
                    for hold in holds
                    if order.happens_before(hold, index) and not order.is_host_known(hold, index)
                ]
                if blocked:
                    yield _held(expansion, index, "sync", min(blocked), "this sync")
            case s.Memcpy(is_pageable=True):
                blocked = [
                    hold
                    for holds in closed.values()
                    for hold in holds
                    if order.happens_before(hold, index)
                ]
                if blocked:
                    yield _held(expansion, index, "memcpy", min(blocked), "a pageable copy")
            case _:
                pass


def _held(expansion: Expansion, step: int, key: str, hold: int, what: str) -> Fault:
    held = expansion.steps[hold]
    name = expansion.streams[held.stream].name if isinstance(held, s.Hold) else ""
    return _warning(
        expansion,
        step,
        key,
        "sync-of-held-stream",
        f"{what} waits for stream {name}, which is held; only the watchdog will open its latch",
        Note(place=expansion.place(hold, "hold"), message="held here"),
    )


def long_queues(expansion: Expansion) -> Iterator[Fault]:
    """More launches behind a closed latch than the driver takes without blocking the host."""
    is_ahead = expansion.settings.issue is Issue.AHEAD
    n_closed = [0] * len(expansion.streams)
    n_queued = [0] * len(expansion.streams)
    for index, step in enumerate(expansion.steps):
        match step:
            case s.Hold(stream=stream):
                n_closed[stream] += 1
            case s.Release(stream=stream):
                n_closed[stream] = max(0, n_closed[stream] - 1)
                if not n_closed[stream] and not is_ahead:
                    n_queued[stream] = 0
            case s.SyncStream() | s.SyncEvent() | s.SyncDevice():
                is_ahead = False
                n_queued = [0] * len(expansion.streams)
            case s.Launch(stream=stream) | s.Fill(stream=stream) | s.Check(stream=stream):
                if n_closed[stream] or is_ahead:
                    n_queued[stream] += 1
                    if n_queued[stream] == MAX_QUEUED_LAUNCHES + 1:
                        name = expansion.streams[stream].name
                        yield _warning(
                            expansion,
                            index,
                            "kernel",
                            "long-queue",
                            f"more than {MAX_QUEUED_LAUNCHES} kernels are queued on stream {name} "
                            "while it is held; the host will block until its latch opens",
                        )
            case _:
                pass


def opened_latches(expansion: Expansion) -> Iterator[Fault]:
    """Synchronisations under `issue: ahead`: the host has to wait, so the latches open."""
    if expansion.settings.issue is not Issue.AHEAD:
        return
    for index, step in enumerate(expansion.steps):
        if isinstance(step, _SYNCS):
            yield _warning(
                expansion,
                index,
                "sync",
                "sync-opens-latches",
                "with `issue: ahead` this sync opens the latches: the host does not run ahead of "
                "what comes before",
            )


def too_large_blocks(expansion: Expansion) -> Iterator[Fault]:
    """Allocations that no pool of this maximum can ever serve."""
    limit = expansion.settings.max_size
    if not limit:
        return
    for index, step in enumerate(expansion.steps):
        if isinstance(step, s.Alloc) and step.size > limit:
            name = expansion.buffers[step.buffer].name
            yield _warning(
                expansion,
                index,
                "size",
                "larger-than-pool",
                f"{name} ({format_size(step.size)}) is larger than pool.max_size "
                f"({format_size(limit)}); this allocation can never succeed in the pool",
            )


def hidden_policy(expansion: Expansion, order: Order) -> Iterator[Fault]:
    """Synchronisations that leave the attributes nothing to decide.

    Only where *every* free that precedes an allocation on another stream is known to the host by
    then, and would not be without these synchronisations: with one undecided pair, the scenario
    does test the attributes.
    """
    last_free: dict[int, int] = {}
    syncs: list[int] = []
    found: dict[int, tuple[int, int]] = {}
    for index, step in enumerate(expansion.steps):
        if isinstance(step, _SYNCS):
            syncs.append(index)
        elif isinstance(step, s.Free):
            last_free[int(order.column[index])] = index
        elif isinstance(step, s.Alloc):
            for column, free in last_free.items():
                if column == order.column[index]:
                    continue
                if not order.is_host_known(free, index):
                    return
                responsible = _first_knowing(order, syncs, free)
                found.setdefault(responsible, (free, index))
    for sync, (free, alloc) in found.items():
        yield _warning(
            expansion,
            sync,
            "sync",
            SYNC_HIDES_POLICY,
            "the host knows of every free before another stream allocates, so that the reuse "
            "attributes decide nothing here",
            Note(place=expansion.place(free, "free"), message="freed here"),
            Note(place=expansion.place(alloc, "alloc"), message="allocated here on another stream"),
        )


def _first_knowing(order: Order, syncs: list[int], free: int) -> int:
    """The first synchronisation after which the host knows of a free."""
    low, high = 0, len(syncs) - 1
    while low < high:
        middle = (low + high) // 2
        if order.happens_before(free, syncs[middle]):
            high = middle
        else:
            low = middle + 1
    return syncs[low]


def advice(expansion: Expansion, order: Order) -> Iterator[Fault]:
    yield from held_syncs(expansion, order)
    yield from long_queues(expansion)
    yield from opened_latches(expansion)
    yield from too_large_blocks(expansion)
    yield from hidden_policy(expansion, order)
