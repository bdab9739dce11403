"""Fill the tables of README.md from results/.

A table stands between `<!-- table: DIRECTORY -->` and `<!-- end -->`; what is between the two is
replaced.  Only measurements are shown: a directory of predictions is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from poolbench.analysis.answer import answer
from poolbench.columns import BY_KEY, Unit
from poolbench.domain import Baseline
from poolbench.results.record import RunRecord
from poolbench.results.rows import CellValue, case_values
from poolbench.results.store import read

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

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
    where = (
        f"Measured on {record.before.device}, driver {record.before.driver}, "
        f"{record.repeats} repetitions."
    )
    return "\n".join([*lines, "", " ".join([where, *answer(record)])])


def filled(text: str, table_of: Callable[[str], str]) -> str:
    """`text` with every marked table replaced by `table_of(its directory)`."""
    return MARKED.sub(lambda match: f"{match[1]}\n{table_of(match[2])}\n\n{match[3]}", text)


def measured(directory: str) -> str:
    record = read(ROOT / directory)
    if record.is_predicted:
        sys.exit(f"make readme: {directory} holds predictions, not measurements")
    return table(record)


def main() -> None:
    text = README.read_text()
    missing = [found[2] for found in MARKED.finditer(text) if not (ROOT / found[2]).is_dir()]
    if missing:
        sys.exit(f"make readme: no such results: {', '.join(missing)}; `make results` makes them")
    README.write_text(filled(text, measured))


if __name__ == "__main__":
    main()
