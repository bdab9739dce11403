"""The sentences under a table, on records with known answers."""

from __future__ import annotations

import pytest

from poolbench.analysis.answer import MAX_SENTENCES, answer
from poolbench.domain import BackendKind, Status
from poolbench.findings import CaseResult
from poolbench.results.record import PREDICTED
from tests.analysis.records import FAILURE, record_of, result_of, wait_of

EIGHT = tuple(f"{k:03b}" for k in range(8))

SILENT = (
    "No allocation came down to a pending block: this run says nothing about internal dependencies."
)


def hand_over() -> list[CaseResult]:
    """The forum's case: internal on waits, internal off is out of memory."""
    waiting = [
        result_of(row, 1000.0, waits=(wait_of(), wait_of(wait_us=482.0)), n_grown=0)
        for row in ("001", "011", "101", "111")
    ]
    failing = [
        result_of(
            row,
            None,
            None,
            status=Status.OUT_OF_MEMORY,
            failure=FAILURE,
            n_out_of_memory=1,
            n_grown=0,
        )
        for row in ("000", "010", "100", "110")
    ]
    results = sorted([*waiting, *failing], key=lambda one: one.case.key)
    return [result_of("preallocated", 500.0), result_of("cudamalloc", 1100.0), *results]


def test_waits_and_failures_are_told_with_their_places() -> None:
    """Who waited for which free and how long, and what fails with internal dependencies off."""
    assert answer(record_of(hand_over())) == (
        "Internal dependencies: 2 waits, 962 us in total, all for a's free at line 14 "
        "(rows 001 011 101 111).",
        "With internal dependencies off: out of memory at y (line 17), 64MiB asked, "
        "64MiB in use in a pool of 64MiB (rows 000 010 100 110).",
        "Follow and opportunistic change nothing here: same outcomes, times within the noise.",
        "Rows with a pool that ended ok take 2.00 times as long as preallocated memory.",
        "Advice: keep 111. More of it: poolbench advise.",
    )


def test_a_prediction_says_so_first() -> None:
    """On the model the first words are that nothing was measured."""
    sentences = answer(record_of(hand_over(), backend=BackendKind.MODEL))
    assert sentences[0].startswith(f"{PREDICTED} Internal dependencies: 2 waits")
    measured = answer(record_of(hand_over()))
    assert not any(PREDICTED in sentence for sentence in measured)


def test_what_was_not_exercised_is_not_claimed() -> None:
    """Without a pending block, nothing is said of internal dependencies but that."""
    results = [result_of("preallocated", 500.0), *(result_of(row, 505.0) for row in EIGHT)]
    assert answer(record_of(results)) == (
        "Follow and opportunistic change nothing here: same outcomes, times within the noise.",
        SILENT,
        "Rows with a pool take as long as preallocated memory, within the noise.",
        "Advice: keep 111. More of it: poolbench advise.",
    )


def test_two_repetitions_leave_times_undecided() -> None:
    """Equal outcomes are told, equal times are not claimed."""
    results = [result_of(row, 505.0, None, repeats=2) for row in ("preallocated", *EIGHT)]
    sentences = answer(record_of(results))
    assert sentences[0] == (
        "Follow and opportunistic: same outcomes; whether the times differ is undecided."
    )
    assert sentences[2] == "Times are undecided: fewer than 3 repetitions."


def test_noise_hides_a_difference() -> None:
    """A median 6 % higher says nothing while the interquartile ranges are as wide."""
    quiet = [result_of(row, 100.0 if row[0] == "1" else 106.0, 1.0) for row in EIGHT]
    loud = [result_of(row, 100.0 if row[0] == "1" else 106.0, 4.0) for row in EIGHT]
    assert "Follow changes status or times." in answer(record_of(quiet))
    assert any(
        sentence.startswith("Follow and opportunistic: same outcomes; whether the times differ is")
        for sentence in answer(record_of(loud))
    )


def test_an_attribute_that_changes_outcomes_is_told_in_counts() -> None:
    """What the pairs of rows that differ in it alone have instead of each other."""
    results = [
        result_of(
            row,
            n_allocs=4,
            n_event_ordered=2 if row[0] == "1" else 0,
            n_grown=2 if row[0] == "1" else 4,
        )
        for row in EIGHT
    ]
    assert answer(record_of(results))[:2] == (
        "With follow on: 2 event_ordered and 2 grown; off: 4 grown.",
        "Opportunistic changes nothing here: same outcomes, times within the noise.",
    )


def gap_rows(gap: str, *, has_effect: bool) -> list[CaseResult]:
    return [
        result_of(
            row,
            axes=(("gap", gap),),
            n_opportunistic=10 if has_effect and row[1] == "1" else 0,
            n_grown=10 if has_effect and row[1] == "1" else 20,
        )
        for row in EIGHT
    ]


@pytest.mark.parametrize(
    ("effective", "words"),
    [
        ({"400us"}, "only where gap is 400us"),
        ({"200us", "400us"}, "only where gap is 200us or more"),
        ({"0us", "100us"}, "only where gap is 100us or less"),
        ({"0us", "400us"}, "only where gap is 0us or 400us"),
    ],
)
def test_with_axes_it_is_said_where_an_effect_starts(effective: set[str], words: str) -> None:
    """The values of the axis that decides, as an end of it where they are one."""
    results = [
        result
        for gap in ("0us", "100us", "200us", "400us")
        for result in gap_rows(gap, has_effect=gap in effective)
    ]
    assert f"({words})" in answer(record_of(results))[0]


