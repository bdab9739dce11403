"""Parts of sentences about a run.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from poolbench.analysis.blocks import Block, rows_text, where_text
from poolbench.findings import CaseResult


def pools_of(blocks: Iterable[Block]) -> list[CaseResult]:
    return [result for block in blocks for result in block.pools]


def tail(blocks: Sequence[Block], chosen: Sequence[CaseResult]) -> str:
    """` (rows 001 111), only where n is 4`: which rows and axis values a sentence is about."""
    keys = {one.case.axes for one in chosen}
    where = where_text(blocks, [block for block in blocks if block.axes in keys])
    rows = rows_text(chosen)
    every = rows_text(pools_of(blocks))
    about = f" ({rows})" if rows != every or " " not in rows[5:] else ", in every row"
    return about + (f", {where}" if where else "")


def span(values: Sequence[float], words: Iterable[str]) -> str:
    """One text where all values read alike, else the smallest to the largest."""
    texts = list(words)
    low = texts[min(range(len(values)), key=values.__getitem__)]
    high = texts[max(range(len(values)), key=values.__getitem__)]
    return low if low == high else f"{low} to {high}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty of nothing."""
    if not words:
        return ""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def capital(text: str) -> str:
    return text[0].upper() + text[1:]
