"""What a sweep is taken apart into: every case in exactly one part, blocks never torn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolbench.domain import COMBINATIONS, Baseline
from poolbench.errors import BadUsage
from poolbench.fleet.parts import Shard, is_divisible, of_shard, parts_of, read_shard
from poolbench.prepare import Experiment, prepare
from tests.plan.building import scenario_of

ROWS = (Baseline.PREALLOCATED, *COMBINATIONS[:3])


def experiment(name: str, n_values: int, expect: str = "") -> Experiment:
    values = ", ".join(f"{n + 1}us" for n in range(n_values))
    text = (
        f"name: {name}\nparameters: {{t: 1us}}\naxes: {{t: [{values}]}}\nstreams: {{a: }}\n"
        f"steps:\n- {{kernel: spin, duration: $t, stream: a}}\n{expect}"
    )
    (found,) = prepare([scenario_of(text)], rows=ROWS, sets={}, axes={}, seed=None)
    return found


def test_a_part_is_a_block() -> None:
    """All rows of one combination of axis values, in the order of the table."""
    found = parts_of(experiment("one", 3))
    assert [len({plan.case.axes for plan in part.plans}) for part in found] == [1, 1, 1]
    assert [[plan.case.row for plan in part.plans] for part in found] == [list(ROWS)] * 3


def test_what_compares_blocks_stays_whole() -> None:
    """An expectation over another axis value needs both of them."""
    over = "expect:\n- ratios:\n    makespan_us_median: {over: {t: 1us}, value: '>= 0.5'}\n"
    whole = experiment("one", 3, over)
    assert not is_divisible(whole.scenario)
    assert parts_of(whole) == (whole,)
    rows_only = over.replace("t: 1us", 'row: "000"')
    assert is_divisible(experiment("one", 3, rows_only).scenario)


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    of=st.integers(1, 12),
)
def test_shards_are_a_partition(sizes: list[int], of: int) -> None:
    """Every case is in one shard, whole blocks at that, as evenly as blocks can be spread."""
    experiments = [experiment(f"e{number}", size) for number, size in enumerate(sizes)]
    shards = [of_shard(experiments, Shard(index=index + 1, of=of)) for index in range(of)]
    cases = [plan.case for shard in shards for one in shard for plan in one.plans]
    assert len(cases) == len(set(cases))
    assert set(cases) == {plan.case for one in experiments for plan in one.plans}
    counts = [sum(len(one.plans) for one in shard) // len(ROWS) for shard in shards]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    "text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/99999999"]
)
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(BadUsage, match="--shard"):
        read_shard(text)


def test_a_shard_is_read() -> None:
    assert read_shard("2/8") == Shard(index=2, of=8)
