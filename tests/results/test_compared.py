"""A comparison's table: what is compared with what, both sides of what differs."""

from __future__ import annotations

from dataclasses import replace

from poolbench.analysis.comparison import compare
from poolbench.domain import BackendKind, row_name
from poolbench.results.compared import comparison_table
from poolbench.results.table import Table
from tests.render.records import ROWS, hand_over, with_axes


def heads(table: Table) -> list[str]:
    return [" ".join(column.header) for column in table.columns]


def cells(table: Table, head: str) -> list[str]:
    at = heads(table).index(head)
    return [row.cells[at] for block in table.blocks for row in block.rows]


def test_within_has_every_row_once_a_block() -> None:
    """Each row beside the ideal and beside 111, which are not compared with themselves."""
    table = comparison_table(compare(with_axes()))
    assert len(table.blocks) == 2
    assert cells(table, "row") == [row_name(row) for row in ROWS] * 2
    ideal = cells(table, "over preallocated")[:10]
    assert ideal[0] == "–"
    assert ideal[3] == "2.00"
    assert cells(table, "over 111")[9] == "–"
    assert cells(table, "makespan")[:2] == ["523", "1131"]


def test_between_shows_what_differs() -> None:
    """A count that is equal is written once, one that is not with both sides."""
    first = hand_over(BackendKind.CUDA)
    changed = tuple(
        replace(one, findings=one.findings and replace(one.findings, n_grown=k % 2))
        for k, one in enumerate(first.cases)
    )
    table = comparison_table(compare(first, replace(first, cases=changed)))
    assert cells(table, "grown") == ["0", "0 → 1"] * 5
    assert cells(table, "waits")[2:4] == ["0", "1"]
    assert cells(table, "makespan A")[3] == "1045"


def test_status_change_is_shown() -> None:
    """The most important difference is in the row."""
    first = hand_over(BackendKind.CUDA)
    ok = tuple(
        replace(one, status=first.cases[0].status) if one.status.value == "out_of_memory" else one
        for one in first.cases
    )
    table = comparison_table(compare(first, replace(first, cases=ok)))
    assert cells(table, "status")[2] == "out_of_memory → ok"
    assert cells(table, "status")[3] == "ok"


def test_predictions_are_marked() -> None:
    """In every row; and a range only where repetitions give one."""
    predicted = comparison_table(compare(hand_over(BackendKind.MODEL)))
    assert set(cells(predicted, "by")) == {"model"}
    assert "range" not in heads(predicted)
    measured = comparison_table(compare(hand_over(BackendKind.CUDA)))
    assert "by" not in heads(measured)
    assert "range" in heads(measured)