def pressure(max_size: str, n_waits: int, on_us: float, off_us: float) -> list[CaseResult]:
    axes = (("pool.max_size", max_size),)
    return [
        result_of("preallocated", 5000.0, axes=axes),
        result_of("110", off_us, axes=axes, n_out_of_memory=n_waits),
        result_of("111", on_us, axes=axes, waits=(wait_of(),) * n_waits),
    ]


def test_the_price_of_waiting_against_failing_and_trying_again() -> None:
    """Where rows without internal dependencies get through, both ways are compared."""
    results = [
        *pressure("none", 0, 5300.0, 5300.0),
        *pressure("128MiB", 9, 14800.0, 11500.0),
        *pressure("64MiB", 45, 19700.0, 20800.0),
    ]
    assert answer(record_of(results))[:3] == (
        "Internal dependencies: 9 to 45 waits, 4.3 to 21.6 ms in total, "
        "all for a's free at line 14 (row 111), only where pool.max_size is 128MiB or less.",
        "With internal dependencies off: 9 to 45 failed allocations that a retry got through "
        "(row 110), only where pool.max_size is 128MiB or less.",
        "With internal dependencies on it takes 1.29 times (pool.max_size 128MiB) and "
        "0.95 times (pool.max_size 64MiB) as long as with them off.",
    )


def test_faults_come_first() -> None:
    """Corruption before cases without a result, before everything else."""
    results = [
        result_of("111", status=Status.CORRUPTED, reason="y (line 17): 12 bytes differ"),
        result_of("110", status=Status.TIMEOUT, reason="after 10 s", has_findings=False),
    ]
    assert answer(record_of(results))[:2] == (
        "Memory was corrupted: y (line 17): 12 bytes differ (row 111).",
        "1 case of 2 ended as timeout: after 10 s (row 110).",
    )


def test_there_is_always_an_answer_and_never_a_long_one() -> None:
    """One to four sentences and one of advice, whatever the record holds."""
    records = [
        record_of([]),
        record_of([result_of("preallocated")]),
        record_of([result_of("111", status=Status.SKIPPED, has_findings=False)]),
        record_of(hand_over()),
        record_of(pressure("64MiB", 45, 1.0, 2.0)),
    ]
    for record in records:
        sentences = answer(record)
        assert 1 <= len(sentences) <= MAX_SENTENCES + 1
        assert all(sentence.endswith(".") for sentence in sentences)


def test_outcomes_that_hang_on_timing_prove_nothing_about_an_attribute() -> None:
    """Rows with opportunistic on that differ only in what it found are no effect of follow; on the
    model, which has no chance, they are."""
    results = [
        result_of(row, n_allocs=12, n_opportunistic=n if row[1] == "1" else 0, n_grown=12)
        for row, n in zip(EIGHT, range(8), strict=True)
    ]
    sentences = answer(record_of(results))
    assert (
        "Follow: undecided; the outcomes of rows with opportunistic on differ, "
        "but so they may from run to run." in sentences
    )
    predicted = answer(record_of(results, backend=BackendKind.MODEL))
    assert predicted[0] == f"{PREDICTED} Follow changes outcomes."


def test_a_run_cut_short_says_so() -> None:
    """Cases that are missing are counted before anything is concluded."""
    sentences = answer(record_of([result_of("111")], n_planned=10))
    assert sentences[0] == "The run is not whole: 1 of 10 cases are there."


def test_several_axes_that_decide_are_all_named() -> None:
    """An effect at one value of each of two axes; the best and the worst by their axis values."""
    results = []
    for n in ("1", "2"):
        for m in ("x", "y", "z"):
            axes = (("n", n), ("m", m))
            is_slow = (n, m) == ("2", "y")
            results.append(result_of("preallocated", 100.0, axes=axes))
            results += [
                result_of(row, 300.0 if is_slow else 110.0, axes=axes, n_grown=9 if is_slow else 1)
                for row in EIGHT
            ]
    assert answer(record_of(results))[2:] == (
        "Against preallocated memory: 1.10 times as long at best (every row, n 1, m x), "
        "3.00 at worst (every row, n 2, m y).",
        "The pool grew 1 to 9 times; the most, in every row, only where n is 2 and m is y.",
        "Advice: keep 111. More of it: poolbench advise.",
    )


def test_advice_closes_the_answer() -> None:
    """Which row where; nothing where nothing is decided."""
    results = [
        *pressure("128MiB", 9, 9800.0, 7600.0),
        *pressure("64MiB", 45, 19700.0, 20800.0),
    ]
    assert answer(record_of(results))[-1] == (
        "Advice: use 110 where pool.max_size is 128MiB; keep 111 where pool.max_size is 64MiB. "
        "More of it: poolbench advise."
    )
    open_ = [result_of(row, 505.0, None, repeats=1) for row in EIGHT]
    assert not any("Advice" in sentence for sentence in answer(record_of(open_)))


@pytest.mark.parametrize(
    ("makespan_us", "told"),
    [
        (1030.0, "takes 1.03 times as long."),
        (1200.0, "takes 1.20 times as long: what it says of the program is doubtful."),
    ],
)
def test_a_replay_is_held_against_its_recording(makespan_us: float, told: str) -> None:
    """How near it comes, and a warning where it does not."""
    results = [result_of(row, makespan_us) for row in EIGHT]
    (first, *_) = answer(record_of(results, recorded_us=1000.0))
    assert first == f"The recorded program took 1000 us; its replay under 111 {told}"
    assert not any("recorded" in sentence for sentence in answer(record_of(results)))
