"""The eight combinations read as what they are: a 2x2x2 factorial experiment.

Pure.  The main effect of an attribute is what turning it on changes, averaged over the four
settings of the other two; the interaction of two attributes is by how much the one's effect differs
with the other on (half the difference, as is usual: Box, Hunter and Hunter, *Statistics for
Experimenters*, ch. 5).  Makespans go in as logarithms, block by block, so that effects are ratios
and what drifts cancels out; counts and sizes go in as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from poolbench.analysis.blocks import Block, blocks_of, where_text
from poolbench.analysis.comparison import Judgement, Verdict, Yardstick, by_interval, floor_of
from poolbench.analysis.paired import Estimate, contrast
from poolbench.analysis.quantities import metric
from poolbench.analysis.sentences import listed
from poolbench.domain import AttributeSet, Status
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord

ATTRIBUTES = ("follow", "opportunistic", "internal")
METRICS = (
    "alloc_host_us_median",
    "n_inserted_waits",
    "n_grown",
    "n_out_of_memory",
    "reserved_high_bytes",
)
"""Whose effects are differences, on less off."""

Factor = tuple[str, ...]
"""One attribute: its main effect; two or three: their interaction."""

FACTORS: tuple[Factor, ...] = tuple(
    factor for n in (1, 2, 3) for factor in combinations(ATTRIBUTES, n)
)
_Setting = tuple[bool, ...]
_SETTINGS: tuple[_Setting, ...] = tuple(product(*[(False, True)] * 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Of one factor in one block of rows.

    makespan, judgement
        on over off; `None` where a row has no times.
    differences
        metric -> on less off, for those that every row has.
    """

    factor: Factor
    makespan: Estimate | None
    judgement: Judgement | None
    differences: Mapping[str, float]

    @property
    def name(self) -> str:
        return " x ".join(self.factor)


def effects_of(block: Block, *, is_exact: bool = False) -> tuple[Effect, ...]:
    """Empty unless all eight combinations are there, with one threshold."""
    rows = _cube(block)
    if rows is None:
        return ()
    held = Yardstick(floor=floor_of(block), n_compared=len(FACTORS))
    found = []
    for factor in FACTORS:
        signs = {setting: _sign(factor, setting) for setting in _SETTINGS}
        estimate = _makespan_effect(rows, signs, is_exact=is_exact)
        found.append(
            Effect(
                factor=factor,
                makespan=estimate,
                judgement=None if estimate is None else by_interval(estimate, held),
                differences=_differences(rows, signs),
            )
        )
    return tuple(found)


def _cube(block: Block) -> dict[_Setting, CaseResult] | None:
    found: dict[_Setting, CaseResult] = {}
    for result in block.pools:
        row = result.case.row
        if isinstance(row, AttributeSet) and row.name == row.bits:
            setting = (
                row.follow_event_dependencies,
                row.allow_opportunistic,
                row.allow_internal_dependencies,
            )
            found[setting] = result
    return found if len(found) == len(_SETTINGS) else None


def _sign(factor: Factor, setting: _Setting) -> int:
    on = dict(zip(ATTRIBUTES, setting, strict=True))
    return math.prod(1 if on[attribute] else -1 for attribute in factor)


def _makespan_effect(
    rows: Mapping[_Setting, CaseResult], signs: Mapping[_Setting, int], *, is_exact: bool
) -> Estimate | None:
    if any(result.status is not Status.OK for result in rows.values()):
        return None
    n_blocks = min(len(result.samples_us) for result in rows.values())
    logs = []
    for at in range(n_blocks):
        values = {setting: result.samples_us[at] for setting, result in rows.items()}
        if all(values.values()):
            logs.append(sum(signs[key] * math.log(value or 1) for key, value in values.items()) / 4)
    if is_exact and logs:
        ratio = math.exp(logs[0])
        return Estimate(ratio=ratio, low=ratio, high=ratio, n=1, n_effective=1.0, level=1.0)
    return contrast(logs, n_compared=len(FACTORS))


def _differences(
    rows: Mapping[_Setting, CaseResult], signs: Mapping[_Setting, int]
) -> dict[str, float]:
    found = {}
    for key in METRICS:
        values = {setting: metric(result, key) for setting, result in rows.items()}
        if all(value is not None for value in values.values()):
            found[key] = sum(signs[at] * (value or 0) for at, value in values.items()) / 4
    return found


def factorial_sentences(record: RunRecord) -> tuple[str, ...]:
    """`Internal matters only where pool.max_size is 128MiB or less (up to 1.52 times); follow and
    opportunistic change nothing measurable.`"""
    blocks = blocks_of(record)
    found = {block.axes: effects_of(block, is_exact=record.is_predicted) for block in blocks}
    known = [block for block in blocks if _is_judged(found[block.axes])]
    if not known:
        return ()
    mattering, idle, open_ = [], [], []
    for attribute in ATTRIBUTES:
        judged = {block.axes: _main(found[block.axes], attribute) for block in known}
        chosen = [block for block in known if _is_decided(judged[block.axes])]
        if chosen:
            where = where_text(known, chosen).removeprefix("only ")
            ratios = [one.ratio for block in chosen if (one := judged[block.axes]) and one.ratio]
            mattering.append(
                f"{attribute} {_effect_text(ratios)}{f' only {where}' if where else ''}"
            )
        elif all(one and one.verdict is Verdict.SAME for one in judged.values()):
            idle.append(attribute)
        else:
            open_.append(attribute)
    parts = list(mattering)
    if idle:
        verb = "change" if len(idle) > 1 else "changes"
        parts.append(f"{listed(idle)} {verb} nothing measurable")
    if open_:
        verb = "are" if len(open_) > 1 else "is"
        parts.append(f"{listed(open_)} {verb} undecided")
    n_out = len(blocks) - len(known)
    scope = f" ({n_out} of {len(blocks)} blocks left out: rows without times)" if n_out else ""
    return (f"Makespan, one attribute at a time: {'; '.join(parts)}{scope}.",)


def _is_judged(effects: Sequence[Effect]) -> bool:
    return any(effect.judgement is not None for effect in effects)


def _main(effects: Sequence[Effect], attribute: str) -> Judgement | None:
    return next((one.judgement for one in effects if one.factor == (attribute,)), None)


def _is_decided(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.verdict in (Verdict.FASTER, Verdict.SLOWER)


def _effect_text(ratios: Sequence[float]) -> str:
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    span = low if low == high else f"{low} to {high}"
    return f"takes it to {span} times as long"
