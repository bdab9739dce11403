"""A record as a table of texts: which columns, in which unit, grouped, block by block.

Pure.  The terminal and Markdown both draw this value; neither formats a number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolbench.columns import BY_KEY, Unit
from poolbench.domain import Case, row_name
from poolbench.findings import CaseResult
from poolbench.results.derived import (
    OVER_DEFAULT,
    OVER_PREALLOCATED,
    VERDICT,
    default_row,
    over,
    over_preallocated,
    verdicts,
)
from poolbench.results.numbers import (
    ABSENT,
    Scale,
    count_scale,
    ratio_scale,
    size_scale,
    threshold_text,
    time_scale,
)
from poolbench.results.record import RunRecord
from poolbench.results.rows import CellValue, case_values

REUSE = (
    "n_same_stream",
    "n_host_ordered",
    "n_event_ordered",
    "n_opportunistic",
    "n_slack",
    "n_remapped",
    "n_grown",
)
"""How allocations were served, apart from inserted waits and failures, which have columns."""

PATH = (
    "path_work_us",
    "path_explicit_wait_us",
    "path_inserted_wait_us",
    "path_growth_us",
    "path_retry_us",
    "path_host_call_us",
    "path_host_own_us",
    "path_contention_us",
    "path_rest_us",
)
"""Where the makespan of the traced run went."""

_GROUPS: tuple[tuple[str, ...], ...] = (
    ("release_threshold",),
    ("status",),
    (
        "makespan_us_median",
        "makespan_us_iqr",
        "makespan_cold_us_median",
        OVER_PREALLOCATED,
        OVER_DEFAULT,
        VERDICT,
    ),
    ("n_inserted_waits", "inserted_wait_us_total"),
    ("alloc_host_us_median", "alloc_host_us_max", "free_host_us_median"),
    REUSE,
    ("n_out_of_memory",),
    ("reserved_high_bytes", "used_high_bytes"),
    ("graph_reserved_high_bytes", "graph_used_high_bytes"),
    ("overlap",),
    ("sync_host_us_median", "sync_host_us_max"),
    ("n_latch_timeouts", "n_corrupt_bytes"),
    PATH,
)
"""Columns in the order of the table; a group is never torn apart."""

_ONLY_IF_NONZERO = frozenset(
    {*REUSE, *PATH, "inserted_wait_us_total", "n_latch_timeouts", "n_corrupt_bytes"}
)
_ONLY_IF_KNOWN = frozenset(
    {
        "makespan_us_iqr",
        "makespan_cold_us_median",
        OVER_PREALLOCATED,
        OVER_DEFAULT,
        VERDICT,
        "alloc_host_us_median",
        "alloc_host_us_max",
        "free_host_us_median",
        "reserved_high_bytes",
        "used_high_bytes",
        "graph_reserved_high_bytes",
        "graph_used_high_bytes",
        "overlap",
        "sync_host_us_median",
        "sync_host_us_max",
    }
)
_HEADERS: dict[str, tuple[str, ...]] = {
    "makespan_cold_us_median": ("cold", "makespan"),
    OVER_PREALLOCATED: ("×pre-", "alloc"),
    "alloc_host_us_median": ("alloc", "host"),
    "alloc_host_us_max": ("alloc", "worst"),
    "free_host_us_median": ("free", "host"),
    "inserted_wait_us_total": ("wait", "total"),
    "reserved_high_bytes": ("reserved", "peak"),
    "used_high_bytes": ("used", "peak"),
    "graph_reserved_high_bytes": ("graph", "reserved"),
    "graph_used_high_bytes": ("graph", "used"),
    "sync_host_us_median": ("sync", "host"),
    "sync_host_us_max": ("sync", "worst"),
    "n_latch_timeouts": ("latch", "opened"),
    "path_work_us": ("path", "work"),
    "path_explicit_wait_us": ("explicit", "waits"),
    "path_inserted_wait_us": ("inserted", "waits"),
    "path_host_call_us": ("host", "calls"),
    "path_host_own_us": ("host", "own"),
    "path_contention_us": ("con-", "tention"),
}
_SAME_SCALE = (
    ("makespan_us_median", "makespan_us_iqr", "makespan_cold_us_median"),
    ("alloc_host_us_median", "alloc_host_us_max"),
    ("reserved_high_bytes", "used_high_bytes"),
    ("graph_reserved_high_bytes", "graph_used_high_bytes"),
    ("sync_host_us_median", "sync_host_us_max"),
    PATH,
)
"""Columns side by side that are read together have one unit and one number of decimals."""

ROW_KEYS = ("attribute_set", "follow", "opportunistic", "internal", "backend")
"""What says which row this is; repeated where a table is folded."""

_ATTRIBUTES = {
    "follow": ("f", "follow_event_dependencies"),
    "opportunistic": ("o", "allow_opportunistic"),
    "internal": ("i", "allow_internal_dependencies"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """`header` has one line or two; `group` columns stay together when a table is folded."""

    key: str
    header: tuple[str, ...]
    unit: str
    is_number: bool
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    status: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The rows of one combination of axis values; `title` is empty without axes."""

    title: str
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: tuple[TableColumn, ...]
    blocks: tuple[Block, ...]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(column.key for column in self.columns)


