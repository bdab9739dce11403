"""Attribute sets side by side, or two runs: values only, no rendering.

Pure.  A verdict goes by the interval of the ratio, block by block (`paired`); where that does not
decide, it is `undecided`, with the reason as a code and the number of blocks that would.  Results
without blocks, of an older poolbench, are judged by medians and interquartile ranges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from poolbench.analysis.blocks import Block, blocks_of, makespan_of
from poolbench.analysis.paired import Estimate, blocks_to_decide, paired_ratio, unpaired_ratio
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

BETWEEN_SHARE = 0.05
"""Between two runs, which nothing pairs, ratios closer to 1 than this are the same."""

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
    FLOOR = "floor"
    """The ratio differs from 1, but by no more than that of a case and its A/A control."""
    DRIFT = "drift"
    """The host's own pace differs by as much between the two runs."""
    NOT_OK = "not-ok"
    """One of the two did not end ok, so that its times mean something else or are missing."""


REASONS: dict[Reason, str] = {
    Reason.TOO_FEW_REPEATS: "too few repetitions for a verdict on so many rows",
    Reason.NOISE: "the interval of the ratio holds both 1 and a difference that matters",
    Reason.FLOOR: "the difference is no larger than that between a row and its A/A control",
    Reason.DRIFT: "the pace of the host differs by as much between the two runs",
    Reason.NOT_OK: "one side did not end ok",
}
"""What a legend says of the codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`ratio` is second over first, `low` to `high` its interval.  `n_more` blocks would make a
    verdict likely, where one is missing."""

    verdict: Verdict
    reason: Reason | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    n_more: int | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """What a ratio is held against.

    band
        ratios within this share of 1 are the same.
    floor
        ratios within this share of 1 are no difference: a case and its control differ by as much.
    n_compared
        rows that share the error rate.
    """

    band: float = SAME_SHARE
    floor: float = 0.0
    n_compared: int = 1
    is_paired: bool = True
    floor_reason: Reason = Reason.FLOOR


def compare(
    left: RunRecord,
    right: RunRecord | None = None,
    *,
    baseline: str | None = None,
    band: float | None = None,
    wanted: Callable[[CaseResult], bool] = lambda _: True,
) -> Comparison:
    """Rows of one run against `baseline` (by default the ideal and `111`), or two runs, case by
    case; `wanted` picks cases, `band` is what counts as the same (2 %; 5 % between runs)."""
    if right is None:
        pairs = _pairs_within(left, baseline, SAME_SHARE if band is None else band, wanted)
        return Comparison(is_within=True, first=left, second=left, pairs=tuple(pairs))
    firsts = {_join_key(one.case): one for one in left.cases if wanted(one)}
    seconds = {_join_key(one.case): one for one in right.cases if wanted(one)}
    is_exact = left.is_predicted and right.is_predicted
    common = [key for key in firsts if key in seconds]
    drift = _pace_difference(left, right)
    floors = [floor_of(block) for one in (left, right) for block in blocks_of(one)]
    floor = max([drift, *floors])
    in_block = Counter(axes for axes, _ in common)

    def yardstick(axes: frozenset[tuple[str, str]]) -> Yardstick:
        """The rows of a block share the error rate, as they do within a run."""
        return Yardstick(
            band=BETWEEN_SHARE if band is None else band,
            floor=floor,
            n_compared=in_block[axes],
            is_paired=False,
            floor_reason=Reason.DRIFT if floor == drift else Reason.FLOOR,
        )

    return Comparison(
        is_within=False,
        first=left,
        second=right,
        pairs=tuple(
            pair(firsts[key], seconds[key], is_exact=is_exact, yardstick=yardstick(key[0]))
            for key in common
        ),
        only_first=tuple(one.case for key, one in firsts.items() if key not in seconds),
        only_second=tuple(one.case for key, one in seconds.items() if key not in firsts),
        mismatches=tuple(_mismatches(left, right)),
    )


def _pace_difference(left: RunRecord, right: RunRecord) -> float:
    """By how much the cheapest driver call differs, as a share: a shared host changes its pace from
    minute to minute, and the makespans of both runs with it."""
    paces = [one.before.floors.host_call_ns for one in (left, right)]
    if not all(paces) or left.is_predicted or right.is_predicted:
        return 0.0
    return max(paces) / min(paces) - 1


