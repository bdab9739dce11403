"""What one attribute changes, all else equal.

Pure.  Two rows that differ in one attribute alone are a pair; an attribute changes nothing where
every pair has the same status, the same outcomes, and the same makespan.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from poolbench.analysis.blocks import Block, makespan_of
from poolbench.analysis.comparison import Verdict, Yardstick, floor_of, judge
from poolbench.analysis.selection import ATTRIBUTES
from poolbench.domain import AttributeSet, Status
from poolbench.findings import CaseResult, Findings


class Effect(Enum):
    NONE = auto()
    CHANGES = auto()
    UNDECIDED = auto()
    """Same status and outcomes, but the times decide nothing."""
    BY_CHANCE = auto()
    """Outcomes differ, but only as they also do from run to run: in what opportunistic reuse found
    complete at the moment, or not."""


_STRONGEST_FIRST = (Effect.CHANGES, Effect.BY_CHANCE, Effect.UNDECIDED, Effect.NONE)


def pairs(block: Block, attribute: str) -> Iterator[tuple[CaseResult, CaseResult]]:
    """(off, on): rows that are equal but for one attribute."""

    def rest(row: AttributeSet) -> tuple[object, ...]:
        others = tuple(getattr(row, key) for key in ATTRIBUTES if key != attribute)
        return (*others, row.release_threshold, row.threshold_is_pool_size)

    on: dict[tuple[object, ...], CaseResult] = {}
    for result in block.pools:
        row = result.case.row
        if isinstance(row, AttributeSet) and getattr(row, attribute):
            on.setdefault(rest(row), result)
    for result in block.pools:
        row = result.case.row
        if isinstance(row, AttributeSet) and not getattr(row, attribute) and rest(row) in on:
            yield result, on[rest(row)]


def effect_of(block: Block, attribute: str, *, is_exact: bool) -> Effect | None:
    """`None` where the run has no pair of rows that differ in this attribute alone."""
    both = list(pairs(block, attribute))
    held = Yardstick(floor=floor_of(block), n_compared=len(both))
    found = [compare_rows(off, on, is_exact=is_exact, held=held) for off, on in both]
    if not found:
        return None
    return next(effect for effect in _STRONGEST_FIRST if effect in found)


def compare_rows(
    left: CaseResult, right: CaseResult, *, is_exact: bool, held: Yardstick | None = None
) -> Effect:
    if left.status is not right.status:
        return Effect.CHANGES
    if left.findings is None or right.findings is None:
        return Effect.UNDECIDED
    if outcome_counts(left.findings) != outcome_counts(right.findings):
        can_be_chance = not is_exact and _are_opportunistic(left, right)
        is_chance = can_be_chance and _settled(left.findings) == _settled(right.findings)
        return Effect.BY_CHANCE if is_chance else Effect.CHANGES
    first, second = makespan_of(left, is_exact=is_exact), makespan_of(right, is_exact=is_exact)
    if first is None and second is None and left.status is Status.OUT_OF_MEMORY:
        return Effect.NONE
    match judge(left, right, is_exact=is_exact, yardstick=held).verdict:
        case Verdict.SAME:
            return Effect.NONE
        case Verdict.UNDECIDED:
            return Effect.UNDECIDED
        case _:
            return Effect.CHANGES


def _are_opportunistic(*results: CaseResult) -> bool:
    rows = [result.case.row for result in results]
    return all(isinstance(row, AttributeSet) and row.allow_opportunistic for row in rows)


def _settled(findings: Findings) -> tuple[int, ...]:
    """Outcomes that do not hang on whether a free happened to be complete."""
    return (
        findings.n_host_ordered,
        findings.n_event_ordered,
        findings.n_internal_dependency,
        findings.n_out_of_memory,
    )


def outcome_counts(findings: Findings) -> tuple[int, ...]:
    return (
        findings.n_allocs,
        findings.n_same_stream,
        findings.n_host_ordered,
        findings.n_event_ordered,
        findings.n_opportunistic,
        findings.n_slack,
        findings.n_remapped,
        findings.n_grown,
        findings.n_internal_dependency,
        findings.n_out_of_memory,
    )
