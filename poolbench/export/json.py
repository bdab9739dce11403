"""JSON: the records as they are on disk, each with its rows as column values.

Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from poolbench.columns import COLUMNS
from poolbench.results.facts import source
from poolbench.results.record import RunRecord
from poolbench.results.rows import case_values
from poolbench.results.store import to_plain


def to_json(records: Sequence[RunRecord]) -> str:
    plain = {
        "columns": [
            {
                "key": column.key,
                "title": column.title,
                "unit": column.unit.value,
                "meaning": column.meaning,
            }
            for column in COLUMNS
        ],
        "runs": [_run(record) for record in records],
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _run(record: RunRecord) -> dict[str, Any]:
    return {
        "source": source(record),
        "is_predicted": record.is_predicted,
        "rows": [case_values(record, result) for result in record.cases],
        "record": to_plain(record),
    }
