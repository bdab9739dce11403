"""The table's layout: one unit a column, columns where there is something to show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolbench.columns import COLUMNS
from poolbench.domain import BackendKind, Baseline, row_name
from poolbench.results.derived import default_row, over, over_preallocated
from poolbench.results.legend import legend
from poolbench.results.numbers import ratio_scale, size_scale, threshold_text, time_scale
from poolbench.results.rows import case_values
from poolbench.results.table import REUSE, Table, build_table
from tests.render.records import (
    BY_NAME,
    MIB,
    ROWS,
    eventful,
    hand_over,
    record_of,
    result_of,
    with_axes,
)


def column(table: Table, key: str) -> list[str]:
    at = [one.key for one in table.columns].index(key)
    return [row.cells[at] for block in table.blocks for row in block.rows]


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ([523.375, 1130.875, None], "us", ["523", "1131", "–"]),
        ([523.375, 1.25], "us", ["523.4", "1.2"]),
        ([5_000.0, 14_812.5], "ms", ["5.00", "14.81"]),
        ([14_812.5, 31.0], "ms", ["14.812", "0.031"]),
        ([12_000_000.0], "s", ["12.0"]),
        ([0.0, 0.4], "us", ["0", "0.4"]),
        ([], "us", []),
    ],
)
def test_time_scale(values: list[float | None], unit: str, texts: list[str]) -> None:
    """One unit for all, enough digits for the smallest, no digits that nobody can believe."""
    scale = time_scale(values)
    assert scale.unit == unit
    assert [scale.text(value) for value in values] == texts


@pytest.mark.parametrize(
    ("sizes", "unit", "texts"),
    [
        ([32 * MIB, 0, None], "MiB", ["32", "0", "–"]),
        ([32 * MIB, MIB // 2], "MiB", ["32.00", "0.50"]),
        ([10, 512], "B", ["10", "512"]),
        ([1024, 2048], "KiB", ["1", "2"]),
        ([16 * 2**30, 64 * 2**30], "GiB", ["16", "64"]),
        ([16 * 2**30, 64 * MIB], "MiB", ["16384", "64"]),
    ],
)
def test_size_scale(sizes: list[float | None], unit: str, texts: list[str]) -> None:
    """MiB unless everything is far from it."""
    scale = size_scale(sizes)
    assert scale.unit == unit
    assert [scale.text(size) for size in sizes] == texts


def test_ratio_scale() -> None:
    """Fewer decimals for large ratios."""
    assert ratio_scale([1.996]).text(1.996) == "2.00"
    assert ratio_scale([1.0, 123.45]).text(123.45) == "123.5"
    assert ratio_scale([1.0, 12345.6]).text(12345.6) == "12346"


def test_threshold_text() -> None:
    """As a scenario would write it."""
    texts = [threshold_text(value) for value in (None, 0, 64 * MIB, 2**64 - 1)]
    assert texts == ["–", "0", "64MiB", "max"]


def test_every_row_is_there() -> None:
    """Rows that do not differ are all in the table, in the order of the record."""
    table = build_table(with_axes())
    assert [block.title for block in table.blocks] == [
        "pool.max_size = none",
        "pool.max_size = 32MiB",
    ]
    assert column(table, "attribute_set") == [row_name(row) for row in ROWS] * 2


def test_only_outcomes_that_occur_have_columns() -> None:
    """Of the kinds of reuse, those with a count; waits and failures always."""
    keys = [one.key for one in build_table(hand_over(BackendKind.CUDA)).columns]
    assert [key for key in keys if key in REUSE] == ["n_host_ordered"]
    assert "n_inserted_waits" in keys
    assert "n_out_of_memory" in keys


def test_columns_without_a_value_are_left_out() -> None:
    """No column of dashes: no iterations, no cold makespan; a single run, no spread."""
    keys = build_table(hand_over(BackendKind.MODEL)).keys
    assert not keys & {"makespan_cold_us_median", "makespan_us_iqr", "sync_host_us_median"}
    assert "makespan_cold_us_median" in build_table(eventful()).keys


def test_threshold_shows_where_it_differs() -> None:
    """It is a column if it tells rows apart."""
    assert "release_threshold" not in build_table(hand_over(BackendKind.CUDA)).keys
    assert column(build_table(eventful()), "release_threshold") == ["0", "max", "96MiB", "max"]


def test_neighbours_share_a_scale() -> None:
    """A makespan and its spread, a median and its worst, have one unit."""
    table = build_table(eventful())
    units = {one.key: one.unit for one in table.columns}
    assert units["makespan_us_median"] == units["makespan_us_iqr"] == "ms"
    assert units["alloc_host_us_median"] == units["alloc_host_us_max"] == "us"


def test_ratios_stay_in_their_block() -> None:
    """A row is compared with the ideal and the default of its own axis values."""
    axes = [(("n", text),) for text in ("1", "2")]
    cases = tuple(
        result_of(row, axes=one, makespan_us_median=makespan)
        for one, base in zip(axes, (100.0, 1000.0), strict=True)
        for row, makespan in ((Baseline.PREALLOCATED, base), (BY_NAME["111"], 2 * base))
    )
    assert [over_preallocated(one, cases) for one in cases] == [1.0, 2.0, 1.0, 2.0]
    assert [over(one, cases, "111") for one in cases] == [0.5, 1.0, 0.5, 1.0]


def test_default_is_preferred_to_111() -> None:
    """The row that stands for the driver's own setting."""
    assert default_row([result_of(BY_NAME["111"]), result_of(BY_NAME["default"])]) == "default"
    assert default_row([result_of(BY_NAME["111"])]) == "111"
    assert default_row([result_of(BY_NAME["000"])]) is None


