"""What ran at the same time, and what could have.

Pure.  Beside the run stands an ideal one: the same steps with the same times on the device, each
started as soon as the scenario lets it (its stream, events, latches, synchronisations and work of
the host), with calls that take no time and allocations that wait for nobody.  What two streams had
running together there and not in the run is *lost overlap*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from poolbench.analysis.causes import Ahead, Iteration
from poolbench.domain import OUTCOMES, Outcome
from poolbench.findings import Serialised, StreamPair
from poolbench.plan import steps as st
from poolbench.plan.order import Order, order_of
from poolbench.plan.plan import Plan
from poolbench.trace import NONE, LatchOpening, StepTrace

MAX_SERIALISED = 8
"""Pairs of steps that are kept; the worst of them."""

_INTERNAL = OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY)


class Cause(StrEnum):
    """What kept the later of two steps from starting."""

    INSERTED_WAIT = "inserted wait"
    """Its stream stood still for a dependency that the driver inserted."""
    HOST = "host not ahead"
    """It had not been issued yet."""
    DELAYED = "delayed before"
    """What is ahead of it in its stream was late already."""
    CONTENTION = "contention"
    """It could have run: the device was taken, or did not take it up."""


@dataclass(frozen=True, slots=True)
class _Span:
    index: int
    begin: int
    end: int


_Spans = dict[int, list[_Span]]
"""Stream -> its busy spans, in order."""


def concurrency(
    plan: Plan,
    ahead: Ahead,
    steps: StepTrace,
    latches: tuple[LatchOpening, ...],
    iterations: Sequence[int],
) -> tuple[tuple[StreamPair, ...], tuple[Serialised, ...]]:
    """Of these iterations: pairs of streams that have work (mean), and the worst pairs of steps
    that could have run together and did not (sum)."""
    streams = sorted({step.stream for step in plan.steps if isinstance(step, st.BUSY_STEPS)})
    if len(streams) < 2 or not iterations:
        return (), ()
    order = order_of(plan.steps, plan.streams, len(plan.events))
    sums = dict.fromkeys(combinations(streams, 2), (0, 0))
    lost: dict[tuple[int, int, Cause], tuple[int, int]] = {}
    for iteration in iterations:
        at = Iteration(plan, ahead, steps, latches, iteration)
        real, ideal = _real(plan, at), _ideal(plan, ahead, at)
        for pair in sums:
            one, two = pair
            both = sum(part for _, _, part in _together(real.get(one, []), real.get(two, [])))
            could = 0
            for first, second, part in _together(ideal.get(one, []), ideal.get(two, [])):
                could += part
                found = _serialised(ahead, at, order, first.index, second.index)
                if found is not None:
                    n, total = lost.get(found, (0, 0))
                    lost[found] = (n + 1, total + part)
            sums[pair] = (sums[pair][0] + both, sums[pair][1] + could)
    n = len(iterations)
    pairs = tuple(
        StreamPair(
            first=plan.streams[one].name,
            second=plan.streams[two].name,
            both_us=both / n / 1000,
            could_us=could / n / 1000,
        )
        for (one, two), (both, could) in sums.items()
    )
    return pairs, _worst(plan, lost)


def _worst(
    plan: Plan, lost: dict[tuple[int, int, Cause], tuple[int, int]]
) -> tuple[Serialised, ...]:
    """Steps of one line count together."""
    by_line: dict[tuple[int, int, Cause], tuple[int, int, int, int]] = {}
    for (first, second, cause), (n, total) in lost.items():
        key = (plan.place(first).line, plan.place(second).line, cause)
        one, two, n_before, before = by_line.get(key, (first, second, 0, 0))
        by_line[key] = (one, two, n_before + n, before + total)
    ordered = sorted(by_line.items(), key=lambda item: (-item[1][3], item[0]))
    return tuple(
        Serialised(
            first=plan.names[first],
            first_line=plan.place(first).line,
            first_stream=_stream_name(plan, first),
            second=plan.names[second],
            second_line=plan.place(second).line,
            second_stream=_stream_name(plan, second),
            cause=cause.value,
            n=n,
            lost_us=total / 1000,
        )
        for (_, _, cause), (first, second, n, total) in ordered[:MAX_SERIALISED]
    )


def _stream_name(plan: Plan, index: int) -> str:
    stream: int = getattr(plan.steps[index], "stream", NONE)
    return plan.streams[stream].name


def _real(plan: Plan, at: Iteration) -> _Spans:
    found: _Spans = {}
    for index, step in enumerate(plan.steps):
        if isinstance(step, st.BUSY_STEPS) and at.begin[index] != NONE:
            span = _Span(index, at.begin[index], at.end[index])
            found.setdefault(step.stream, []).append(span)
    return found


def _ideal(plan: Plan, ahead: Ahead, at: Iteration) -> _Spans:
    """Two passes: the first finds when the host comes to open each latch, which cannot depend on
    what the latch holds back."""
    released = _schedule(plan, ahead, at, {})[1]
    return _schedule(plan, ahead, at, released)[0]


def _schedule(
    plan: Plan, ahead: Ahead, at: Iteration, released: dict[tuple[int, int], int]
) -> tuple[_Spans, dict[tuple[int, int], int]]:
    """(spans, (stream, ticket) -> when its release was issued).  Times begin at 0."""
    host = 0
    free_at = [0] * len(plan.streams)
    recorded: dict[int, int] = {}
    releases: dict[tuple[int, int], int] = {}
    spans: _Spans = {}
    for index, step in enumerate(plan.steps):
        if at.host_begin[index] == NONE and at.begin[index] == NONE:
            continue
        match step:
            case st.HostWork():
                host += max(0, at.host_end[index] - at.host_begin[index])
            case st.SyncStream(stream=stream):
                partners = ahead.partners[stream]
                host = max(host, free_at[stream], *(free_at[other] for other in partners))
            case st.SyncEvent(event=event):
                host = max(host, recorded.get(event, 0))
            case st.SyncDevice():
                host = max(host, *free_at)
            case st.Release(stream=stream, ticket=ticket):
                releases[stream, ticket] = host
        if not isinstance(step, st.DEVICE_STEPS):
            continue
        stream = step.stream
        start = max(host, free_at[stream], *(free_at[k] for k in ahead.partners[stream]))
        end = start
        if isinstance(step, st.Wait):
            end = max(start, recorded.get(step.event, 0))
        elif isinstance(step, st.Hold):
            end = max(start, released.get((stream, step.ticket), 0))
        elif isinstance(step, st.BUSY_STEPS) and at.begin[index] != NONE:
            end = start + at.end[index] - at.begin[index]
            spans.setdefault(stream, []).append(_Span(index, start, end))
        if isinstance(step, st.Record):
            recorded[step.event] = start
        free_at[stream] = end
        if isinstance(step, st.Memcpy) and step.is_pageable:
            host = max(host, end)
    return spans, releases


def _together(one: Sequence[_Span], two: Sequence[_Span]) -> Iterator[tuple[_Span, _Span, int]]:
    """Pairs of spans that share time, and how much."""
    i = j = 0
    while i < len(one) and j < len(two):
        part = min(one[i].end, two[j].end) - max(one[i].begin, two[j].begin)
        if part > 0:
            yield one[i], two[j], part
        if one[i].end <= two[j].end:
            i += 1
        else:
            j += 1


def _serialised(
    ahead: Ahead, at: Iteration, order: Order, one: int, two: int
) -> tuple[int, int, Cause] | None:
    """(earlier, later, cause) of two steps that the scenario does not order and that ran one after
    the other."""
    first, second = (one, two) if at.begin[one] <= at.begin[two] else (two, one)
    if at.begin[second] < at.end[first]:
        return None
    if order.happens_before(one, two) or order.happens_before(two, one):
        return None
    return first, second, _cause(ahead, at, first, second)


def _cause(ahead: Ahead, at: Iteration, first: int, second: int) -> Cause:
    """Back along the stream of the later step, as far as the earlier one was running."""
    ended, began = at.end[first], at.begin[second]
    last = NONE
    index = ahead.ahead[second]
    while index != NONE:
        end = at.end[index]
        if end != NONE:
            if end < at.begin[first]:
                break
            if at.outcome[index] == _INTERNAL:
                return Cause.INSERTED_WAIT
            last = end if last == NONE and end <= began else last
        index = ahead.ahead[index]
    if at.host_begin[second] >= ended:
        return Cause.HOST
    return Cause.DELAYED if last >= ended else Cause.CONTENTION
