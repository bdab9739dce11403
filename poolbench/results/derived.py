"""Columns of the table that compare a row with another row of its block.

Pure.  They are not in the CSV: whoever has the makespans can divide them.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.comparison import Yardstick, floor_of, judge
from poolbench.columns import Column, Unit
from poolbench.domain import Baseline, Case, Status, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord

OVER_PREALLOCATED = "over_preallocated"
OVER_DEFAULT = "over_default"
VERDICT = "verdict"

DERIVED: tuple[Column, ...] = (
    Column(
        key=OVER_PREALLOCATED,
        title="× preallocated",
        unit=Unit.RATIO,
        meaning="Makespan over that of the row preallocated with the same axis values: what "
        "allocating costs.",
    ),
    Column(
        key=OVER_DEFAULT,
        title="× default",
        unit=Unit.RATIO,
        meaning="Makespan over that of the row default, or of 111 where there is none, with the "
        "same axis values: what changing the attributes costs or saves.",
    ),
    Column(
        key=VERDICT,
        title="verdict",
        unit=Unit.TEXT,
        meaning="Of that ratio, by its interval over blocks that are paired in time: faster, "
        "slower, same (within 2 % and the noise of the A/A control) or undecided.",
    ),
)


def default_row(cases: Sequence[CaseResult]) -> str | None:
    """The row that stands for "as the driver does it": `default`, else `111`, else none."""
    names = {row_name(result.case.row) for result in cases}
    return next((name for name in ("default", "111") if name in names), None)


def over(result: CaseResult, cases: Sequence[CaseResult], name: str | None) -> float | None:
    """The makespan of a case over that of the row `name` with the same axis values."""
    own = result.findings and result.findings.makespan_us_median
    if name is None or not own:
        return None
    for other in cases:
        if other.case.axes == result.case.axes and row_name(other.case.row) == name:
            base = other.findings and other.findings.makespan_us_median
            return own / base if base else None
    return None


def verdicts(record: RunRecord) -> dict[Case, str]:
    """Of each row against the one that stands for the driver's default; none without blocks."""
    found: dict[Case, str] = {}
    name = default_row(record.cases)
    for block in blocks_of(record):
        base = next((one for one in block.results if row_name(one.case.row) == name), None)
        if base is None or not base.samples_us or record.is_predicted:
            continue
        others = [one for one in block.results if one is not base]
        held = Yardstick(floor=floor_of(block), n_compared=len(others))
        for one in others:
            if one.status is Status.OK:
                found[one.case] = judge(base, one, is_exact=False, yardstick=held).verdict.value
    return found


def over_preallocated(result: CaseResult, cases: Sequence[CaseResult]) -> float | None:
    return over(result, cases, Baseline.PREALLOCATED.value)
