"""Rows side by side, and two runs, with known verdicts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from poolbench.analysis.comparison import Reason, Verdict, compare, judge
from poolbench.domain import BackendKind, Status, row_name
from poolbench.results.record import RunRecord
from tests.analysis.records import record_of, result_of, wait_of


@pytest.mark.parametrize(
    ("second_us", "iqr_us", "repeats", "verdict", "reason"),
    [
        (101.0, 0.5, 5, Verdict.SAME, None),
        (97.0, 0.5, 5, Verdict.FASTER, None),
        (103.0, 0.5, 5, Verdict.SLOWER, None),
        (103.0, 2.0, 5, Verdict.UNDECIDED, Reason.NOISE),
        (101.0, 4.0, 5, Verdict.UNDECIDED, Reason.NOISE),
        (200.0, 0.5, 2, Verdict.UNDECIDED, Reason.TOO_FEW_REPEATS),
    ],
)
def test_verdicts_need_more_than_noise(
    second_us: float, iqr_us: float, repeats: int, verdict: Verdict, reason: Reason | None
) -> None:
    """Medians further apart than 2 % and than both ranges differ; equal needs quiet runs."""
    first = result_of("111", 100.0, iqr_us)
    second = result_of("110", second_us, iqr_us, repeats=repeats)
    judgement = judge(first, second, is_exact=False)
    assert (judgement.verdict, judgement.reason) == (verdict, reason)
    assert judgement.ratio == pytest.approx(second_us / 100)
    assert judgement.low is not None
    assert judgement.high is not None
    assert judgement.low <= judgement.ratio <= judgement.high


def test_the_band_of_a_ratio() -> None:
    """Each median off by half of its interquartile range, in the worst directions."""
    judgement = judge(result_of("111", 100.0, 10.0), result_of("110", 200.0, 20.0), is_exact=False)
    assert judgement.low == pytest.approx(190 / 105)
    assert judgement.high == pytest.approx(210 / 95)


def test_a_simulation_needs_no_repetition() -> None:
    """One exact figure decides."""
    first, second = (
        result_of("111", 100.0, None, repeats=1),
        result_of("110", 120.0, None, repeats=1),
    )
    assert judge(first, second, is_exact=True).verdict is Verdict.SLOWER
    assert judge(first, second, is_exact=False).reason is Reason.TOO_FEW_REPEATS


def test_what_did_not_end_ok_is_not_judged() -> None:
    """A run that ran out of memory in one of its repetitions has no comparable time."""
    fine = result_of("111", 100.0)
    for other in (
        result_of("110", None, None, status=Status.OUT_OF_MEMORY),
        result_of("110", 50.0, status=Status.OUT_OF_MEMORY),
        result_of("110", status=Status.TIMEOUT, has_findings=False),
    ):
        judgement = judge(fine, other, is_exact=False)
        assert (judgement.verdict, judgement.reason) == (Verdict.UNDECIDED, Reason.NOT_OK)


def test_within_a_run_rows_stand_against_the_ideal_and_the_default() -> None:
    """Every row of a block against the block's own preallocated and 111 rows."""
    results = [
        result_of(row, us, axes=(("n", n),))
        for n, scale in (("1", 1.0), ("2", 2.0))
        for row, us in (
            ("preallocated", 50.0 * scale),
            ("110", 100.0 * scale),
            ("111", 200.0 * scale),
        )
    ]
    comparison = compare(record_of(results))
    assert comparison.is_within
    assert comparison.is_comparable
    assert [(one.name, one.judgement.ratio) for one in comparison.pairs[:4]] == [
        ("110 / preallocated", 2.0),
        ("111 / preallocated", 4.0),
        ("preallocated / 111", 0.25),
        ("110 / 111", 0.5),
    ]
    assert len(comparison.pairs) == 8
    assert all(one.first.case.axes == one.second.case.axes for one in comparison.pairs)


def test_the_default_preset_stands_in_for_111() -> None:
    """Without the row 111 the row named default is compared with."""
    comparison = compare(record_of([result_of("pytorch"), result_of("default"), result_of("000")]))
    assert {row_name(one.first.case.row) for one in comparison.pairs} == {"default"}


def test_quantities_have_ratios_where_there_is_something_to_divide_by() -> None:
    """Counts of 0 and missing values have no ratio."""
    first = result_of("111", 100.0, waits=(wait_of(),), reserved_high_bytes=None)
    second = result_of("110", 150.0, alloc_host_us_median=1.0)
    (pair,) = compare(record_of([first]), record_of([replace(second, case=first.case)])).pairs
    found = {one.key: (one.first, one.second, one.ratio) for one in pair.quantities}
    assert found["makespan_us_median"] == (100.0, 150.0, 1.5)
    assert found["alloc_host_us_median"] == (2.0, 1.0, 0.5)
    assert found["n_inserted_waits"] == (1, 0, 0.0)
    assert found["n_out_of_memory"] == (0, 0, None)
    assert found["reserved_high_bytes"] == (None, 64 * 2**20, None)


def test_two_runs_join_on_axes_and_row() -> None:
    """Common cases are paired, the others listed; the order of the axes does not matter."""
    left = [
        result_of("111", axes=(("n", "1"), ("m", "2"))),
        result_of("110", axes=(("n", "1"), ("m", "2"))),
    ]
    right = [
        result_of("111", 200.0, axes=(("m", "2"), ("n", "1"))),
        result_of("111", axes=(("m", "2"), ("n", "3"))),
    ]
    comparison = compare(record_of(left), record_of(right))
    assert [(one.name, one.judgement.verdict) for one in comparison.pairs] == [
        ("111", Verdict.SLOWER)
    ]
    assert comparison.only_first == (left[1].case,)
    assert comparison.only_second == (right[1].case,)


def test_runs_of_different_devices_are_not_comparable() -> None:
    """Device, driver, backend and scenario stand in the way; a seed is only told."""
    left = record_of([result_of("111")])
    elsewhere = replace(left.before, device="NVIDIA L4", driver="570.1")
    other = compare(left, replace(left, before=elsewhere, seed=2))
    assert [(one.what, one.is_fatal) for one in other.mismatches] == [
        ("device", True),
        ("driver", True),
        ("seed", False),
    ]
    assert not other.is_comparable
    assert compare(left, replace(left, seed=2)).is_comparable
    predicted = record_of([result_of("111")], backend=BackendKind.MODEL)
    assert not compare(left, predicted).is_comparable
    assert compare(left, left).mismatches == ()


def test_between_runs_the_rows_of_a_block_share_the_error_rate() -> None:
    """Ten repetitions decide however many blocks of axis values there are; chance may make ten
    draws look correlated, which leaves a pair with too few."""
    draws = random.Random(5)

    def run() -> RunRecord:
        results = []
        for n in range(8):
            for row in ("000", "001", "010", "011", "100", "101", "110", "111"):
                samples = tuple(100 * draws.gauss(1, 0.001) for _ in range(10))
                result = result_of(row, 100.0, axes=(("n", str(n)),), repeats=10)
                results.append(replace(result, samples_us=samples))
        return record_of(results)

    found = compare(run(), run())
    verdicts = Counter(one.judgement.verdict for one in found.pairs)
    assert set(verdicts) <= {Verdict.SAME, Verdict.UNDECIDED}
    assert verdicts[Verdict.SAME] >= 0.95 * len(found.pairs)
