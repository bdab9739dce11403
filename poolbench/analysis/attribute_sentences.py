"""Sentences about single attributes: what each changes, what none of them does, what waits cost.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from poolbench.analysis.blocks import Block, where_text
from poolbench.analysis.comparison import Judgement, Verdict, Yardstick, floor_of, judge
from poolbench.analysis.effects import Effect, effect_of, outcome_counts, pairs
from poolbench.analysis.quantities import say_us
from poolbench.analysis.selection import ATTRIBUTES
from poolbench.analysis.sentences import capital, listed
from poolbench.domain import SERVED, Outcome, Status
from poolbench.findings import CaseResult, Findings

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
            f"{capital(listed(undecided))}: same outcomes; whether the times differ is undecided."
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
    tries again instead, and what of either is on the critical path.

    A block speaks where half of its pairs of rows are decided, and all of these the same way."""
    found: list[tuple[Judgement, CaseResult, CaseResult, Block]] = []
    for block in blocks:
        both = _waiting_pairs(block)
        held = Yardstick(floor=floor_of(block), n_compared=max(1, len(both)))
        judged = [(judge(off, on, is_exact=is_exact, yardstick=held), off, on) for off, on in both]
        decided = [one for one in judged if one[0].verdict in _DECIDED]
        is_agreed = len({one.verdict for one, _, _ in decided}) == 1
        if is_agreed and 2 * len(decided) >= len(judged):
            decided.sort(key=lambda one: one[0].ratio or 0.0)
            found.append((*decided[len(decided) // 2], block))
    if not found:
        return
    if len(found) > 2:
        found.sort(key=lambda one: -(one[0].ratio or 0.0))
        found = [found[0], found[-1]]
    parts = [_cost_text(*one) for one in found]
    yield f"With internal dependencies on it takes {listed(parts)} as long as with them off."


_DECIDED = frozenset({Verdict.FASTER, Verdict.SLOWER})


def _waiting_pairs(block: Block) -> list[tuple[CaseResult, CaseResult]]:
    """(off, on) where the one waits; none unless all of them end ok."""
    found = [
        (off, on)
        for off, on in pairs(block, INTERNAL)
        if on.findings is not None and on.findings.n_inserted_waits
    ]
    is_fine = all(off.status is Status.OK and on.status is Status.OK for off, on in found)
    return found if is_fine else []


def _cost_text(found: Judgement, off: CaseResult, on: CaseResult, block: Block) -> str:
    """`1.30 times (1.27 to 1.33; pool.max_size 128MiB; 6.4 ms of inserted waits on the critical
    path against 9.3 ms of retries)`"""
    span = ""
    if found.low is not None and found.high is not None:
        low, high = f"{found.low:.2f}", f"{found.high:.2f}"
        span = f"{low} to {high}" if low != high else ""
    where = ", ".join(f"{name} {text}" for name, text in block.axes)
    waits = on.findings.path_inserted_wait_us if on.findings else None
    retries = off.findings.path_retry_us if off.findings else None
    path = ""
    if waits is not None and retries is not None:
        path = f"{say_us(waits)} of inserted waits on the critical path against "
        path += f"{say_us(retries)} of retries"
    inside = "; ".join(part for part in (span, where, path) if part)
    return f"{found.ratio:.2f} times{f' ({inside})' if inside else ''}"
