"""What `advise` says, on records with known answers."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from poolbench.analysis.advice import Topic, advise
from poolbench.domain import BackendKind, Status
from poolbench.findings import CaseResult
from poolbench.results.record import PREDICTED, RunRecord
from tests.analysis.records import FAILURE, record_of, result_of, wait_of

EIGHT = tuple(f"{k:03b}" for k in range(8))

TIGHT = (("pool.max_size", "64MiB"),)
ROOMY = (("pool.max_size", "none"),)


def blocks_around(makespan_us: float, seed: str) -> tuple[float, ...]:
    """Thirty blocks with a noise of 0.1 %, the same for the same seed."""
    draws = random.Random(seed)
    return tuple(makespan_us * draws.gauss(1, 0.001) for _ in range(30))


def timed(row: str, makespan_us: float, **fields: Any) -> CaseResult:
    result = result_of(row, makespan_us, repeats=30, **fields)
    return replace(result, samples_us=blocks_around(makespan_us, result.case.key))


def texts(record: RunRecord, topic: Topic) -> list[str]:
    return [one.text for one in advise(record) if one.topic is topic]


def test_no_difference_is_an_answer() -> None:
    """Eight rows alike: keep the default, and say that nothing tested internal dependencies."""
    record = record_of([timed("preallocated", 90.0), *(timed(row, 100.0) for row in EIGHT)])
    assert texts(record, Topic.SET) == [
        "It makes no difference: keep 111. 7 other rows that ended ok took as long."
    ]
    (silent,) = texts(record, Topic.OPEN)
    assert "says nothing about internal dependencies" in silent


def test_a_faster_row_is_told_with_its_ratio_and_memory() -> None:
    """A row whose interval lies below 1."""
    record = record_of(
        [
            timed("preallocated", 90.0),
            timed("111", 100.0, waits=(wait_of(),)),
            timed("000", 80.0, reserved_high_bytes=128 * 2**20),
        ]
    )
    assert texts(record, Topic.SET) == [
        "Use 000: 0.80 times as long as 111, and 128MiB of reserved memory instead of 64MiB."
    ]


def test_nothing_is_advised_on_noise() -> None:
    """One repetition each supports no verdict: the advice is to repeat."""
    record = record_of([result_of("111", 100.0, repeats=1), result_of("000", 80.0, repeats=1)])
    assert texts(record, Topic.SET) == ["Nothing was shown to be faster than 111."]
    assert any("1 row against 111 undecided" in text for text in texts(record, Topic.OPEN))


def test_out_of_memory_comes_first() -> None:
    """Rows that fail, where, and what gets through."""
    failing = [
        result_of(row, None, None, status=Status.OUT_OF_MEMORY, failure=FAILURE)
        for row in ("000", "110")
    ]
    record = record_of([*failing, timed("111", 100.0, waits=(wait_of(),))])
    first = advise(record)[0]
    assert first.topic is Topic.SET
    assert first.text == (
        "Keep allow_internal_dependencies on, or handle failures: 000, 110 run out of memory at y "
        "(line 17); with it on the driver gets through with 1 inserted wait."
    )


def test_no_way_through_is_said() -> None:
    """Where internal dependencies do not help either."""
    failing = [
        result_of(row, None, None, status=Status.OUT_OF_MEMORY, failure=FAILURE) for row in EIGHT
    ]
    (text,) = texts(record_of(failing), Topic.SET)
    assert text.endswith("and no attribute gets through.")


def test_a_larger_pool_that_was_run_is_set_against_the_attributes() -> None:
    """The smallest limit without waits, and by how much."""
    record = record_of(
        [
            timed("111", 400.0, axes=TIGHT, waits=(wait_of(),)),
            timed("000", 380.0, axes=TIGHT, n_out_of_memory=3),
            timed("111", 100.0, axes=ROOMY),
            timed("000", 100.0, axes=ROOMY),
            timed("111", 101.0, axes=(("pool.max_size", "256MiB"),)),
            timed("000", 101.0, axes=(("pool.max_size", "256MiB"),)),
        ],
        axes=(("pool.max_size", ("64MiB", "none", "256MiB")),),
    )
    assert texts(record, Topic.SIZE) == [
        "With pool.max_size 64MiB: pool.max_size 256MiB does more than any attribute: 0.25 times "
        "as long, with no waits and no failures and 64MiB of memory."
    ]


def test_what_fills_the_critical_path_is_told_with_its_step() -> None:
    """Inserted waits and growth, each above its threshold."""
    wait = replace(wait_of(), on_path_us=40.0)
    parts = {
        "path_work_us": 40.0,
        "path_inserted_wait_us": 40.0,
        "path_growth_us": 20.0,
        "path_retry_us": 0.0,
    }
    record = record_of([timed("111", 100.0, waits=(wait,), **parts)])
    (text,) = texts(record, Topic.WAITS)
    assert text.startswith("40% of 111's makespan (40 us) is inserted waits (1 wait")
    assert "y at line 17 for a's free at line 14" in text
    (text,) = texts(record, Topic.GROWTH)
    assert text.startswith("20% of 111's makespan (20 us) is growth in 2 allocations.")
    assert texts(record, Topic.RETRIES) == []


def test_corruption_forbids_the_row() -> None:
    """Before everything else."""
    bad = result_of("010", status=Status.CORRUPTED, reason="4 bytes differ at line 9")
    record = record_of([bad, timed("111", 100.0)])
    assert advise(record)[0].text == (
        "Do not use 010 as it is: memory was corrupted (4 bytes differ at line 9)."
    )


def test_a_prediction_says_so() -> None:
    """The first sentence of the model's advice."""
    record = record_of([timed("111", 100.0), timed("000", 100.0)], backend=BackendKind.MODEL)
    assert advise(record)[0].text.startswith(PREDICTED)


def test_without_pools_there_is_nothing_to_say() -> None:
    """Baselines only."""
    (only,) = advise(record_of([timed("preallocated", 90.0)]))
    assert only.topic is Topic.OPEN
