"""The Markdown export: a table that GitHub draws, marked where it is a prediction."""

from __future__ import annotations

import re

from poolbench.domain import BackendKind
from poolbench.export.markdown import escape, to_markdown
from tests.render.records import eventful, hand_over, with_axes


def table_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_table_is_rectangular() -> None:
    """Header, rule and rows have the same number of cells; numbers are right-aligned."""
    for record in (hand_over(BackendKind.CUDA), with_axes(), eventful()):
        rows = table_of(to_markdown([record]))
        assert len(rows) == len(record.cases) + 2
        assert len({len(row) for row in rows}) == 1
        assert set(rows[1]) == {"---", "---:"}
        units = [head for head in rows[0] if head.endswith(("(us)", "(ms)"))]
        assert "makespan" in units[0]


def test_axes_are_columns() -> None:
    """There is no place for a block's title inside a table."""
    rows = table_of(to_markdown([with_axes()]))
    assert rows[0][0] == r"pool.max\_size"
    assert [row[0] for row in rows[2:]] == ["none"] * 10 + ["32MiB"] * 10


def test_prediction_is_marked() -> None:
    """In the title and in every row; a measurement nowhere."""
    text = to_markdown([hand_over(BackendKind.MODEL)])
    assert "PREDICTED by the model, not measured" in text.splitlines()[0]
    assert all("predicted, not measured" in row for row in table_of(text)[2:])
    assert "predicted" not in to_markdown([hand_over(BackendKind.CUDA)]).lower()


def test_page_has_answer_and_circumstances() -> None:
    """A table without them would be of no use to a reader elsewhere."""
    text = to_markdown([hand_over(BackendKind.CUDA)])
    assert "> Stream a frees" in text
    assert "Internal dependencies: 1 wait" in text
    assert "- device: NVIDIA H200" in text
    assert "- floors: event pair 1.54 us" in text
    assert "### Legend" in text


def test_special_characters_are_escaped() -> None:
    """A name cannot break the table or become a link."""
    assert escape("a|b [x](y) <i> *z*\nc") == r"a\|b \[x\](y) \<i\> \*z\* c"
