"""Folding: groups whole and in order, keys in every part, every column exactly once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len  # noqa: TID251

from poolbench.render.grid import fold, lay, lines_of, width_of
from poolbench.results.table import Block, Table, TableColumn, TableRow


@st.composite
def tables(draw: st.DrawFn) -> Table:
    groups = [-1, *sorted(draw(st.lists(st.integers(0, 5), max_size=9)))]
    text = st.text(alphabet="ab–é字", max_size=9)
    columns = tuple(
        TableColumn(
            key=str(at),
            header=tuple(draw(st.lists(text, min_size=1, max_size=2))),
            unit=draw(st.sampled_from(["", "us"])),
            is_number=draw(st.booleans()),
            group=group,
        )
        for at, group in enumerate(groups)
    )
    rows = draw(st.lists(st.tuples(*(text for _ in columns)), min_size=1, max_size=3))
    block = Block(title="", rows=tuple(TableRow(status="", cells=row) for row in rows))
    return Table(columns=columns, blocks=(block,))


@given(table=tables(), width=st.integers(10, 90))
def test_fold(table: Table, width: int) -> None:
    """Whatever the widths: nothing is lost, torn apart or too wide for no reason."""
    laid = lay(table)
    keys = [one for one in laid if one.is_key]
    others = [one for one in laid if not one.is_key]
    parts = fold(laid, width)
    assert all(list(part[: len(keys)]) == keys for part in parts)
    assert [one for part in parts for one in part[len(keys) :]] == others
    found = [{one.column.group for one in part[len(keys) :]} for part in parts]
    assert sum(map(len, found)) == len({one.column.group for one in others})
    for part, groups in zip(parts, found, strict=True):
        assert width_of(part) <= width or len(groups) <= 1
    if width_of(laid) <= width:
        assert len(parts) == 1
    assert len(fold(laid, None)) == 1


@given(table=tables())
def test_columns_line_up(table: Table) -> None:
    """In terminal cells, not letters: a number ends where its column ends, in every row."""
    laid = lay(table)
    lines = [line.plain for line in lines_of(table, None)]
    assert all(cell_len(line) <= width_of(laid) for line in lines)
    last = laid[-1]
    if last.column.is_number:
        ends = {
            cell_len(line)
            for line, row in zip(
                lines[-len(table.blocks[0].rows) :], table.blocks[0].rows, strict=True
            )
            if row.cells[-1]
        }
        assert len(ends) <= 1
