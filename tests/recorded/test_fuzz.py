"""The model replays random scenarios whose answers were recorded on hardware; no GPU is needed.

`known.toml` has every disagreement that is known, with the class it belongs to (docs/model.md
describes the classes).  Each is a strict expected failure: one that has gone fails the test.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.fuzz.campaign import Found, figures, hold_against
from poolbench.fuzz.record import read
from poolbench.fuzz.write import FIGURES, TRACES
from tests.recorded.test_agreement import KNOWN, ROOT

CAMPAIGN = ROOT / "results" / "h200-580" / "fuzz"
NAMES = {one.name: one for one in read(CAMPAIGN / TRACES)}
CLASSES: dict[str, list[str]] = {one["class"]: one["scenarios"] for one in KNOWN["fuzz"]}


@pytest.fixture(scope="module")
def found() -> dict[str, Found]:
    model = ModelBackend()
    return {name: hold_against(one, model) for name, one in NAMES.items()}


def test_only_known_scenarios_disagree(found: dict[str, Found]) -> None:
    """No new disagreement, and none of the known ones is gone."""
    disagreeing = {name for name, one in found.items() if not one.agrees}
    known = {name for names in CLASSES.values() for name in names}
    assert disagreeing - known == set()
    assert known - disagreeing == set()


def test_classes_are_described() -> None:
    """Each scenario is in one class, and each class has its paragraph."""
    listed = [name for names in CLASSES.values() for name in names]
    assert len(listed) == len(set(listed))
    document = (ROOT / "docs" / "model.md").read_text("utf-8")
    for name in CLASSES:
        assert f"| {name} |" in document


def test_agreement_is_what_is_promised(found: dict[str, Found]) -> None:
    """99.5 % of 20,000 allocations or more in outcome and reserved bytes, over 1,000 scenarios."""
    totals = figures(list(found.values()))
    assert totals.n_scenarios == len(NAMES) >= 1000
    assert totals.n_void == 0
    assert totals.n_allocs >= 20_000
    assert totals.agreement >= 0.995


def test_the_figures_on_disk_are_those_of_the_recordings() -> None:
    """`fuzz.json` counts what is in the traces beside it."""
    told = json.loads(Path(CAMPAIGN / FIGURES).read_text("utf-8"))
    issued = sum(code >= 0 for one in NAMES.values() for code in one.answer.outcome)
    assert told["scenarios"] + told["scenarios_void"] == len(NAMES)
    assert told["allocations_issued"] == issued
    assert told["allocations"] <= issued
    assert told["agreement"] == told["allocations_agreeing"] / told["allocations"]
    assert told["against"] == "cuda"
