"""Attribute sets side by side, or two runs: values only, no rendering.

Pure.  A verdict is given where the data decide, by medians and interquartile ranges alone; where
they do not, it is `undecided` with the reason as a code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from poolbench.analysis.blocks import blocks_of, makespan_of
from poolbench.analysis.quantities import metric
from poolbench.analysis.statistics import SAME_SHARE, Measured, band
from poolbench.domain import Baseline, Case, Status, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord

COMPARED = (
    "makespan_us_median",
    "alloc_host_us_median",
    "n_inserted_waits",
    "inserted_wait_us_total",
    "n_grown",
    "n_out_of_memory",
    "reserved_high_bytes",
)
"""Columns that a comparison shows, in order."""

QUIET_SHARE = 0.05
"""Two medians are only called the same if their noise together is within this share of them."""


class Verdict(StrEnum):
    """The second makespan against the first."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why a pair is undecided."""

    TOO_FEW_REPEATS = "too-few-repeats"
    NOISE = "noise"
    NOT_OK = "not-ok"
    """One of the two did not end ok, so that its times mean something else or are missing."""


REASONS: dict[Reason, str] = {
    Reason.TOO_FEW_REPEATS: "fewer than 3 repetitions on one side",
    Reason.NOISE: "the difference is within the spread of the repetitions",
    Reason.NOT_OK: "one side did not end ok",
}
"""What a legend says of the codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`ratio` is second over first; `low` and `high` are where the ratio lies if each median is off
    by half of its interquartile range."""

    verdict: Verdict
    reason: Reason | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One column of both sides; `ratio` only where both are known and the first is not 0."""

    key: str
    first: float | None
    second: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two results; within a run `first` is the row compared with."""

    first: CaseResult
    second: CaseResult
    judgement: Judgement
    quantities: tuple[Quantity, ...]

    @property
    def name(self) -> str:
        """`111 / preallocated` within a run, the row's name between two."""
        first, second = row_name(self.first.case.row), row_name(self.second.case.row)
        return second if first == second else f"{second} / {first}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Something that differs between two runs besides the results.

    `is_fatal`: figures of such runs do not compare, unless the user insists.
    """

    what: str
    first: str
    second: str
    is_fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`is_within`: rows of one run against its `111`-like row and the preallocated ideal; else
    `first` and `second` joined on axis values and row."""

    is_within: bool
    first: RunRecord
    second: RunRecord
    pairs: tuple[Pair, ...]
    only_first: tuple[Case, ...] = ()
    only_second: tuple[Case, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def is_comparable(self) -> bool:
        return not any(mismatch.is_fatal for mismatch in self.mismatches)


def compare(left: RunRecord, right: RunRecord | None = None) -> Comparison:
    if right is None:
        return Comparison(is_within=True, first=left, second=left, pairs=tuple(_pairs_within(left)))
    firsts = {_join_key(one.case): one for one in left.cases}
    seconds = {_join_key(one.case): one for one in right.cases}
    is_exact = left.is_predicted and right.is_predicted
    return Comparison(
        is_within=False,
        first=left,
        second=right,
        pairs=tuple(
            pair(one, seconds[key], is_exact=is_exact)
            for key, one in firsts.items()
            if key in seconds
        ),
        only_first=tuple(one.case for key, one in firsts.items() if key not in seconds),
        only_second=tuple(one.case for key, one in seconds.items() if key not in firsts),
        mismatches=tuple(_mismatches(left, right)),
    )


def _join_key(case: Case) -> tuple[frozenset[tuple[str, str]], str]:
    return frozenset(case.axes), row_name(case.row)


def _pairs_within(record: RunRecord) -> Iterator[Pair]:
    for block in blocks_of(record):
        bases = (block.baseline(Baseline.PREALLOCATED), block.default_like)
        for base in bases:
            for result in block.results:
                if base is not None and result is not base:
                    yield pair(base, result, is_exact=record.is_predicted)


def pair(first: CaseResult, second: CaseResult, *, is_exact: bool) -> Pair:
    return Pair(
        first=first,
        second=second,
        judgement=judge(first, second, is_exact=is_exact),
        quantities=tuple(_quantity(key, first, second) for key in COMPARED),
    )


def _quantity(key: str, first: CaseResult, second: CaseResult) -> Quantity:
    one, two = metric(first, key), metric(second, key)
    has_ratio = one is not None and two is not None and one > 0
    return Quantity(
        key=key,
        first=one,
        second=two,
        ratio=two / one if has_ratio and one and two is not None else None,
    )


def judge(first: CaseResult, second: CaseResult, *, is_exact: bool) -> Judgement:
    """The makespans of two results against each other."""
    one, two = makespan_of(first, is_exact=is_exact), makespan_of(second, is_exact=is_exact)
    if one is None or two is None or one.median <= 0 or two.median <= 0:
        return Judgement(verdict=Verdict.UNDECIDED, reason=Reason.NOT_OK)
    verdict, reason = _verdict(one, two)
    if first.status is not Status.OK or second.status is not Status.OK:
        verdict, reason = Verdict.UNDECIDED, Reason.NOT_OK
    half_one, half_two = (one.iqr or 0.0) / 2, (two.iqr or 0.0) / 2
    return Judgement(
        verdict=verdict,
        reason=reason,
        ratio=two.median / one.median,
        low=max(0.0, two.median - half_two) / (one.median + half_one),
        high=(two.median + half_two) / (one.median - half_one) if one.median > half_one else None,
    )


def _verdict(one: Measured, two: Measured) -> tuple[Verdict, Reason | None]:
    if not (one.is_enough and two.is_enough):
        return Verdict.UNDECIDED, Reason.TOO_FEW_REPEATS
    smaller = min(one.median, two.median)
    distance = abs(two.median - one.median)
    if distance > band(one, two):
        return (Verdict.FASTER if two.median < one.median else Verdict.SLOWER), None
    noise = (one.iqr or 0.0) + (two.iqr or 0.0)
    if distance <= SAME_SHARE * smaller and noise <= QUIET_SHARE * smaller:
        return Verdict.SAME, None
    return Verdict.UNDECIDED, Reason.NOISE


def _mismatches(left: RunRecord, right: RunRecord) -> Iterator[Mismatch]:
    facts = (
        ("scenario", left.scenario, right.scenario, True),
        ("backend", left.backend.value, right.backend.value, True),
        ("device", left.before.device, right.before.device, True),
        ("driver", left.before.driver, right.before.driver, True),
        ("CUDA", left.before.cuda, right.before.cuda, False),
        ("seed", str(left.seed), str(right.seed), False),
        ("poolbench", left.version, right.version, False),
    )
    for what, first, second, is_fatal in facts:
        if first != second:
            yield Mismatch(what=what, first=first, second=second, is_fatal=is_fatal)
