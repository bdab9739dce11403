"""Sentences about single attributes: what each changes, what none of them does, what waits cost.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from poolbench.analysis.blocks import Block, makespan_of, where_text
from poolbench.analysis.effects import Effect, effect_of, outcome_counts, pairs
from poolbench.analysis.selection import ATTRIBUTES
from poolbench.analysis.sentences import capital, listed
from poolbench.analysis.statistics import are_same
from poolbench.domain import SERVED, Outcome, Status
from poolbench.findings import Findings

INTERNAL = "allow_internal_dependencies"

_SHORT = dict(zip(ATTRIBUTES, ("follow", "opportunistic", "internal"), strict=True))

_KINDS = (*SERVED, Outcome.OUT_OF_MEMORY)


def attribute_effects(blocks: Sequence[Block], *, is_exact: bool) -> Iterator[str]:
    """What follow and opportunistic change; what changes nothing; what is undecided.

    Internal dependencies have sentences of their own where they come into play; where no allocation
    came down to them, that they change nothing is no news.
    """
    idle: list[str] = []
    by_chance: list[str] = []
    undecided: list[str] = []
    for attribute in ATTRIBUTES:
        effects = {block.axes: effect_of(block, attribute, is_exact=is_exact) for block in blocks}
        kinds = set(effects.values()) - {None}
        if attribute == INTERNAL and not is_internal_exercised(blocks):
            continue
        if Effect.CHANGES in kinds:
            if attribute != INTERNAL:
                chosen = [one for one in blocks if effects[one.axes] is Effect.CHANGES]
                yield _change(blocks, chosen, attribute)
        elif Effect.BY_CHANCE in kinds:
            by_chance.append(_SHORT[attribute])
        elif Effect.UNDECIDED in kinds:
            undecided.append(_SHORT[attribute])
        elif kinds:
            idle.append(_SHORT[attribute])
    if idle:
        verb = "change" if len(idle) > 1 else "changes"
        yield (
            f"{capital(listed(idle))} {verb} nothing here: same outcomes, times within the noise."
        )
    if by_chance:
        yield (
            f"{capital(listed(by_chance))}: undecided; the outcomes of rows with opportunistic on "
            "differ, but so they may from run to run."
        )
    if undecided:
        yield (
            f"{capital(listed(undecided))}: same outcomes; whether the times differ is undecided "
            "(fewer than 3 repetitions)."
        )


def is_internal_exercised(blocks: Sequence[Block]) -> bool:
    """Some allocation waited for a pending block, or failed for want of one."""
    known = [one.findings for block in blocks for one in block.pools if one.findings]
    return any(findings.n_inserted_waits or findings.n_out_of_memory for findings in known)


def _change(blocks: Sequence[Block], chosen: Sequence[Block], attribute: str) -> str:
    """`With follow on: 2 grown and 2 event_ordered; off: 4 grown.`, where all rows agree."""
    on, off = set(), set()
    for block in chosen:
        for left, right in pairs(block, attribute):
            if left.findings is None or right.findings is None:
                continue
            if outcome_counts(left.findings) != outcome_counts(right.findings):
                off.add(_counts_text(left.findings))
                on.add(_counts_text(right.findings))
    where = where_text(blocks, chosen)
    if len(on) == len(off) == 1:
        text = f"With {_SHORT[attribute]} on: {on.pop()}; off: {off.pop()}"
        return f"{text} ({where})." if where else f"{text}."
    what = "outcomes" if on else "status or times"
    return f"{capital(_SHORT[attribute])} changes {what}{f' {where}' if where else ''}."


def _counts_text(findings: Findings) -> str:
    counts = [(getattr(findings, f"n_{kind}"), kind) for kind in _KINDS]
    return listed([f"{n} {kind}" for n, kind in counts if n]) or "no allocation"


def cost_of_internal(blocks: Sequence[Block], *, is_exact: bool) -> Iterator[str]:
    """Where allocations waited: how long such runs take against those of the row that fails and
    tries again instead."""
    found: list[tuple[float, Block]] = []
    for block in blocks:
        ratios = _on_over_off(block, is_exact=is_exact)
        if ratios and (min(ratios) > 1 or max(ratios) < 1):
            found.append((sorted(ratios)[len(ratios) // 2], block))
    if not found:
        return
    if len(found) > 2:
        found = [max(found, key=lambda one: one[0]), min(found, key=lambda one: one[0])]
    parts = []
    for ratio, block in found:
        where = ", ".join(f"{name} {text}" for name, text in block.axes)
        parts.append(f"{ratio:.2f} times{f' ({where})' if where else ''}")
    yield f"With internal dependencies on it takes {listed(parts)} as long as with them off."


def _on_over_off(block: Block, *, is_exact: bool) -> list[float]:
    """Ratios of all pairs in which the one row waits; none unless every one of them is decided."""
    ratios = []
    for off, on in pairs(block, INTERNAL):
        if on.findings is None or not on.findings.n_inserted_waits:
            continue
        if off.status is not Status.OK or on.status is not Status.OK:
            return []
        one, two = makespan_of(off, is_exact=is_exact), makespan_of(on, is_exact=is_exact)
        if one is None or two is None or not (one.is_enough and two.is_enough):
            return []
        if one.median <= 0 or are_same(one, two):
            return []
        ratios.append(two.median / one.median)
    return ratios