def build_table(record: RunRecord) -> Table:
    """Every case of the record; columns in which nothing could stand are left out."""
    cases = record.cases
    reference = default_row(cases)
    judged = verdicts(record)
    values = [_values(record, result, reference) for result in cases]
    for result, row in zip(cases, values, strict=True):
        row[VERDICT] = judged.get(result.case)
    columns = [*_row_columns(record)]
    scales: list[Scale | None] = [None] * len(columns)
    for group, keys in enumerate(_GROUPS):
        for key in keys:
            if not _is_shown(key, values):
                continue
            scale = _scale(key, values)
            columns.append(
                TableColumn(
                    key=key,
                    header=_header(key, reference),
                    unit=scale.unit if scale else "",
                    is_number=key not in ("status", VERDICT),
                    group=group,
                )
            )
            scales.append(scale)
    rows = [
        TableRow(
            status=result.status.value,
            cells=tuple(
                _text(column.key, found[column.key], scale)
                for column, scale in zip(columns, scales, strict=True)
            ),
        )
        for result, found in zip(cases, values, strict=True)
    ]
    return Table(columns=_with_lead(columns), blocks=_blocks(cases, rows))


def _row_columns(record: RunRecord) -> list[TableColumn]:
    def column(key: str, title: str) -> TableColumn:
        return TableColumn(key=key, header=(title,), unit="", is_number=False, group=-1)

    columns = [column("attribute_set", "row")]
    columns += [column(key, letter) for key, (letter, _) in _ATTRIBUTES.items()]
    if record.is_predicted:
        columns.append(column("backend", "by"))
    return columns


def _values(record: RunRecord, result: CaseResult, reference: str | None) -> dict[str, CellValue]:
    values = case_values(record, result)
    for key, (_, name) in _ATTRIBUTES.items():
        values[key] = values[name]
    values[OVER_PREALLOCATED] = over_preallocated(result, record.cases)
    values[OVER_DEFAULT] = over(result, record.cases, reference)
    return values


def _is_shown(key: str, values: Sequence[dict[str, CellValue]]) -> bool:
    found = [row[key] for row in values]
    if key == "release_threshold":
        return len({value for value in found if value is not None}) > 1
    if key in _ONLY_IF_NONZERO:
        return any(found)
    if key in _ONLY_IF_KNOWN:
        return any(value is not None for value in found)
    return True


def _scale(key: str, values: Sequence[dict[str, CellValue]]) -> Scale | None:
    keys = next((together for together in _SAME_SCALE if key in together), (key,))
    numbers = [
        value
        for row in values
        for one in keys
        if isinstance(value := row[one], int | float) and not isinstance(value, bool)
    ]
    if key in (OVER_PREALLOCATED, OVER_DEFAULT):
        return ratio_scale(numbers)
    if key == VERDICT:
        return None
    match BY_KEY[key].unit:
        case Unit.MICROSECONDS:
            return time_scale(numbers)
        case Unit.BYTES if key != "release_threshold":
            return size_scale(numbers)
        case Unit.RATIO:
            return ratio_scale(numbers)
        case Unit.COUNT:
            return count_scale()
        case _:
            return None


def _header(key: str, reference: str | None) -> tuple[str, ...]:
    if key == OVER_DEFAULT:
        return (f"×{reference}",)
    if key == VERDICT:
        return ("verdict",)
    return _HEADERS.get(key) or (BY_KEY[key].title,)


def _with_lead(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """`allocs` above the first of the columns that count allocations by how they were served."""
    first = next((column for column in columns if column.key in REUSE), None)
    return tuple(
        replace(column, header=("allocs", *column.header)) if column is first else column
        for column in columns
    )


def _text(key: str, value: CellValue, scale: Scale | None) -> str:
    if key == "release_threshold":
        return threshold_text(value if isinstance(value, int) else None)
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return value
    return scale.text(value) if scale else str(value)


def axes_text(case: Case) -> str:
    return ", ".join(f"{name} = {text}" for name, text in case.axes)


def _blocks(cases: Sequence[CaseResult], rows: Sequence[TableRow]) -> tuple[Block, ...]:
    blocks: dict[str, list[TableRow]] = {}
    for result, row in zip(cases, rows, strict=True):
        blocks.setdefault(axes_text(result.case), []).append(row)
    return tuple(Block(title=title, rows=tuple(found)) for title, found in blocks.items())


def row_names(record: RunRecord) -> tuple[str, ...]:
    """The names of the rows that occur, each once, in order."""
    return tuple(dict.fromkeys(row_name(result.case.row) for result in record.cases))
