"""A table as lines of text that fit the terminal.

A table that is too wide is folded into parts, one below the other; each repeats the columns that
say which row it is, and nothing is cut or left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

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
    """The columns of each part: as few parts as the width allows, of even width, the groups of
    columns whole and in order.  `None` makes a single part.

    A group that is wider than the terminal all by itself makes a part that is too wide.
    """
    keys = tuple(column for column in columns if column.is_key)
    groups: dict[int, tuple[Laid, ...]] = {}
    for column in columns:
        if not column.is_key:
            groups[column.column.group] = (*groups.get(column.column.group, ()), column)
    if width is None or not groups:
        return [tuple(columns)]
    return _folded(keys, tuple(groups.values()), width)


def _folded(
    keys: tuple[Laid, ...], groups: tuple[tuple[Laid, ...], ...], width: int
) -> list[tuple[Laid, ...]]:
    """The best of all ways to cut the groups into parts (there are few groups)."""
    parts: list[tuple[Laid, ...]] = []
    for n_cuts in range(len(groups)):
        for cuts in combinations(range(1, len(groups)), n_cuts):
            bounds = tuple(pairwise((0, *cuts, len(groups))))
            tried = [(*keys, *chain.from_iterable(groups[low:high])) for low, high in bounds]
            could_be_cut = any(
                high - low > 1 and width_of(part) > width
                for part, (low, high) in zip(tried, bounds, strict=True)
            )
            if not could_be_cut and (not parts or _widest(tried) < _widest(parts)):
                parts = tried
        if parts:
            break
    return parts


def _widest(parts: Sequence[Sequence[Laid]]) -> int:
    return max(map(width_of, parts))


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
