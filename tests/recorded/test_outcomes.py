"""What the classification makes of real addresses and times, recorded on hardware."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.analysis.outcomes import classify
from poolbench.domain import OUTCOMES
from poolbench.plan.build import build_plans
from poolbench.results import store
from poolbench.results.samples import read_steps
from poolbench.scenario.load import load
from poolbench.trace import NONE, empty_steps
from tests.recorded.test_agreement import RECORDED

COLUMNS = (
    "host_begin_ns",
    "host_end_ns",
    "device_begin_ns",
    "device_end_ns",
    "address",
    "reserved",
    "used",
    "n_failures",
)


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_recorded_allocations_are_told_as_they_were(run: Path) -> None:
    """Addresses, sizes and times alone give the outcomes that the run was stored with."""
    record = store.read(run)
    scenario = load(run / store.SCENARIO)
    tables = dict(tuple(read_steps(run).groupby("case", sort=False)))
    n_allocs = 0
    for plan in build_plans(scenario, [result.case for result in record.cases]):
        table = tables[plan.case.key]
        steps = empty_steps(len(table))
        for column in COLUMNS:
            getattr(steps, column)[:] = table[column].fillna(NONE).astype("int64").to_numpy()
        told = classify(plan, steps, event_floor_ns=record.before.floors.event_pair_ns)
        names = ["" if code == NONE else OUTCOMES[code].value for code in told.outcome.tolist()]
        assert names == table["outcome"].fillna("").tolist(), plan.case.key
        n_allocs += sum(map(bool, names))
    assert n_allocs
