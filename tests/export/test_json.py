"""The JSON export: whole records, and rows for whoever wants no nesting."""

from __future__ import annotations

import json

from poolbench.columns import COLUMNS
from poolbench.domain import BackendKind
from poolbench.export.json import to_json
from poolbench.results.store import from_json
from tests.render.records import eventful, hand_over


def test_records_are_whole() -> None:
    """Each record can be read back from the export, value for value."""
    records = [hand_over(BackendKind.CUDA), eventful()]
    plain = json.loads(to_json(records))
    found = [from_json(json.dumps(run["record"]), name="x") for run in plain["runs"]]
    assert found == records


def test_rows_and_columns_belong_together() -> None:
    """Every row has every column, and every column says its unit and meaning."""
    plain = json.loads(to_json([hand_over(BackendKind.MODEL)]))
    keys = [column.key for column in COLUMNS]
    assert [column["key"] for column in plain["columns"]] == keys
    assert all(column["meaning"] for column in plain["columns"])
    (run,) = plain["runs"]
    assert run["is_predicted"] is True
    assert "not measured" in run["source"]
    assert [list(row) for row in run["rows"]] == [keys] * 10
