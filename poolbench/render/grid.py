"""A table as lines of text that fit the terminal.

A table that is too wide is folded into parts, one below the other; each repeats the columns that
say which row it is, and nothing is cut or left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from poolbench.domain import Status
from poolbench.results.table import Block, Table, TableColumn

_GAP = 1
_GROUP_GAP = 2

STATUS_STYLES: dict[str, str] = {
    Status.OK: "green",
    Status.OUT_OF_MEMORY: "yellow",
    Status.CORRUPTED: "bold red",
    Status.ERROR: "red",
    Status.TIMEOUT: "red",
    Status.UNSUPPORTED: "dim",
    Status.SKIPPED: "dim",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A column of the table (`at`) with the width that its texts need."""

    column: TableColumn
    at: int
    width: int

    @property
    def is_key(self) -> bool:
        return self.column.group < 0


def lay(table: Table) -> tuple[Laid, ...]:
    """Every column with its width over all blocks, so that the blocks align."""
    found = []
    for at, column in enumerate(table.columns):
        texts = [row.cells[at] for block in table.blocks for row in block.rows]
        width = max(map(cell_len, [*column.header, column.unit, *texts]))
        found.append(Laid(column=column, at=at, width=width))
    return tuple(found)


def _gap(left: Laid, right: Laid) -> int:
    return _GAP if left.column.group == right.column.group else _GROUP_GAP


def width_of(columns: Sequence[Laid]) -> int:
    gaps = sum(map(_gap, columns, columns[1:]))
    return sum(column.width for column in columns) + gaps


def fold(columns: Sequence[Laid], width: int | None) -> list[tuple[Laid, ...]]:
    """The columns of each part.  A group of columns stays whole and goes to the first part that has
    room for it; `None` makes a single part.

    A group that is wider than the terminal all by itself makes a part that is too wide.
    """
    keys = [column for column in columns if column.is_key]
    groups: dict[int, list[Laid]] = {}
    for column in columns:
        if not column.is_key:
            groups.setdefault(column.column.group, []).append(column)
    parts: list[list[Laid]] = [keys]
    for group in groups.values():
        part = next(
            (
                part
                for part in parts
                if width is None or part == keys or width_of([*part, *group]) <= width
            ),
            None,
        )
        if part is None:
            parts.append([*keys, *group])
        else:
            parts[parts.index(part)] = [*part, *group]
    return [tuple(part) for part in parts]


def lines_of(table: Table, width: int | None) -> list[Text]:
    """The whole table; `width` is the terminal's, `None` never folds."""
    lines: list[Text] = []
    for index, part in enumerate(fold(lay(table), width)):
        if index:
            lines.append(Text())
        lines += _header(part)
        for at, block in enumerate(table.blocks):
            if block.title and at:
                lines.append(Text())
            if block.title:
                lines.append(Text(block.title, style="bold cyan"))
            lines += _rows(part, block)
    return lines


def _header(part: Sequence[Laid]) -> list[Text]:
    n_lines = max(len(laid.column.header) for laid in part)
    padded = [(*("",) * (n_lines - len(laid.column.header)), *laid.column.header) for laid in part]
    lines = [_line(part, [header[k] for header in padded], style="bold") for k in range(n_lines)]
    if any(laid.column.unit for laid in part):
        lines.append(_line(part, [laid.column.unit for laid in part], style="dim"))
    return lines


def _rows(part: Sequence[Laid], block: Block) -> list[Text]:
    return [_line(part, [row.cells[laid.at] for laid in part], style="") for row in block.rows]


def _line(part: Sequence[Laid], cells: Sequence[str], *, style: str) -> Text:
    line = Text(style=style)
    for k, (laid, cell) in enumerate(zip(part, cells, strict=True)):
        if k:
            line.append(" " * _gap(part[k - 1], laid))
        padding = " " * (laid.width - cell_len(cell))
        is_status = laid.column.key == "status" and not style
        own = STATUS_STYLES.get(cell, "") if is_status else ""
        if laid.column.is_number:
            line.append(padding)
            line.append(cell, style=own)
        else:
            line.append(cell, style=own)
            line.append(padding)
    line.rstrip()
    return line
