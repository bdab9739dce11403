"""Tables put together column by column.

Pure.  A column is a header and a function that writes the text of the k-th row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from poolbench.columns import BY_KEY, Unit
from poolbench.results.numbers import Scale, count_scale, ratio_scale, size_scale, time_scale
from poolbench.results.table import Block, Table, TableColumn, TableRow

Draw = Callable[[int], str]
"""The text of a column in the k-th row."""


class Columns:
    """Columns and how to write their cells, collected one by one.

    Columns of one `group` stay together where a table is folded; those of group -1 say which row it
    is, and are repeated.
    """

    def __init__(self) -> None:
        self.columns: list[TableColumn] = []
        self.draws: list[Draw] = []

    def add(
        self, group: int, header: tuple[str, ...], draw: Draw, *, scale: Scale | None = None
    ) -> None:
        self.columns.append(
            TableColumn(
                key="status" if header == ("status",) else "",
                header=header,
                unit=scale.unit if scale else "",
                is_number=scale is not None,
                group=group,
            )
        )
        self.draws.append(draw)

    def add_numbers(
        self, group: int, header: tuple[str, ...], values: Sequence[float | None], scale: Scale
    ) -> None:
        self.add(group, header, lambda k: scale.text(values[k]), scale=scale)

    def table(self, titles: Sequence[str]) -> Table:
        """`titles` has one entry a row: rows of one title make a block."""
        blocks: dict[str, list[TableRow]] = {}
        for k, title in enumerate(titles):
            row = TableRow(status="", cells=tuple(draw(k) for draw in self.draws))
            blocks.setdefault(title, []).append(row)
        return Table(
            columns=tuple(self.columns),
            blocks=tuple(Block(title=name, rows=tuple(rows)) for name, rows in blocks.items()),
        )


def scale_of(key: str, values: Sequence[float | None]) -> Scale:
    """How a column of the registry writes its numbers."""
    match BY_KEY[key].unit:
        case Unit.MICROSECONDS:
            return time_scale(values)
        case Unit.BYTES:
            return size_scale(values)
        case Unit.RATIO:
            return ratio_scale(values)
        case _:
            return count_scale()
