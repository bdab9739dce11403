"""What the probe asks, table by table: which scenario, which step, and what is promised.

Pure.  The order is that of the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from poolbench.domain import COMBINATIONS, AttributeSet, Baseline, Row
from poolbench.probe import documented as doc
from poolbench.probe.documented import Chapter, Reuse, Waiting

ASKED = "take"
"""Label of the allocation that a scenario is about."""
BESIDE = "beside"
"""Label of the kernel after it."""
AT_MAXIMUM = "pending-at-maximum"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseQuestion:
    """Asked of all eight combinations.  `is_ordered`: the allocating stream comes after the free in
    any case, so that it waits for the latch without the driver's doing."""

    scenario: str
    title: str
    promise: Callable[[AttributeSet], Reuse | None]
    chapter: Chapter
    is_ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuestion:
    """Asked of one row.  `label`: the step whose call counts."""

    key: str
    title: str
    scenario: str
    label: str
    row: Row
    promise: Waiting | None
    chapter: Chapter


class Reading(StrEnum):
    """What is read off a layout scenario."""

    CHUNK = "chunk"
    GRANULE = "granule"
    FIT = "fit"
    JOINING = "joining"
    REMAPPING = "remapping"
    RELEASE = "release"
    QUEUE = "queue"
    GROWTH_COST = "growth_cost"
    HIT_COST = "hit_cost"
    FREE_COST = "free_cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutQuestion:
    """`is_rule`: two drivers that answer otherwise work otherwise; a cost only differs."""

    reading: Reading
    title: str
    scenario: str
    promise: str | None
    chapter: Chapter
    is_rule: bool = True

    @property
    def key(self) -> str:
        return self.reading.value


def _reuse(
    scenario: str,
    title: str,
    promise: Callable[[AttributeSet], Reuse | None],
    chapter: Chapter,
    *,
    is_ordered: bool = False,
) -> ReuseQuestion:
    return ReuseQuestion(
        scenario=scenario, title=title, promise=promise, chapter=chapter, is_ordered=is_ordered
    )


REUSE: tuple[ReuseQuestion, ...] = (
    _reuse("same-stream", "same stream, pending", doc.reuses, doc.SAME_STREAM, is_ordered=True),
    _reuse(
        "event-ordered",
        "event-ordered, pending",
        doc.reuses_if_followed,
        doc.FOLLOW,
        is_ordered=True,
    ),
    _reuse("completed", "completed, unordered", doc.reuses_if_opportunistic, doc.OPPORTUNISTIC),
    _reuse("synchronised-stream", "stream synchronised", doc.reuses, doc.OPPORTUNISTIC),
    _reuse(
        "synchronised-event", "event synchronised", doc.open_unless_opportunistic, doc.OPPORTUNISTIC
    ),
    _reuse("synchronised-context", "context synchronised", doc.reuses, doc.OPPORTUNISTIC),
    _reuse("queried", "completed, only queried", doc.open_unless_opportunistic, doc.OPPORTUNISTIC),
    _reuse("pending-with-room", "pending, room to grow", doc.grows, doc.INTERNAL),
    _reuse(AT_MAXIMUM, "pending, pool at its max", doc.waits_if_internal, doc.INTERNAL),
    _reuse("pending-on-full-device", "pending, device full", doc.waits_if_internal, doc.INTERNAL),
    _reuse("neighbours-completed", "two completed, both used", doc.left_open, doc.NOWHERE),
    _reuse("neighbours-mixed", "synchronised + completed", doc.left_open, doc.NOWHERE),
    _reuse(
        "neighbours-own-and-ordered",
        "own + event-ordered",
        doc.left_open,
        doc.NOWHERE,
        is_ordered=True,
    ),
    _reuse("two-pending", "two pending of 2 streams", doc.left_open, doc.NOWHERE),
    _reuse("destroyed-stream", "of a destroyed stream", doc.left_open, doc.DESTROY),
    _reuse("legacy-stream", "implicit, legacy stream", doc.left_open, doc.NOWHERE, is_ordered=True),
)

_DEFAULT = COMBINATIONS[-1]
_POOL, _PLAIN = "cuMemAllocAsync", "cuMemAlloc"
_SIZES = ("2MiB", "64MiB", "1GiB")


def _growths() -> tuple[CallQuestion, ...]:
    return tuple(
        CallQuestion(
            key=f"grow-{size}",
            title=f"{_POOL}, grows by {size}",
            scenario="calls-memory",
            label=f"take_{size}",
            row=_DEFAULT,
            promise=Waiting.RETURNS,
            chapter=doc.INTRODUCTION,
        )
        for size in _SIZES
    )


def _at_maximum() -> tuple[CallQuestion, ...]:
    return tuple(
        CallQuestion(
            key=f"at-maximum-{row.name}",
            title=f"{_POOL}, at the maximum, {row.name}",
            scenario=AT_MAXIMUM,
            label=ASKED,
            row=row,
            promise=Waiting.RETURNS,
            chapter=doc.INTRODUCTION,
        )
        for row in COMBINATIONS
    )