def control_of(block: Block) -> Estimate | None:
    """The A/A control of a block: a case over itself, as if they were two."""
    for result in block.results:
        if result.control_us:
            return paired_ratio(result.samples_us, result.control_us, n_compared=1)
    return None


def floor_of(block: Block) -> float:
    """How far a ratio may be off 1 without meaning anything, as a share."""
    found = control_of(block)
    return 0.0 if found is None else math.exp(abs(math.log(found.ratio))) - 1


def _join_key(case: Case) -> tuple[frozenset[tuple[str, str]], str]:
    return frozenset(case.axes), row_name(case.row)


def _pairs_within(
    record: RunRecord,
    baseline: str | None,
    band: float,
    wanted: Callable[[CaseResult], bool],
) -> Iterator[Pair]:
    for block in blocks_of(record):
        bases: tuple[CaseResult | None, ...]
        if baseline is None:
            bases = (block.baseline(Baseline.PREALLOCATED), block.default_like)
        else:
            bases = tuple(one for one in block.results if row_name(one.case.row) == baseline)
        for base in bases:
            others = [one for one in block.results if one is not base and wanted(one)]
            yardstick = Yardstick(band=band, floor=floor_of(block), n_compared=len(others))
            for result in others:
                if base is not None:
                    yield pair(base, result, is_exact=record.is_predicted, yardstick=yardstick)


def pair(
    first: CaseResult, second: CaseResult, *, is_exact: bool, yardstick: Yardstick | None = None
) -> Pair:
    return Pair(
        first=first,
        second=second,
        judgement=judge(first, second, is_exact=is_exact, yardstick=yardstick),
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


def judge(
    first: CaseResult, second: CaseResult, *, is_exact: bool, yardstick: Yardstick | None = None
) -> Judgement:
    """The makespans of two results against each other."""
    held = yardstick or Yardstick()
    one, two = makespan_of(first, is_exact=is_exact), makespan_of(second, is_exact=is_exact)
    if one is None or two is None or one.median <= 0 or two.median <= 0:
        return Judgement(verdict=Verdict.UNDECIDED, reason=Reason.NOT_OK)
    found = None if is_exact else _estimate(first, second, held)
    judgement = _by_quartiles(one, two) if found is None else by_interval(found, held)
    if first.status is not Status.OK or second.status is not Status.OK:
        return replace(judgement, verdict=Verdict.UNDECIDED, reason=Reason.NOT_OK, n_more=None)
    return judgement


def _estimate(first: CaseResult, second: CaseResult, held: Yardstick) -> Estimate | None:
    ratio = paired_ratio if held.is_paired else unpaired_ratio
    if not first.samples_us or not second.samples_us:
        return None
    return ratio(first.samples_us, second.samples_us, n_compared=held.n_compared)


def by_interval(found: Estimate, held: Yardstick) -> Judgement:
    same, floor = 1 + held.band, 1 + held.floor
    if not held.is_paired:
        floor = max(same, floor)
    verdict, reason = Verdict.UNDECIDED, Reason.NOISE
    if found.low is None or found.high is None:
        reason = Reason.TOO_FEW_REPEATS
    elif found.low >= 1 / same and found.high <= same:
        verdict = Verdict.SAME
    elif found.low > floor:
        verdict = Verdict.SLOWER
    elif found.high < 1 / floor:
        verdict = Verdict.FASTER
    elif found.low > 1 or found.high < 1:
        reason = held.floor_reason
    is_open = verdict is Verdict.UNDECIDED
    can_help = is_open and reason in (Reason.TOO_FEW_REPEATS, Reason.NOISE)
    return Judgement(
        verdict=verdict,
        reason=reason if is_open else None,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        n_more=blocks_to_decide(found, band=same - 1) if can_help else None,
    )


def _by_quartiles(one: Measured, two: Measured) -> Judgement:
    """`low` and `high` are where the ratio lies if each median is off by half of its interquartile
    range."""
    verdict, reason = _verdict(one, two)
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
