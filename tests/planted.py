"""A long run of `self-test/planted`, read as many short ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.comparison import Verdict, Yardstick, by_interval
from poolbench.analysis.paired import paired_ratio
from poolbench.results.record import RunRecord

N_BLOCKS = 10
"""Of one comparison: the default of `--repeats`."""
PLANTED = Yardstick()

Samples = tuple[float | None, ...]


def verdicts(first: Samples, second: Samples) -> Counter[Verdict]:
    """Of every ten blocks."""
    found: Counter[Verdict] = Counter()
    for at in range(0, min(len(first), len(second)) - N_BLOCKS + 1, N_BLOCKS):
        estimate = paired_ratio(first[at : at + N_BLOCKS], second[at : at + N_BLOCKS], n_compared=1)
        assert estimate is not None
        found[by_interval(estimate, PLANTED).verdict] += 1
    return found


def read(record: RunRecord) -> tuple[Counter[Verdict], Counter[Verdict]]:
    """(1030 us against 1000 us, each against its own control)."""
    short, long = (block.results[0] for block in blocks_of(record))
    controls = verdicts(short.samples_us, short.control_us)
    controls += verdicts(long.samples_us, long.control_us)
    return verdicts(short.samples_us, long.samples_us), controls


def check(record: RunRecord) -> None:
    """A planted 3 % found in 95 of 100; no more false verdicts than the stated 5 %."""
    planted, controls = read(record)
    n = planted.total()
    assert n >= 100
    assert planted[Verdict.SLOWER] >= 0.95 * n, planted
    assert planted[Verdict.FASTER] == 0
    wrong = controls[Verdict.SLOWER] + controls[Verdict.FASTER]
    assert controls.total() >= 2 * n
    assert wrong <= 0.05 * controls.total(), controls


def as_if(record: RunRecord, samples: list[tuple[Samples, Samples]]) -> RunRecord:
    """The record with other samples: (timed, control) of each case."""
    cases = tuple(
        replace(case, samples_us=timed, control_us=control)
        for case, (timed, control) in zip(record.cases, samples, strict=True)
    )
    return replace(record, cases=cases)
