"""The CSV: the columns that are promised, nothing rounded away, nothing made up."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pandas as pd

from poolbench.columns import COLUMNS
from poolbench.domain import BackendKind
from poolbench.export.csv import to_csv
from tests.render.records import eventful, hand_over, with_axes

PROMISED = [
    "scenario",
    "backend",
    "device",
    "driver",
    "attribute_set",
    "follow_event_dependencies",
    "allow_opportunistic",
    "allow_internal_dependencies",
    "release_threshold",
    "status",
    "repeats",
    "makespan_us_median",
    "makespan_us_min",
    "makespan_us_iqr",
    "alloc_host_us_median",
    "alloc_host_us_max",
    "n_inserted_waits",
    "inserted_wait_us_total",
    "n_same_stream",
    "n_event_ordered",
    "n_host_ordered",
    "n_opportunistic",
    "n_slack",
    "n_remapped",
    "n_grown",
    "n_internal_dependency",
    "n_out_of_memory",
    "reserved_high_bytes",
    "used_high_bytes",
    "overlap",
]


def test_header() -> None:
    """The registry's columns in its order, the promised ones among them in theirs, then axes."""
    header = to_csv([with_axes()]).splitlines()[0].split(",")
    assert header == [*(column.key for column in COLUMNS), "axis_pool.max_size"]
    assert [name for name in header if name in PROMISED] == PROMISED


def test_values() -> None:
    """A row per case in the order of the table; times to the nanosecond, flags as digits."""
    rows = list(csv.DictReader(io.StringIO(to_csv([hand_over(BackendKind.CUDA)]))))
    assert len(rows) == 10
    ideal, _, none, internal = rows[:4]
    assert ideal["makespan_us_median"] == "523.375"
    assert ideal["allow_opportunistic"] == ideal["reserved_high_bytes"] == ""
    assert none["status"] == "out_of_memory"
    assert none["makespan_us_median"] == ""
    assert none["n_out_of_memory"] == "1"
    assert internal["attribute_set"] == "001"
    assert (internal["allow_opportunistic"], internal["allow_internal_dependencies"]) == ("0", "1")
    assert internal["release_threshold"] == "18446744073709551615"
    assert internal["inserted_wait_us_total"] == "498.500"
    assert internal["reserved_high_bytes"] == "33554432"


def test_pandas_reads_it() -> None:
    """Numbers arrive as numbers and gaps as gaps."""
    frame = pd.read_csv(io.StringIO(to_csv([hand_over(BackendKind.CUDA)])))
    assert frame["makespan_us_median"].notna().sum() == 6
    assert frame["n_inserted_waits"].sum() == 4
    assert frame["allow_internal_dependencies"].dropna().isin([0, 1]).all()


def test_union_of_axes() -> None:
    """A scenario without an axis has empty cells in its column; a prediction marks each row."""
    text = to_csv([with_axes(), hand_over(BackendKind.MODEL)])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["axis_pool.max_size"] for row in rows] == ["none"] * 10 + ["32MiB"] * 10 + [""] * 10
    assert [row["backend"] for row in rows] == ["cuda"] * 20 + ["model"] * 10


def test_a_case_without_findings_has_a_row() -> None:
    """Status and attributes are there, everything else is empty."""
    rows = list(csv.DictReader(io.StringIO(to_csv([eventful()]))))
    lost = next(row for row in rows if row["status"] == "timeout")
    assert lost["attribute_set"] == "tensorflow-deterministic"
    assert lost["makespan_us_median"] == lost["n_grown"] == lost["overlap"] == ""


def test_commas_and_quotes_survive() -> None:
    """Axis values are text and may hold anything."""
    record = with_axes()
    name, odd = "pool.max_size", 'a,"b"\nc'
    first = replace(record.cases[0], case=replace(record.cases[0].case, axes=((name, odd),)))
    rows = csv.DictReader(io.StringIO(to_csv([replace(record, cases=(first,))]), newline=""))
    assert next(rows)["axis_pool.max_size"] == odd
