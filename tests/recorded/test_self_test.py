"""Effects of known size, as they were measured on hardware."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.results import store
from tests import planted
from tests.recorded.test_agreement import ROOT

PLANTED = sorted(ROOT.glob("results/*/self-test/planted"))
WAITS = sorted(ROOT.glob("results/*/self-test/known-waits"))


@pytest.mark.parametrize("run", PLANTED, ids=str)
def test_a_planted_slowdown_was_found(run: Path) -> None:
    """3 % in 95 of 100 comparisons, and nothing between a case and its control."""
    record = store.read(run)
    assert not record.is_predicted
    planted.check(record)


@pytest.mark.parametrize("run", WAITS, ids=str)
def test_known_waits_were_found(run: Path) -> None:
    """Within 5 % or 5 us, as event time and on the critical path."""
    record = store.read(run)
    assert not record.is_predicted
    n_found = 0
    for result in record.cases:
        assert all(claim.is_met for claim in result.expectations)
        n_found += len(result.waits)
    assert n_found == 16
