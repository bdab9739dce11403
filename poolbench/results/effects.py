"""Effects of single attributes, and ratios laid out by the user's choice, as tables of texts.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.comparison import Verdict
from poolbench.analysis.factorial import METRICS, Effect, effects_of
from poolbench.analysis.summary import Cell, Pivot
from poolbench.columns import BY_KEY, Unit
from poolbench.results.numbers import ABSENT
from poolbench.results.record import RunRecord
from poolbench.results.table import Block, Table, TableColumn, TableRow

_WHOLE = ("n_inserted_waits", "n_grown", "n_out_of_memory", "reserved_high_bytes")
"""What does not vary from run to run by itself, as times do."""

_Draw = Callable[[Effect], str]


def effects_table(record: RunRecord) -> Table | None:
    """A row for each factor; `None` where no block has all eight combinations.

    Of the interactions only those are shown that come to something.
    """
    found = {
        block.axes: effects_of(block, is_exact=record.is_predicted) for block in blocks_of(record)
    }
    shown = {axes: [one for one in effects if _is_shown(one)] for axes, effects in found.items()}
    if not any(shown.values()):
        return None
    keys = [
        key
        for key in METRICS
        if any(one.differences.get(key) for group in shown.values() for one in group)
    ]
    columns: list[tuple[str, str, bool, _Draw]] = [
        ("factor", "", False, lambda one: one.name),
        ("makespan", "", True, _ratio),
        ("range", "", True, _range),
        ("verdict", "", False, _verdict),
    ]
    if record.is_predicted:
        columns.insert(1, ("by", "", False, lambda _: record.backend.value))
    columns += [
        (BY_KEY[key].title, _unit(key), True, lambda one, key=key: _difference(one, key))  # type: ignore[misc]
        for key in keys
    ]
    return Table(
        columns=tuple(
            TableColumn(
                key="",
                header=(header,),
                unit=unit,
                is_number=is_number,
                group=-1 if at == 0 else 0 if at < 4 else at,
            )
            for at, (header, unit, is_number, _) in enumerate(columns)
        ),
        blocks=tuple(
            Block(
                title=", ".join(f"{name} = {text}" for name, text in axes),
                rows=tuple(
                    TableRow(status="", cells=tuple(draw(one) for *_, draw in columns))
                    for one in group
                ),
            )
            for axes, group in shown.items()
            if group
        ),
    )


def _is_shown(effect: Effect) -> bool:
    if len(effect.factor) == 1:
        return True
    is_decided = effect.judgement is not None and effect.judgement.verdict in (
        Verdict.FASTER,
        Verdict.SLOWER,
    )
    return is_decided or any(effect.differences.get(key) for key in _WHOLE)


def _ratio(effect: Effect) -> str:
    return ABSENT if effect.makespan is None else f"{effect.makespan.ratio:.3f}"


def _range(effect: Effect) -> str:
    found = effect.makespan
    if found is None or found.low is None or found.high is None:
        return ABSENT
    return f"{found.low:.3f}..{found.high:.3f}"


def _verdict(effect: Effect) -> str:
    found = effect.judgement
    if found is None:
        return ABSENT
    return f"{found.verdict}, {found.reason}" if found.reason else found.verdict.value


def _unit(key: str) -> str:
    return {Unit.MICROSECONDS: "us", Unit.BYTES: "MiB"}.get(BY_KEY[key].unit, "")


def _difference(effect: Effect, key: str) -> str:
    value = effect.differences.get(key)
    if value is None:
        return ABSENT
    if BY_KEY[key].unit is Unit.BYTES:
        value /= 2**20
    return "0" if not value else f"{value:+.1f}"


def pivot_table(found: Pivot, rows: Sequence[str]) -> Table:
    names = [" ".join(column) or "makespan" for column in found.columns]
    columns = [
        TableColumn(key="", header=(name,), unit="", is_number=False, group=-1) for name in rows
    ] or [TableColumn(key="", header=("",), unit="", is_number=False, group=-1)]
    columns += [
        TableColumn(key="", header=(name,), unit="", is_number=True, group=at)
        for at, name in enumerate(names)
    ]
    lines = tuple(
        TableRow(
            status="",
            cells=(*(row or ("",)), *(_cell(found.cells.get((row, at))) for at in found.columns)),
        )
        for row in found.rows
    )
    return Table(columns=tuple(columns), blocks=(Block(title="", rows=lines),))


def _cell(cell: Cell | None) -> str:
    if cell is None or cell.ratio is None:
        return ABSENT
    verdict = f" {cell.verdict}" if cell.verdict else ""
    return f"{cell.ratio:.3f}{verdict}"
