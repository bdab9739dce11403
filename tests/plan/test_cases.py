"""Axes x rows, and the rows that `--attributes` names."""

from __future__ import annotations

import pytest

from poolbench.domain import COMBINATIONS, PRESETS, Baseline, row_name
from poolbench.errors import BadInput, BadUsage, ExitCode
from poolbench.plan.cases import DEFAULT_ROWS, cases, select_rows
from tests.plan.building import scenario_of, unchecked


def names(*texts):
    return [row_name(row) for row in select_rows(texts)]


def test_the_default_rows_are_the_baselines_and_all_combinations():
    """Without `--attributes` a table has the two baselines and the eight combinations."""
    assert names() == ["preallocated", "cudamalloc", *(row.name for row in COMBINATIONS)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["101"], ["101"]),
        (["1x0"], ["100", "110"]),
        (["XX1"], ["001", "011", "101", "111"]),
        (["xxx"], [row.name for row in COMBINATIONS]),
        (["all"], [row.name for row in COMBINATIONS]),
        (["presets"], [row.name for row in PRESETS]),
        (["pytorch, cudamalloc", "preallocated"], ["pytorch", "cudamalloc", "preallocated"]),
        (["111,11x,111"], ["111", "110"]),
    ],
)
def test_rows_by_name_wildcard_and_group(texts, expected):
    """Rows come in the order asked for, each once."""
    assert names(*texts) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pytroch", "did you mean pytorch?"),
        ("cudamaloc", "did you mean cudamalloc?"),
        ("1011", "there is no such row"),
        ("12x", "there is no such row"),
        (",", "names no row"),
    ],
)
def test_an_unknown_row_is_bad_usage(text, said):
    """A row that does not exist is refused with the nearest one."""
    with pytest.raises(BadUsage) as caught:
        select_rows([text])
    assert said in caught.value.message


def test_cases_run_through_the_first_axis_slowest_and_rows_inside():
    """The order of cases is the order of the table: block by block, rows inside."""
    scenario = scenario_of("""
name: demo
parameters: {b: false, x: 0.5}
axes: {b: [true, false], x: [1, 0.5]}
steps: [{host: 1us}]
""")
    found = cases(scenario, (Baseline.CUDAMALLOC, COMBINATIONS[5]))
    assert [case.key for case in found] == [
        "demo[b=true,x=1]/cudamalloc",
        "demo[b=true,x=1]/101",
        "demo[b=true,x=0.5]/cudamalloc",
        "demo[b=true,x=0.5]/101",
        "demo[b=false,x=1]/cudamalloc",
        "demo[b=false,x=1]/101",
        "demo[b=false,x=0.5]/cudamalloc",
        "demo[b=false,x=0.5]/101",
    ]


def test_no_axes_make_one_case_a_row():
    """Without axes every row is one case."""
    found = cases(scenario_of("steps: [{host: 1us}]"), DEFAULT_ROWS)
    assert [case.axes for case in found] == [()] * len(DEFAULT_ROWS)


def test_too_many_cases_are_refused_at_once():
    """The product of the axes is bounded before it is made."""
    values = list(range(1000))
    scenario = unchecked(f"axes: {{a: {values}, b: {values}, c: {values}}}\nsteps: [{{host: 1us}}]")
    with pytest.raises(BadUsage) as caught:
        cases(scenario, DEFAULT_ROWS)
    assert "1000000000 combinations" in caught.value.message
    small = unchecked(f"axes: {{a: {values}}}\nsteps: [{{host: 1us}}]")
    with pytest.raises(BadUsage) as caught:
        cases(small, DEFAULT_ROWS)
    assert "10000 cases" in caught.value.message


@pytest.mark.parametrize(
    ("values", "said"), [("[]", "axis a has no values"), ("[1, '1']", "the value 1 twice")]
)
def test_an_axis_without_distinct_values_is_bad_input(values, said):
    """Two blocks of a table with one name, or none at all, are a fault of the file."""
    with pytest.raises(BadInput) as caught:
        cases(unchecked(f"axes: {{a: {values}}}\nsteps: [{{host: 1us}}]"), DEFAULT_ROWS)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place.line, problem.place.column) == ("bad-axis", 1, 11)
    assert said in problem.message
    assert caught.value.exit_code is ExitCode.BAD_INPUT
