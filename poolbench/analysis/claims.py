"""The claims of an expectation, each checked against one traced run.

Pure.  A claim comes back as (claim in words, is it met, what was found).  Patterns (`*`, `?`) match
the label of a step or the name of its buffer; what a pattern matches must all fit, in every
iteration, and matching nothing is not met.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from poolbench.analysis.quantities import metric, say, say_size, say_us
from poolbench.analysis.statistics import median_us
from poolbench.columns import BY_KEY, Unit
from poolbench.conditions import parse_condition
from poolbench.domain import OUTCOMES, Outcome
from poolbench.findings import CaseResult
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free, Sample, Step
from poolbench.trace import NONE, StepTrace


class Claim(NamedTuple):
    text: str
    is_met: bool
    found: str


def _matches(pattern: str, name: str) -> bool:
    parts = (
        ".*" if part == "*" else "." if part == "?" else re.escape(part)
        for part in re.split(r"([*?])", pattern)
    )
    return re.fullmatch("".join(parts), name) is not None


def matching_rows(
    plan: Plan, steps: StepTrace, pattern: str, kinds: tuple[type[Step], ...] | None = None
) -> list[int]:
    """Issued rows of the steps that a pattern names, in order of issue."""
    wanted = [
        index
        for index, step in enumerate(plan.steps)
        if (kinds is None or isinstance(step, kinds))
        and (
            _matches(pattern, plan.names[index])
            or (isinstance(step, Alloc) and _matches(pattern, plan.buffers[step.buffer].name))
        )
    ]
    begins = steps.host_begin_ns
    firsts = range(0, len(begins), plan.n_steps or 1)
    return [first + index for first in firsts for index in wanted if begins[first + index] != NONE]


def metric_claim(result: CaseResult, key: str, wanted: str | float) -> Claim:
    unit = BY_KEY[key].unit
    value = metric(result, key)
    text = f"{key} {_words(wanted)}"
    if value is None:
        return Claim(text, False, f"no value ({result.status})")
    return Claim(text, parse_condition(wanted, unit).holds(value), say(value, unit))


def _words(wanted: str | float) -> str:
    """A condition as part of a sentence: `is 3`, `>= 450us`, `in 0.9..1.1`."""
    text = str(wanted).strip()
    if text[:1] in "<>=!":
        return text
    return f"in {text}" if ".." in text else f"is {text}"


def outcomes_claim(
    plan: Plan, steps: StepTrace, pattern: str, wanted: Outcome | Sequence[Outcome]
) -> Claim:
    allowed = (wanted,) if isinstance(wanted, Outcome) else tuple(wanted)
    text = f"{pattern} is {' or '.join(allowed)}"
    rows = matching_rows(plan, steps, pattern, (Alloc,))
    if not rows:
        return Claim(text, False, f"no allocation {pattern} was made")
    counts: dict[str, int] = {}
    for row in rows:
        code = int(steps.outcome[row])
        name = OUTCOMES[code].value if code != NONE else "not classified"
        counts[name] = counts.get(name, 0) + 1
    return Claim(text, set(counts) <= {str(one) for one in allowed}, tally(counts))


def tally(counts: dict[str, int]) -> str:
    if len(counts) == 1 and set(counts.values()) == {1}:
        return next(iter(counts))
    return ", ".join(f"{name} ({n})" for name, n in sorted(counts.items(), key=lambda i: -i[1]))


def waits_for_claim(plan: Plan, steps: StepTrace, pattern: str, stream: str) -> Claim:
    """Of the matching allocations at least one waited, and all that waited did so for `stream`;
    `outcomes` says how many have to."""
    text = f"{pattern} waits for {stream}"
    rows = matching_rows(plan, steps, pattern, (Alloc,))
    if not rows:
        return Claim(text, False, f"no allocation {pattern} was made")
    internal = OUTCOMES.index(Outcome.INTERNAL_DEPENDENCY)
    counts: dict[str, int] = {}
    for row in rows:
        if steps.outcome[row] == internal:
            name = _freed_on(plan, int(steps.waited_for[row]))
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return Claim(text, False, "waited for no stream")
    return Claim(text, set(counts) == {stream}, f"waited for {tally(counts)}")


def _freed_on(plan: Plan, free_row: int) -> str:
    if free_row == NONE:
        return "an unknown stream"
    freed = plan.steps[free_row % plan.n_steps]
    assert isinstance(freed, Free)
    return plan.streams[freed.stream].name


def sample_claim(
    plan: Plan,
    steps: StepTrace,
    name: str,
    column: Literal["reserved", "used"],
    wanted: str | float,
) -> Claim:
    text = f"sample {name}: {column} {_words(wanted)}"
    rows = [
        row
        for row in matching_rows(plan, steps, "*", (Sample,))
        if _matches(name, _sample_name(plan, row))
    ]
    if not rows:
        return Claim(text, False, f"no sample {name} was taken")
    condition = parse_condition(wanted, Unit.BYTES)
    values = [int((steps.reserved if column == "reserved" else steps.used)[row]) for row in rows]
    if NONE in values:
        return Claim(text, False, "no value (no pool)")
    found = ", ".join(dict.fromkeys(say_size(value) for value in values))
    return Claim(text, all(map(condition.holds, values)), found)


def _sample_name(plan: Plan, row: int) -> str:
    step = plan.steps[row % plan.n_steps]
    assert isinstance(step, Sample)
    return step.name


def host_time_claim(plan: Plan, steps: StepTrace, label: str, wanted: str) -> Claim:
    text = f"host time of {label} {_words(wanted)}"
    rows = matching_rows(plan, steps, label)
    spans = [int(steps.host_end_ns[row] - steps.host_begin_ns[row]) for row in rows]
    value = median_us(spans)
    if value is None:
        return Claim(text, False, f"no step {label} was issued")
    return Claim(
        text, parse_condition(wanted, Unit.MICROSECONDS).holds(value), f"median {say_us(value)}"
    )
