"""Markdown: a GitHub table for each record, with its answer and circumstances.

Pure.  A prediction says so in its title and in every row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from poolbench.analysis.answer import answer
from poolbench.results.facts import PREDICTED, circumstances, title
from poolbench.results.legend import legend
from poolbench.results.record import RunRecord
from poolbench.results.table import TableColumn, build_table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~])")


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def to_markdown(records: Sequence[RunRecord]) -> str:
    parts = [part for record in records for part in _record(record)]
    shown = [record for record in records if record.cases]
    if shown:
        entries = legend(shown, [build_table(record) for record in shown])
        lines = [f"- **{escape(term)}**: {escape(meaning)}" for term, meaning in entries]
        parts += ["### Legend", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _record(record: RunRecord) -> list[str]:
    parts = [f"## {escape(title(record))}"]
    if record.question:
        parts.append(f"> {escape(record.question)}")
    if record.cases:
        parts.append("\n".join(_table(record)))
    if len(record.cases) < record.n_planned:
        parts.append(f"Cut short: {len(record.cases)} of {record.n_planned} cases have a result.")
    parts.append("\n".join(f"- {escape(sentence)}" for sentence in answer(record)))
    failed = [claim for case in record.cases for claim in case.expectations if not claim.is_met]
    n_claims = sum(len(case.expectations) for case in record.cases)
    if n_claims:
        parts.append(f"Expectations: {n_claims - len(failed)} of {n_claims} met.")
    facts = [f"- {escape(word)}: {escape(text)}" for word, text in circumstances(record)]
    parts.append("\n".join(facts))
    return parts


def _table(record: RunRecord) -> list[str]:
    table = build_table(record)
    axes = [name for name, _ in record.axes]
    heads = [*map(escape, axes), *(_head(column) for column in table.columns)]
    rules = ["---"] * len(axes)
    rules += ["---:" if column.is_number else "---" for column in table.columns]
    lines = [_line(heads), _line(rules)]
    results = iter(record.cases)
    for block in table.blocks:
        for row in block.rows:
            values = dict(next(results).case.axes)
            cells = [escape(values.get(name, "")) for name in axes]
            for column, cell in zip(table.columns, row.cells, strict=True):
                is_source = column.key == "backend"
                cells.append(PREDICTED if is_source else escape(cell))
            lines.append(_line(cells))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(column: TableColumn) -> str:
    header = " ".join(column.header).replace("×pre- alloc", "× preallocated")
    return f"{escape(header)} ({column.unit})" if column.unit else escape(header)
