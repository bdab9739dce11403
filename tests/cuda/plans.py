"""Plans built by hand, so that the backend is tested without loader and planner."""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.domain import (
    COMBINATIONS,
    Case,
    Issue,
    OnOom,
    Row,
    StreamKind,
    StreamPriority,
)
from poolbench.plan.plan import BufferSpec, KernelSource, Plan, StepPlace, StreamSpec
from poolbench.plan.steps import KIND_NAMES, Alloc, Free, Step

MIB = 2**20


def row(bits: str) -> Row:
    return COMBINATIONS[int(bits, 2)]


def make_plan(
    steps: Sequence[Step],
    *,
    row: Row,
    n_streams: int = 2,
    n_events: int = 0,
    lasting: Sequence[BufferSpec] = (),
    kernels: Sequence[KernelSource] = (),
    max_size: int = 0,
    release_threshold: int = 2**64 - 1,
    n_iterations: int = 1,
    leave_free: int | None = None,
    on_oom: OnOom = OnOom.FAIL,
    issue: Issue = Issue.LIVE,
    latch_limit_ns: int = 50_000_000,
    slots: tuple[int, ...] = (),
    slot_of: tuple[int, ...] = (),
) -> Plan:
    """Buffers that steps allocate come first, by index; `lasting` ones follow."""
    allocs = {s.buffer: (k, s.size) for k, s in enumerate(steps) if isinstance(s, Alloc)}
    frees = {s.buffer: k for k, s in enumerate(steps) if isinstance(s, Free)}
    buffers = [
        BufferSpec(
            name=f"b{index}",
            size=allocs[index][1],
            alloc_step=allocs[index][0],
            free_step=frees.get(index, -1),
        )
        for index in range(len(allocs))
    ]
    return Plan(
        case=Case(scenario="by-hand", row=row),
        steps=tuple(steps),
        origin=tuple(range(len(steps))),
        names=tuple(f"step{k}" for k in range(len(steps))),
        places=tuple(
            StepPlace(line=k + 1, column=1, kind=KIND_NAMES[type(s)], label="")
            for k, s in enumerate(steps)
        ),
        streams=tuple(
            StreamSpec(
                name="ABCDEFGH"[index],
                kind=StreamKind.NON_BLOCKING,
                priority=StreamPriority.NORMAL,
            )
            for index in range(n_streams)
        ),
        buffers=(*buffers, *lasting),
        events=tuple(f"e{index}" for index in range(n_events)),
        kernels=tuple(kernels),
        n_iterations=n_iterations,
        max_size=max_size,
        release_threshold=release_threshold,
        prime=0,
        leave_free=leave_free,
        on_oom=on_oom,
        issue=issue,
        pace_ns=0,
        latch_limit_ns=latch_limit_ns,
        slots=slots,
        slot_of=slot_of,
    )
