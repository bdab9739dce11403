"""Names of a scenario: the nearest known one, and references replaced as text.

Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import islice

from pydantic import BaseModel

from poolbench.scenario.fieldtypes import Scalar
from poolbench.scenario.scenario import Scenario, StepNode
from poolbench.scenario.values import REF, Ref

MAX_COMPARED = 2000
"""Known names that are compared at most: a suggestion is not worth a pause."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, if any does."""
    candidates = list(islice(known, MAX_COMPARED))
    lowered = {candidate.lower(): candidate for candidate in reversed(candidates)}
    found = difflib.get_close_matches(name[:100].lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean x?`, or the known names if there are few, or nothing."""
    candidates = list(islice(known, MAX_COMPARED))
    near = nearest(name, candidates)
    if near is not None:
        return f"; did you mean {near}?"
    if 1 <= len(candidates) <= 8:
        return f"; known: {', '.join(candidates)}"
    return ""


def text_of(scalar: Scalar) -> str:
    """A scalar as YAML writes it: `true`, not `True`."""
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return str(scalar)


def _in_value(value: object) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, str):
        for match in REF.finditer(value):
            yield match[1] or match[2]
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from _in_value(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _in_value(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _in_value(inner)


def references_in(value: object) -> frozenset[str]:
    """Every `$name` in a model, a name template, or a collection of them."""
    return frozenset(_in_value(value))


def _in_steps(nodes: Iterable[StepNode]) -> Iterator[str]:
    for node in nodes:
        yield from _in_value(node.step)
        yield from _in_steps(node.body)


def references_of(scenario: Scenario) -> frozenset[str]:
    """Every `$name` that a scenario's head (its expectations aside) and steps mention."""
    head = scenario.head
    parts = (
        head.iterations, head.issue, head.pace, head.on_oom, head.latch_limit, head.pool,
        head.device, head.streams, head.buffers, head.kernels,
    )  # fmt: skip
    return frozenset(_in_steps(scenario.steps)) | references_in(parts)