def _plain() -> tuple[CallQuestion, ...]:
    return tuple(
        CallQuestion(
            key=f"plain-{size}",
            title=f"{_PLAIN} of {size}",
            scenario="calls-memory",
            label=f"take_{size}",
            row=Baseline.CUDAMALLOC,
            promise=Waiting.WAITS,
            chapter=doc.INTRODUCTION,
        )
        for size in _SIZES
    )


def _host(
    label: str, title: str, promise: Waiting | None, chapter: Chapter, *, in_: str = "calls-host"
) -> CallQuestion:
    return CallQuestion(
        key=label.replace("_", "-"),
        title=title,
        scenario=in_,
        label=label,
        row=_DEFAULT,
        promise=promise,
        chapter=chapter,
    )


CALLS: tuple[CallQuestion, ...] = (
    *_growths(),
    *_at_maximum(),
    CallQuestion(
        key="free-async",
        title="cuMemFreeAsync",
        scenario="calls-memory",
        label="give",
        row=_DEFAULT,
        promise=Waiting.RETURNS,
        chapter=doc.INTRODUCTION,
    ),
    *_plain(),
    CallQuestion(
        key="plain-free",
        title="cuMemFree",
        scenario="calls-memory",
        label="give",
        row=Baseline.CUDAMALLOC,
        promise=Waiting.WAITS,
        chapter=doc.INTRODUCTION,
    ),
    _host("trim", "cuMemPoolTrimTo", None, doc.NOWHERE, in_="calls-memory"),
    _host("pool_create", "cuMemPoolCreate", None, doc.NOWHERE),
    _host("pool_destroy", "cuMemPoolDestroy of another pool", None, doc.DESTROY),
    _host(
        "sync_other_stream",
        "cuStreamSynchronize, another stream",
        Waiting.RETURNS,
        doc.SYNCHRONISE,
    ),
    _host("sync_stream", "cuStreamSynchronize, that stream", Waiting.WAITS, doc.SYNCHRONISE),
    _host("sync_event", "cuEventSynchronize, behind the work", Waiting.WAITS, doc.SYNCHRONISE),
    _host("sync_context", "cuCtxSynchronize", Waiting.WAITS, doc.SYNCHRONISE),
    _host("host_alloc", "cuMemHostAlloc of 1MiB", None, doc.HOST_MEMORY),
    _host("host_free", "cuMemFreeHost of 1MiB", None, doc.HOST_MEMORY),
    _host("module_load", "cuModuleLoadData", None, doc.LOADING),
)

RELEASED = "at a synchronisation, to the threshold"


def _layout(
    reading: Reading,
    title: str,
    scenario: str,
    promise: str | None = None,
    chapter: Chapter = doc.NOWHERE,
    *,
    is_rule: bool = True,
) -> LayoutQuestion:
    return LayoutQuestion(
        reading=reading,
        title=title,
        scenario=scenario,
        promise=promise,
        chapter=chapter,
        is_rule=is_rule,
    )


LAYOUT: tuple[LayoutQuestion, ...] = (
    _layout(Reading.CHUNK, "grows by multiples of", "layout-growth"),
    _layout(Reading.GRANULE, "rounds an allocation up to", "layout-growth"),
    _layout(Reading.FIT, "of free blocks takes", "layout-fit"),
    _layout(Reading.JOINING, "free neighbours, 2 streams", "layout-joining"),
    _layout(Reading.REMAPPING, "scattered free chunks", "layout-remapping"),
    _layout(Reading.RELEASE, "gives free memory back", "layout-release", RELEASED, doc.THRESHOLD),
    _layout(Reading.QUEUE, "launches a held stream takes", "layout-queue"),
    _layout(Reading.GROWTH_COST, "host time to grow, per MiB", "layout-costs", is_rule=False),
    _layout(Reading.HIT_COST, "host time of a hit of 1MiB", "layout-costs", is_rule=False),
    _layout(Reading.FREE_COST, "host time of a free of 1MiB", "layout-costs", is_rule=False),
)


def runs() -> tuple[tuple[str, Row], ...]:
    """(scenario, row) of everything that has to be run, each once, in the order of running.

    A full device costs filling and emptying it: its rows follow each other.  Using the legacy
    default stream changes the process, and comes last.
    """
    wanted: dict[tuple[str, Row], None] = {}
    for question in REUSE:
        for row in COMBINATIONS:
            wanted[question.scenario, row] = None
    for call in CALLS:
        wanted[call.scenario, call.row] = None
    for layout in LAYOUT:
        wanted[layout.scenario, COMBINATIONS[0]] = None
    late = {"pending-on-full-device": 1, "legacy-stream": 2}
    return tuple(sorted(wanted, key=lambda one: late.get(one[0], 0)))
