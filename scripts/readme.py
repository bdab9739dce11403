"""Fill the tables of README.md from results/.

A table stands between `<!-- table: DIRECTORY -->` and `<!-- end -->`; what is between the two is
replaced.  `<!-- table: DIRECTORY COLUMN by AXIS: ROW ROW ... -->` shows one column alone, a line
for each value of the axis; `<!-- table: DIRECTORY reuse -->` and `calls` show tables of a probe.
Only measurements are shown: a directory of predictions is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from poolbench.analysis.answer import answer
from poolbench.columns import BY_KEY, Unit
from poolbench.domain import Baseline
from poolbench.probe.record import FILE as PROBE_FILE
from poolbench.probe.record import Probe
from poolbench.probe.record import read as read_probe
from poolbench.probe.tables import calls_table, layout_table, reuse_table
from poolbench.results.record import RunRecord
from poolbench.results.rows import CellValue, case_values
from poolbench.results.store import read

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

MARKED = re.compile(r"(<!-- table: ([^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL)

ALONE = re.compile(r"(?P<column>\w+) by (?P<axis>[\w.]+): (?P<rows>.+)")

KEYS = (
    "attribute_set",
    "status",
    "makespan_us_median",
    "makespan_us_iqr",
    "alloc_host_us_median",
    "n_inserted_waits",
    "inserted_wait_us_total",
    "n_out_of_memory",
    "reserved_high_bytes",
)
"""Few enough columns for a page; `poolbench show DIRECTORY` has them all."""

_UNIT = {Unit.MICROSECONDS: "us", Unit.BYTES: "MiB"}


def _cell(key: str, value: CellValue) -> str:
    if value is None:
        return ""
    unit = BY_KEY[key].unit if key in BY_KEY else Unit.TEXT
    match unit, value:
        case Unit.MICROSECONDS, int() | float():
            return f"{value:,.1f}"
        case Unit.BYTES, int() | float():
            return f"{value / 2**20:,.0f}"
        case _:
            return str(value)


def _title(key: str) -> str:
    if key.startswith("axis_"):
        return key.removeprefix("axis_")
    column = BY_KEY[key]
    unit = _UNIT.get(column.unit)
    return f"{column.title} ({unit})" if unit else column.title


def table(record: RunRecord) -> str:
    """The cases of a record as Markdown, where they were measured, and the answer in words."""
    keys = (*(f"axis_{name}" for name, _ in record.axes), *KEYS)
    lines = [
        "| " + " | ".join(_title(key) for key in keys) + " |",
        "|" + "|".join("---" if key in KEYS[:2] else "--:" for key in keys) + "|",
    ]
    for result in record.cases:
        values = case_values(record, result)
        if isinstance(result.case.row, Baseline):
            # a row without a pool waits for no free of it: 0 would claim too much
            values |= {"n_inserted_waits": None, "inserted_wait_us_total": None}
        lines.append("| " + " | ".join(_cell(key, values[key]) for key in keys) + " |")
    return "\n".join([*lines, "", " ".join([_where(record), *answer(record)])])


def _where(record: RunRecord) -> str:
    before = record.before
    return f"Measured on {before.device}, driver {before.driver}, {record.repeats} repetitions."


def one_column(record: RunRecord, column: str, axis: str, rows: list[str]) -> str:
    """One column as a table of axis values and rows."""
    cells = {
        (str(values[f"axis_{axis}"]), str(values["attribute_set"])): _cell(column, values[column])
        for values in (case_values(record, result) for result in record.cases)
    }
    lines = [
        "| " + " | ".join([f"{axis}: {_title(column)}", *rows]) + " |",
        "|---" + "|--:" * len(rows) + "|",
    ]
    for value in dict.fromkeys(value for value, _ in cells):
        told = [value, *(cells[value, row] for row in rows)]
        lines.append("| " + " | ".join(told) + " |")
    return "\n".join([*lines, "", _where(record)])


def filled(text: str, table_of: Callable[[str], str]) -> str:
    """`text` with every marked table replaced by `table_of(what its mark says)`."""
    return MARKED.sub(lambda match: f"{match[1]}\n{table_of(match[2])}\n\n{match[3]}", text)


def probe_table(probe: Probe, which: str) -> str:
    """One table of a probe, and where it was measured."""
    found = {"reuse": reuse_table, "calls": calls_table, "layout": layout_table}[which](probe)
    heads = [" ".join((*column.header, f"({column.unit})" if column.unit else "")).strip()
             for column in found.columns]  # fmt: skip
    lines = [
        "| " + " | ".join(heads) + " |",
        "|" + "|".join("--:" if column.is_number else "---" for column in found.columns) + "|",
    ]
    lines += ["| " + " | ".join(row.cells) + " |" for block in found.blocks for row in block.rows]
    environment = probe.environment
    where = f"Measured on {environment.device}, driver {environment.driver}, in one run a cell."
    return "\n".join([*lines, "", where])


def measured(mark: str) -> str:
    directory, _, rest = mark.partition(" ")
    if (ROOT / directory / PROBE_FILE).exists():
        probe = read_probe(ROOT / directory)
        if probe.environment.backend != "cuda":
            sys.exit(f"make readme: {directory} holds predictions, not measurements")
        return probe_table(probe, rest)
    record = read(ROOT / directory)
    if record.is_predicted:
        sys.exit(f"make readme: {directory} holds predictions, not measurements")
    alone = ALONE.fullmatch(rest)
    if alone is None:
        return table(record)
    return one_column(record, alone["column"], alone["axis"], alone["rows"].split())


def main() -> None:
    text = README.read_text()
    directories = [found[2].split()[0] for found in MARKED.finditer(text)]
    missing = [directory for directory in directories if not (ROOT / directory).is_dir()]
    if missing:
        sys.exit(f"make readme: no such results: {', '.join(missing)}; `make results` makes them")
    README.write_text(filled(text, measured))


if __name__ == "__main__":
    main()
