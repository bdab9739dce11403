"""Which cases get a control, and whether the rows of a run are known well enough.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.analysis.blocks import group
from poolbench.analysis.paired import paired_ratio
from poolbench.domain import AttributeSet, Case, Status
from poolbench.findings import CaseResult
from poolbench.plan.plan import Plan


def controls_of(plans: Sequence[Plan]) -> tuple[Case, ...]:
    """One case for each combination of axis values: the one that all others are compared with."""
    found: dict[tuple[tuple[str, str], ...], Case] = {}
    for plan in plans:
        row = plan.case.row
        known = found.setdefault(plan.case.axes, plan.case)
        is_default = isinstance(row, AttributeSet) and row.bits == "111"
        known_row = known.row
        if is_default and not (isinstance(known_row, AttributeSet) and known_row.bits == "111"):
            found[plan.case.axes] = plan.case
    return tuple(found.values())


def are_precise(results: Sequence[CaseResult], precision: float) -> bool:
    """Whether each row's interval against its block's `111` row is no wider than `precision` to
    either side.  Rows that did not end ok are not waited for."""
    for block in group(results):
        base = block.default_like
        if base is None or base.status is not Status.OK:
            continue
        others = [one for one in block.results if one is not base and one.status is Status.OK]
        for one in others:
            found = paired_ratio(base.samples_us, one.samples_us, n_compared=len(others))
            if found is None or found.half_width is None or found.half_width > precision:
                return False
    return True
