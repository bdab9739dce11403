"""One case of a record as the values of the columns.

Pure.  Keys are those of `poolbench.columns`, in their order, then `axis_<name>`.
"""

from __future__ import annotations

from poolbench.columns import COLUMNS
from poolbench.domain import AttributeSet, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord

CellValue = str | int | float | bool | None


def case_values(record: RunRecord, result: CaseResult) -> dict[str, CellValue]:
    """Every column of a case; `None` where it does not apply or is not known."""
    row = result.case.row
    attributes = row if isinstance(row, AttributeSet) else None
    own: dict[str, CellValue] = {
        "scenario": record.scenario,
        "backend": record.backend.value,
        "device": record.before.device,
        "driver": record.before.driver,
        "attribute_set": row_name(row),
        "follow_event_dependencies": None
        if attributes is None
        else attributes.follow_event_dependencies,
        "allow_opportunistic": None if attributes is None else attributes.allow_opportunistic,
        "allow_internal_dependencies": None
        if attributes is None
        else attributes.allow_internal_dependencies,
        "release_threshold": result.release_threshold,
        "status": result.status.value,
    }
    values: dict[str, CellValue] = {}
    for column in COLUMNS:
        if column.key in own:
            values[column.key] = own[column.key]
        else:
            values[column.key] = getattr(result.findings, column.key, None)
    axes = dict(result.case.axes)
    for name, _ in record.axes:
        values[f"axis_{name}"] = axes.get(name)
    return values
