"""Long timelines made shorter, honestly: what is merged says how many it was, and how busy.

Pure.  Neighbours of one kind in one lane become one span where the gap between them is too short to
be seen; the gap grows until few enough spans are left.  An inserted wait, growth or failure is
merged last.  A merged span is as long as what it stands for, gaps included, and knows how much of
that was busy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolbench.timeline.values import Kind, Lane, Level, Span, Timeline

_RARE = frozenset({Kind.INSERTED_WAIT, Kind.GROWTH, Kind.FAILED, Kind.BLOCKED})
_FIRST_SHARE = 1 / 20_000
"""Of the whole length: a gap that no screen shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """`n_spans` there were; gaps of up to `gap_us` were drawn over."""

    timeline: Timeline
    n_spans: int
    gap_us: float

    @property
    def is_whole(self) -> bool:
        return self.gap_us == 0


def reduced(timeline: Timeline, most: int) -> Reduced:
    """With `most` spans at most, or as near to it as lanes and kinds allow."""
    n_spans = _count(timeline)
    gap_us = 0.0
    found = timeline
    while _count(found) > most and gap_us <= timeline.end_us:
        gap_us = max(timeline.end_us * _FIRST_SHARE, 2 * gap_us)
        rare_us = gap_us / 8
        lanes = tuple(_merged(lane, gap_us, rare_us) for lane in timeline.lanes)
        found = replace(timeline, lanes=lanes)
    found = replace(found, levels=_peaks(timeline.levels, timeline.end_us, most))
    return Reduced(timeline=found, n_spans=n_spans, gap_us=gap_us)


def _count(timeline: Timeline) -> int:
    return sum(len(lane.spans) for lane in timeline.lanes)


def _merged(lane: Lane, gap_us: float, rare_us: float) -> Lane:
    """What is of another kind keeps its neighbours apart."""
    found: list[Span] = []
    for span in lane.spans:
        last = found[-1] if found else None
        limit = rare_us if span.kind in _RARE else gap_us
        is_near = last is not None and span.begin_us - last.end_us <= limit
        if last is not None and is_near and last.kind is span.kind:
            found[-1] = replace(
                last,
                end_us=span.end_us,
                n=last.n + span.n,
                merged_busy_us=last.busy_us + span.busy_us,
            )
            continue
        found.append(span)
    return replace(lane, spans=tuple(found))


def _peaks(levels: Sequence[Level], end_us: float, most: int) -> tuple[Level, ...]:
    """With more levels than that the highest of each of `most` stretches of time."""
    if len(levels) <= most or end_us <= 0:
        return tuple(levels)
    found: dict[int, Level] = {}
    for level in levels:
        at = math.floor(level.at_us / end_us * most)
        before = found.get(at)
        found[at] = Level(
            at_us=level.at_us if before is None else before.at_us,
            reserved=max(level.reserved, before.reserved if before else 0),
            used=max(level.used, before.used if before else 0),
        )
    return tuple(found.values())
