"""What NVIDIA's documentation promises, chapter by chapter, in our own words.

Pure.  A promise is the answer that a reader of the chapter must expect; what it leaves open is
`None`.  Read for CUDA 13 (December 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from poolbench.domain import AttributeSet


class Reuse(StrEnum):
    """What an allocation got."""

    REUSES = "reuse"
    """A freed block, and its stream ran at once, or when it would have run anyway."""
    WAITS = "waits"
    """A freed block, and its stream stood still until that free."""
    GROWS = "grows"
    """New memory from the device."""
    REMAPS = "remaps"
    """Free memory of the pool at a new address."""
    FAILS = "fails"
    """Nothing: out of memory."""
    UNKNOWN = "?"
    """Not measured."""


class Waiting(StrEnum):
    """What a host call did while a stream was held."""

    RETURNS = "returns"
    WAITS = "waits"
    UNKNOWN = "?"


class Verdict(StrEnum):
    """An answer beside its promise."""

    AS_PROMISED = "as promised"
    UNSPECIFIED = "unspecified"
    DIFFERENT = "different"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """`where` is the document and the chapter, `text` what it says in our own words."""

    where: str
    text: str


_GUIDE = "CUDA Programming Guide, Stream-Ordered Memory Allocator"

SAME_STREAM = Chapter(
    where=f"{_GUIDE}, Memory Management and Reuse Policies",
    text="What a stream has freed it may get again from its next allocation: the order within the "
    "stream is all that is needed, and no attribute governs it.",
)
FOLLOW = Chapter(
    where=f"{_GUIDE}, Reuse Follow Event Dependencies",
    text="Before it takes more memory from the device, the allocator looks at the order that "
    "events have established between streams, and may hand out what another stream freed earlier "
    "in it.",
)
OPPORTUNISTIC = Chapter(
    where=f"{_GUIDE}, Reuse Allow Opportunistic",
    text="The allocator looks whether the freeing stream has passed the free already. With this "
    "off it still reuses what the CPU has seen by synchronising with the stream. Nothing is said "
    "of events and queries.",
)
INTERNAL = Chapter(
    where=f"{_GUIDE}, Reuse Allow Internal Dependencies",
    text="Once the device gives no more memory, the driver looks for a block that depends on the "
    "progress of another stream, makes the allocating stream depend on it, and hands it out.",
)
INTRODUCTION = Chapter(
    where=f"{_GUIDE}, Introduction",
    text="cudaMalloc and cudaFree make the GPU synchronise across all streams; allocation and "
    "free in a stream block neither the host nor other streams.",
)
THRESHOLD = Chapter(
    where=f"{_GUIDE}, Physical Page Caching Behavior",
    text="Free memory above the release threshold is given back at the next synchronisation of a "
    "stream, an event or the device.",
)
SYNCHRONISE = Chapter(
    where="CUDA Driver API, Stream, Event and Context Management",
    text="Synchronising waits for the work of that stream, for what the event captured, or for all "
    "work of the context, and for nothing else.",
)
DESTROY = Chapter(
    where="CUDA Driver API, cuMemPoolDestroy, cuStreamDestroy",
    text="Destroying a pool whose frees have not completed returns at once; so does destroying a "
    "stream with work pending. What becomes of blocks whose free is pending is left open.",
)
HOST_MEMORY = Chapter(
    where="CUDA Programming Guide up to version 12, Implicit Synchronization",
    text="Allocating page-locked memory between two commands keeps them from running side by side. "
    "Whether the host waits is left open, as is everything about giving it back.",
)
LOADING = Chapter(
    where="CUDA Programming Guide, Lazy Loading",
    text="Loading a kernel may need the context to be synchronised.",
)
NOWHERE = Chapter(
    where="nowhere",
    text="NVIDIA's documentation does not say; it reserves the right to change and reorder the "
    "policies.",
)


def reuses(_: AttributeSet) -> Reuse | None:
    return Reuse.REUSES


def grows(_: AttributeSet) -> Reuse | None:
    return Reuse.GROWS


def reuses_if_followed(row: AttributeSet) -> Reuse | None:
    return Reuse.REUSES if row.follow_event_dependencies else Reuse.GROWS


def reuses_if_opportunistic(row: AttributeSet) -> Reuse | None:
    return Reuse.REUSES if row.allow_opportunistic else Reuse.GROWS


def waits_if_internal(row: AttributeSet) -> Reuse | None:
    return Reuse.WAITS if row.allow_internal_dependencies else Reuse.FAILS


def open_unless_opportunistic(row: AttributeSet) -> Reuse | None:
    return Reuse.REUSES if row.allow_opportunistic else None


def left_open(_: AttributeSet) -> Reuse | None:
    return None


def verdict(answer: StrEnum | None, promise: StrEnum | None) -> Verdict:
    """`answer` is `None` where nothing was measured."""
    if answer is None:
        return Verdict.UNKNOWN
    if promise is None:
        return Verdict.UNSPECIFIED
    return Verdict.AS_PROMISED if answer is promise else Verdict.DIFFERENT
