"""Which cases stand for a run where not all of them can be shown.  Pure."""

from __future__ import annotations

from poolbench.analysis.attribute_sentences import INTERNAL, is_internal_exercised
from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.effects import pairs
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord


def pair_of_internal(record: RunRecord) -> tuple[CaseResult, ...]:
    """The row with everything on, and the one without internal dependencies: of the first block
    in which something waited or failed, or of the first."""
    blocks = sorted(blocks_of(record), key=lambda block: not is_internal_exercised([block]))
    for block in blocks:
        base = block.default_like
        if base is None:
            continue
        off = [other for other, on in pairs(block, INTERNAL) if on is base]
        return (base, *off[:1])
    return default_rows(record)[:1]


def default_rows(record: RunRecord) -> tuple[CaseResult, ...]:
    """Of each block the row with everything on: what is looked at unless rows are named."""
    found = [block.default_like or next(iter(block.results), None) for block in blocks_of(record)]
    return tuple(one for one in found if one is not None)
