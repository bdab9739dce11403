"""Answers told from traces.

Pure.  An answer rests on addresses, on the pool's reserved bytes and on what ran or returned while
a stream was provably held, never on how long something took; only the costs are times.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from poolbench.analysis.held import while_held
from poolbench.domain import Status, row_name
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Sample
from poolbench.probe.documented import Reuse, Waiting
from poolbench.probe.questions import (
    ASKED,
    BESIDE,
    RELEASED,
    CallQuestion,
    LayoutQuestion,
    Reading,
    ReuseQuestion,
)
from poolbench.probe.record import CallAnswer, Cell, LayoutAnswer
from poolbench.trace import NONE, StepTrace, Trace
from poolbench.units import format_size

LONG_NS = 2_000_000
"""A launch that took longer than this waited for room in the queue: others take microseconds, and
the watchdog comes after tens of milliseconds."""
_USABLE = (Status.OK, Status.OUT_OF_MEMORY)


def _unusable(trace: Trace) -> str:
    """Why there is no answer; empty where there is one."""
    if trace.status not in _USABLE or trace.steps is None:
        return trace.reason or trace.status.value
    return ""


def _issued(plan: Plan, steps: StepTrace) -> Iterator[tuple[int, int]]:
    """(row, step) of every step that was issued."""
    for row, begin in enumerate(steps.host_begin_ns.tolist()):
        if begin != NONE:
            yield row, row % plan.n_steps


def _labelled(plan: Plan, steps: StepTrace, label: str) -> list[int]:
    return [row for row, k in _issued(plan, steps) if plan.place(k).label == label]


def _allocated(plan: Plan, steps: StepTrace) -> dict[str, int]:
    """Buffer -> row of its allocation."""
    found: dict[str, int] = {}
    for row, k in _issued(plan, steps):
        step = plan.steps[k]
        if isinstance(step, Alloc):
            found[plan.buffers[step.buffer].name] = row
    return found


# --- who may reuse a block ------------------------------------------------------------------


def cell(question: ReuseQuestion, plan: Plan, trace: Trace) -> Cell:
    """Buffers that were freed before are those whose name begins with x."""
    row = row_name(plan.case.row)
    why_not = _unusable(trace)
    if why_not or trace.steps is None:
        return Cell(question=question.scenario, row=row, answer=Reuse.UNKNOWN, note=why_not)
    steps = trace.steps
    asked = _labelled(plan, steps, ASKED)[0]
    freed = [
        (int(steps.address[at]), _size(plan, at))
        for name, at in _allocated(plan, steps).items()
        if name.startswith("x")
    ]
    before = next(value for value in reversed(steps.reserved[:asked].tolist()) if value != NONE)
    address, after = int(steps.address[asked]), int(steps.reserved[asked])
    beside = _labelled(plan, steps, BESIDE)
    held = while_held(plan, trace, steps, beside[0]) if beside else None
    ran = None if held is None else held.has_run
    has_waited = ran is False and not question.is_ordered
    is_freed = _is_covered(address, address + _size(plan, asked), freed)
    return Cell(
        question=question.scenario,
        row=row,
        answer=_answer(address, is_freed=is_freed, has_waited=has_waited, has_grown=after > before),
        distance=None if address == NONE else address - freed[0][0],
        reserved_before=before,
        reserved_after=after,
        ran_while_held=ran,
        host_ns=int(steps.host_end_ns[asked] - steps.host_begin_ns[asked]),
    )


def _is_covered(begin: int, end: int, ranges: list[tuple[int, int]]) -> bool:
    """Every byte of [begin, end) lies in one of the ranges (begin, size)."""
    for low, size in sorted(ranges):
        if low <= begin < low + size:
            begin = low + size
    return begin >= end


def _answer(address: int, *, is_freed: bool, has_waited: bool, has_grown: bool) -> Reuse:
    """Memory that was freed counts as reused even if the pool has grown in vain before."""
    if address == NONE:
        return Reuse.FAILS
    if is_freed:
        return Reuse.WAITS if has_waited else Reuse.REUSES
    return Reuse.GROWS if has_grown else Reuse.REMAPS


def _size(plan: Plan, row: int) -> int:
    step = plan.steps[row % plan.n_steps]
    assert isinstance(step, Alloc)
    return step.size


# --- which calls wait -----------------------------------------------------------------------


def call_answer(question: CallQuestion, plan: Plan, trace: Trace) -> CallAnswer:
    why_not = _unusable(trace)
    rows = [] if trace.steps is None else _labelled(plan, trace.steps, question.label)
    if why_not or trace.steps is None or not rows:
        return CallAnswer(
            question=question.key, answer=Waiting.UNKNOWN, note=why_not or "it was not issued"
        )
    row = rows[0]
    held = while_held(plan, trace, trace.steps, row)
    if held is None:
        return CallAnswer(question=question.key, answer=Waiting.UNKNOWN, note="no latch was closed")
    return CallAnswer(
        question=question.key,
        answer=Waiting.RETURNS if held.has_returned else Waiting.WAITS,
        host_ns=int(trace.steps.host_end_ns[row] - trace.steps.host_begin_ns[row]),
    )


# --- how memory is laid out -----------------------------------------------------------------


def layout_answer(question: LayoutQuestion, plan: Plan, trace: Trace) -> LayoutAnswer:
    why_not = _unusable(trace)
    if why_not or trace.steps is None:
        return LayoutAnswer(question=question.key, text="", note=why_not)
    told = _READERS[question.reading](plan, trace.steps)
    return LayoutAnswer(question=question.key, text=told)


def _addresses(plan: Plan, steps: StepTrace) -> dict[str, int]:
    return {name: int(steps.address[row]) for name, row in _allocated(plan, steps).items()}


def _reserved(plan: Plan, steps: StepTrace) -> dict[str, int]:
    """Reserved bytes after each allocation and sample, by its name."""
    rows = _allocated(plan, steps)
    rows |= {
        plan.names[k]: row for row, k in _issued(plan, steps) if isinstance(plan.steps[k], Sample)
    }
    return {name: int(steps.reserved[row]) for name, row in rows.items()}


def _chunk(plan: Plan, steps: StepTrace) -> str:
    """The first growth, if the second one is a multiple of it."""
    reserved = _reserved(plan, steps)
    first, second = reserved["first"], reserved["second"]
    whole = first > 0 and second % first == 0
    return format_size(first) if whole else f"{format_size(first)}, then {format_size(second)}"


def _granule(plan: Plan, steps: StepTrace) -> str:
    found = _addresses(plan, steps)
    return format_size(found["q"] - found["p"])


def _fit(plan: Plan, steps: StepTrace) -> str:
    """x1 is the largest, the first and the lowest; x2 the smallest; x3 freed last."""
    found = _addresses(plan, steps)
    taken = {name for name in ("x1", "x2", "x3") if found[name] == found["y"]}
    words = {
        "x1": "the first that is large enough",
        "x2": "the smallest that is large enough",
        "x3": "the one freed last",
    }
    return words[taken.pop()] if taken else "none of them"


def _joining(plan: Plan, steps: StepTrace) -> str:
    found, reserved = _addresses(plan, steps), _reserved(plan, steps)
    is_joined = found["y"] == found["x1"] and reserved["y"] == reserved["x2"]
    return "join once the host knows of both" if is_joined else "stay apart"


def _remapping(plan: Plan, steps: StepTrace) -> str:
    found, reserved = _addresses(plan, steps), _reserved(plan, steps)
    if reserved["y"] > reserved["end"]:
        return "stay where they are; the pool grows"
    is_new = found["y"] not in (found["x1"], found["x2"])
    return "are mapped into one new range" if is_new else "serve as they are"


def _release(plan: Plan, steps: StepTrace) -> str:
    reserved = _reserved(plan, steps)
    held, waited = reserved["x"], reserved["waited"]
    queried, synchronised = reserved["queried"], reserved["synchronised"]
    if waited < held:
        return "by itself"
    if queried < held:
        return "at a query"
    if synchronised == plan.release_threshold:
        return RELEASED
    return "never" if synchronised == held else f"down to {format_size(synchronised)}"


def _queue(plan: Plan, steps: StepTrace) -> str:
    rows = _labelled(plan, steps, "launch")
    for n_taken, row in enumerate(rows):
        if steps.host_end_ns[row] - steps.host_begin_ns[row] > LONG_NS:
            return str(n_taken)
    return f"more than {len(rows)}"


def _times_us(plan: Plan, steps: StepTrace, label: str) -> list[float]:
    """Host times in the order of issue, the first iteration left out."""
    rows = [row for row in _labelled(plan, steps, label) if row >= plan.n_steps]
    return [float(steps.host_end_ns[row] - steps.host_begin_ns[row]) / 1000 for row in rows]


def _growth_cost(plan: Plan, steps: StepTrace) -> str:
    small, large = (_times_us(plan, steps, f"grow_{size}") for size in ("64MiB", "1GiB"))
    per_mib = (statistics.median(large) - statistics.median(small)) / (1024 - 64)
    return f"{per_mib:.2f} us"


def _median_cost(label: str) -> Callable[[Plan, StepTrace], str]:
    def read(plan: Plan, steps: StepTrace) -> str:
        return f"{statistics.median(_times_us(plan, steps, label)):.1f} us"

    return read


_READERS: dict[Reading, Callable[[Plan, StepTrace], str]] = {
    Reading.CHUNK: _chunk,
    Reading.GRANULE: _granule,
    Reading.FIT: _fit,
    Reading.JOINING: _joining,
    Reading.REMAPPING: _remapping,
    Reading.RELEASE: _release,
    Reading.QUEUE: _queue,
    Reading.GROWTH_COST: _growth_cost,
    Reading.HIT_COST: _median_cost("hit"),
    Reading.FREE_COST: _median_cost("free"),
}