def test_no_reference_no_ratio() -> None:
    """Without the row compared with, or its makespan, there is no column of ratios."""
    alone = record_of((result_of(BY_NAME["000"]),))
    assert not build_table(alone).keys & {"over_preallocated", "over_default"}
    lost = record_of((result_of(Baseline.PREALLOCATED, makespan_us_median=None), alone.cases[0]))
    assert "over_preallocated" not in build_table(lost).keys


def test_case_values_have_every_column() -> None:
    """The keys are the registry's, then the axes."""
    record = with_axes()
    values = case_values(record, record.cases[3])
    assert list(values) == [*(one.key for one in COLUMNS), "axis_pool.max_size"]
    assert values["allow_internal_dependencies"] is True
    assert values["allow_opportunistic"] is False
    assert values["makespan_us_median"] == 1045.0
    assert case_values(record, record.cases[0])["allow_opportunistic"] is None


def test_legend_has_what_occurs_and_no_more() -> None:
    """Every status and row that is on the page, none that is not."""
    records = [hand_over(BackendKind.CUDA)]
    terms = [term for term, _ in legend(records, [build_table(one) for one in records])]
    assert "out_of_memory" in terms
    assert "cudamalloc" in terms
    assert not {"timeout", "pytorch", "allocs remap", "by model", "cold"} & set(terms)
    odd = [eventful()]
    terms = [term for term, _ in legend(odd, [build_table(one) for one in odd])]
    assert {"timeout", "corrupted", "pytorch", "allocs remap", "cold"} <= set(terms)
    assert not {"cudamalloc", "out_of_memory"} & set(terms)


def test_a_prediction_marks_its_rows() -> None:
    """Each row of a prediction says who made it."""
    predicted = build_table(hand_over(BackendKind.MODEL))
    assert set(column(predicted, "backend")) == {"model"}
    assert "backend" not in build_table(hand_over(BackendKind.CUDA)).keys


def test_a_negative_value_keeps_its_sign() -> None:
    """Nothing is hidden by formatting."""
    one = replace(eventful().cases[0])
    assert one.findings is not None
    assert time_scale([-5.0]).text(-5.0) == "-5.0"
