"""The smallest scenario on which two backends still disagree.

Greedy: steps, streams, settings and sizes are taken away or made simpler as long as the first
disagreement stays of its kind.  Scenarios that are no longer valid are not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from poolbench.backends.base import Backend
from poolbench.domain import OUTCOMES, Pass
from poolbench.errors import BadInput
from poolbench.fuzz.campaign import USABLE
from poolbench.fuzz.compare import Answer, Disagreement, answer_of, compare, free_name
from poolbench.fuzz.drawn import Drawn, StepData
from poolbench.plan.plan import Plan
from poolbench.trace import NONE
from poolbench.units import parse_size

MIB = 1 << 20
_OPENERS = ("alloc", "hold", "record")
"""Steps that others need: they go together with those."""


def first_disagreement(drawn: Drawn, left: Backend, right: Backend) -> Disagreement | None:
    """`None` where the two agree, the scenario has a fault or the left answer is void."""
    try:
        plan = drawn.plan
    except BadInput:
        return None
    answers = _answers(plan, left, right)
    if answers is None:
        return None
    return next(iter(compare(plan, *answers).disagreements), None)


def _answers(plan: Plan, left: Backend, right: Backend) -> tuple[Answer, Answer] | None:
    said = answer_of(left.run(plan, measured=Pass.TRACED, repetition=1))
    if said.status not in USABLE or not said.is_whole or not said.outcome:
        return None
    return said, answer_of(right.run(plan, measured=Pass.TRACED, repetition=1))


def shrink(
    drawn: Drawn,
    left: Backend,
    right: Backend,
    *,
    time_limit_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Drawn:
    """A scenario no larger than `drawn` with the same kind of first disagreement."""
    over = clock() + time_limit_s
    wanted = first_disagreement(drawn, left, right)
    if wanted is None:
        return drawn
    best = drawn
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _simpler(best):
            if clock() > over:
                return best
            found = first_disagreement(smaller, left, right)
            if found is not None and found.kind == wanted.kind:
                best, is_smaller = smaller, True
                break
    return best


def _simpler(drawn: Drawn) -> Iterator[Drawn]:
    """Every scenario that is one step simpler, the boldest first."""
    n_steps = len(drawn.steps)
    size = n_steps // 2
    while size:
        for begin in range(n_steps - size, -1, -size):
            yield from _without(drawn, set(range(begin, begin + size)))
        size //= 2
    for stream in drawn.streams:
        if not any(stream in _streams(step) for step in drawn.steps):
            streams = {name: kind for name, kind in drawn.streams.items() if name != stream}
            yield replace(drawn, streams=streams)
    for key in drawn.pool:
        yield replace(drawn, pool={name: one for name, one in drawn.pool.items() if name != key})
    if drawn.device:
        yield replace(drawn, device={})
    for key in ("iterations", "on_oom"):
        if key in drawn.head:
            yield replace(drawn, head={k: v for k, v in drawn.head.items() if k != key})
    for name, kind in drawn.streams.items():
        if kind != "non_blocking":
            yield replace(drawn, streams={**drawn.streams, name: "non_blocking"})
    yield from _rounder(drawn)


def _streams(step: StepData) -> set[object]:
    return {step.get(key) for key in ("stream", "hold", "release")}


def _without(drawn: Drawn, gone: set[int]) -> Iterator[Drawn]:
    """Without these steps, and without what needs them or is needed by them alone."""
    gone = _closed(drawn.steps, gone)
    if len(gone) < len(drawn.steps):
        kept = tuple(step for index, step in enumerate(drawn.steps) if index not in gone)
        yield replace(drawn, steps=kept)


def _closed(steps: tuple[StepData, ...], gone: set[int]) -> set[int]:
    """`gone` with the partners of its steps: uses and free of an allocation, the release of a
    hold, waits for an event."""
    gone = set(gone)
    buffers = {steps[at].get("alloc") or steps[at].get("free") for at in gone if at < len(steps)}
    events = {steps[at].get("record") for at in gone if at < len(steps)}
    held: dict[object, int] = {}
    for at, step in enumerate(steps):
        names = {step.get(key) for key in ("alloc", "free", "memset")} - {None}
        if names & buffers:
            gone.add(at)
        if {step.get("wait"), step.get("event")} - {None} & events:
            gone.add(at)
        if "hold" in step:
            held[step["hold"]] = at
        if "release" in step:
            partner = held.pop(step["release"], None)
            if partner is not None and (at in gone) != (partner in gone):
                gone |= {at, partner}
    return gone


def _rounder(drawn: Drawn) -> Iterator[Drawn]:
    for at, step in enumerate(drawn.steps):
        if "alloc" not in step:
            continue
        size = parse_size(str(step["size"]))
        for rounder in (MIB, 32 * MIB, size // (32 * MIB) * 32 * MIB, size // MIB * MIB):
            if 0 < rounder < size:
                simpler = {**step, "size": f"{rounder // MIB}MiB"}
                yield replace(drawn, steps=(*drawn.steps[:at], simpler, *drawn.steps[at + 1 :]))


def report(drawn: Drawn, left: Backend, right: Backend) -> str:
    """The scenario file with both answers, step by step, in comments."""
    plan = drawn.plan
    answers = _answers(plan, left, right)
    if answers is None:
        return drawn.text
    lines = [
        f"# row {drawn.bits}; {left.kind.value} / {right.kind.value}",
        "# step run: outcome, reserved, used, place",
    ]
    for row in range(min(len(one.outcome) for one in answers)):
        told = [_told(plan, one, row) for one in answers]
        if told[0] or told[1]:
            mark = "" if told[0] == told[1] else f"  /  {told[1]}   <-- differs"
            lines.append(f"# {row} {plan.names[row % plan.n_steps]}: {told[0]}{mark}")
    lines += [
        f"# {one.what.value}: {one.left} / {one.right}"
        for one in compare(plan, *answers).disagreements
    ]
    return "\n".join(lines) + "\n" + drawn.text


def _told(plan: Plan, answer: Answer, row: int) -> str:
    parts = []
    if answer.outcome[row] != NONE:
        parts.append(OUTCOMES[answer.outcome[row]].value)
        if answer.waited_for[row] != NONE:
            parts.append(free_name(plan, answer.waited_for[row]))
    if answer.reserved[row] != NONE:
        parts.append(f"{answer.reserved[row]} reserved, {answer.used[row]} used")
    place = answer.place[row]
    if place is not None:
        parts.append(f"at {place}")
    return ", ".join(parts)
