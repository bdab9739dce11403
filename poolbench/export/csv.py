"""CSV: a row per case, the columns of `poolbench.columns` in their order, then `axis_<name>`.

Pure.  Flags are 0 or 1, a threshold of `max` is 18446744073709551615, what does not apply or is not
known is an empty cell.  Times have the resolution of the clock, a nanosecond.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from poolbench.columns import BY_KEY, COLUMNS, Unit
from poolbench.results.record import RunRecord
from poolbench.results.rows import CellValue, case_values


def to_csv(records: Sequence[RunRecord]) -> str:
    """All cases of all records; a record without an axis has empty cells in its column."""
    axes = dict.fromkeys(f"axis_{name}" for record in records for name, _ in record.axes)
    header = [column.key for column in COLUMNS] + list(axes)
    out = io.StringIO()
    writer = csv.DictWriter(out, header, restval="", lineterminator="\n")
    writer.writeheader()
    for record in records:
        for result in record.cases:
            values = case_values(record, result)
            writer.writerow({key: _cell(key, value) for key, value in values.items()})
    return out.getvalue()


def _cell(key: str, value: CellValue) -> str | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        unit = BY_KEY[key].unit
        return f"{value:.3f}" if unit is Unit.MICROSECONDS else f"{value:.6g}"
    return value
