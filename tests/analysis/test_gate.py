"""What fails a comparison, and pairs in summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolbench.analysis.comparison import Pair, Reason, Verdict, compare
from poolbench.analysis.gate import Gate, Ground, failures, read_gates, read_share
from poolbench.analysis.summary import pivot, summarise
from poolbench.domain import Status
from poolbench.errors import BadUsage
from poolbench.findings import CaseResult
from tests.analysis.records import record_of, result_of, wait_of

N = 12


def timed(row: str, median: float, *, spread: float = 0.002, **changed: object) -> CaseResult:
    """Blocks that lie evenly around a median, in no order that resembles itself."""
    turns = [(k * 5) % N / (N - 1) * 2 - 1 for k in range(N)]
    samples = tuple(median * (1 + spread * turn) for turn in turns)
    return replace(result_of(row, median, **changed), samples_us=samples)  # type: ignore[arg-type]


def one_pair(second: CaseResult, first: CaseResult | None = None) -> Pair:
    record = record_of([first or timed("111", 100.0), second])
    (pair,) = compare(record, baseline="111").pairs
    return pair


def test_slower_needs_the_whole_interval_above_the_threshold() -> None:
    """10 % slower fails at 5 %, not at 20 %; 10 % with wide noise is not certain enough."""
    clear = one_pair(timed("110", 110.0))
    assert clear.judgement.verdict is Verdict.SLOWER
    for share, fails in ((0.05, True), (0.2, False)):
        gates = (Gate(ground=Ground.SLOWER, share=share),)
        assert bool(list(failures([clear], gates))) is fails
    unsure = one_pair(timed("110", 110.0, spread=0.3))
    assert unsure.judgement.reason is Reason.NOISE
    assert unsure.judgement.n_more is not None
    assert not list(failures([unsure], (Gate(ground=Ground.SLOWER, share=0.0),)))


def test_failures_waits_and_memory_are_counted() -> None:
    gates = read_gates(["oom", "wait", "more-memory:10%"], threshold=0.05)
    worse = timed("110", 100.0, waits=(wait_of(),), n_out_of_memory=2)
    bigger = timed("110", 100.0, reserved_high_bytes=128 * 2**20)
    failed = result_of("110", None, status=Status.OUT_OF_MEMORY)
    told = [[why for _, why in failures([one_pair(one)], gates)] for one in (worse, bigger, failed)]
    assert told == [
        ["oom: 2 failed allocations against 0", "wait: 1 inserted waits against 0"],
        ["more-memory: 128 MiB reserved against 64 MiB"],
        ["oom: 0 failed allocations against 0"],
    ]
    assert not list(failures([one_pair(timed("110", 100.0))], gates))


@pytest.mark.parametrize("text", ["faster", "oom:5%", "slower:5", "slower:x%", ""])
def test_grounds_that_are_none(text: str) -> None:
    with pytest.raises(BadUsage):
        read_gates([text], threshold=0.05)


def test_shares() -> None:
    assert read_share("2.5 %", "--threshold") == 0.025
    assert read_gates(["slower"], threshold=0.07) == (Gate(ground=Ground.SLOWER, share=0.07),)


def test_the_control_is_a_floor() -> None:
    """A row that differs from 111 by less than 111 from itself is not told apart."""
    base = replace(timed("111", 100.0), control_us=timed("111", 104.0).samples_us)
    near, far = one_pair(timed("110", 103.0), base), one_pair(timed("110", 110.0), base)
    assert (near.judgement.verdict, near.judgement.reason) == (Verdict.UNDECIDED, Reason.FLOOR)
    assert far.judgement.verdict is Verdict.SLOWER


def test_a_difference_of_pace_is_no_difference_of_rows() -> None:
    """Two runs on a host that was a third slower the second time: 20 % is undecided, 60 % is not;
    at the same pace both are."""
    left = record_of([timed("111", 100.0), timed("110", 100.0)])
    right = record_of([timed("111", 120.0), timed("110", 160.0)])

    def paced(record: object, ns: int) -> object:
        before = record.before  # type: ignore[attr-defined]
        floors = replace(before.floors, host_call_ns=ns)
        return replace(record, before=replace(before, floors=floors))  # type: ignore[type-var]

    found = compare(paced(left, 300), paced(right, 400))  # type: ignore[arg-type]
    assert [(one.judgement.verdict, one.judgement.reason) for one in found.pairs] == [
        (Verdict.UNDECIDED, Reason.DRIFT),
        (Verdict.SLOWER, None),
    ]
    same = compare(paced(left, 300), paced(right, 300))  # type: ignore[arg-type]
    assert {one.judgement.verdict for one in same.pairs} == {Verdict.SLOWER}


def test_summary_counts_and_averages() -> None:
    """Undecided last; pairs that did not end ok are not in the mean."""
    results = [timed("111", 100.0), timed("110", 200.0), timed("101", 50.0)]
    results.append(result_of("000", None, status=Status.OUT_OF_MEMORY))
    found = summarise(compare(record_of(results), baseline="111").pairs)
    assert list(found.counts) == [
        Verdict.SAME,
        Verdict.FASTER,
        Verdict.SLOWER,
        Verdict.UNDECIDED,
    ]
    assert list(found.counts.values()) == [0, 1, 1, 1]
    assert found.geomean == pytest.approx(1.0)
    assert found.n_ratios == 2


def test_pivot_says_what_it_averages_over() -> None:
    results = [
        timed(row, us * scale, axes=(("n", n), ("m", m)))
        for n, scale in (("1", 1.0), ("2", 2.0))
        for m in ("x", "y")
        for row, us in (("111", 100.0), ("110", 150.0))
    ]
    pairs = compare(record_of(results), baseline="111").pairs
    found = pivot(pairs, ["n"], ["row"])
    assert found.rows == (("1",), ("2",))
    assert found.columns == (("110",),)
    assert found.hidden == ("m",)
    cell = found.cells[("1",), ("110",)]
    assert (cell.ratio, cell.verdict, cell.n) == (pytest.approx(1.5), Verdict.SLOWER, 2)
    with pytest.raises(KeyError):
        pivot(pairs, ["k"], [])
