"""The model replays what was recorded on hardware; no GPU is needed.

`known.toml` lists the differences that are known, each with its reason (docs/model.md has the same
list in words).  An entry that no longer applies fails the test as a new difference does.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from poolbench.agreement import Agreement, agreement
from poolbench.backends.model.backend import ModelBackend
from poolbench.results.store import runs_in

ROOT = Path(__file__).parents[2]
RECORDED = sorted(run for gpu in sorted((ROOT / "results").glob("*-*")) for run in runs_in(gpu))
KNOWN = tomllib.loads((Path(__file__).parent / "known.toml").read_text("utf-8"))


def fits(case: str, pattern: str) -> bool:
    """`*` stands for any text; brackets, which case names have, for themselves."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), case) is not None


@pytest.fixture(scope="module", params=RECORDED, ids=lambda run: f"{run.parent.name}-{run.name}")
def found(request: pytest.FixtureRequest) -> Agreement:
    return agreement(request.param, ModelBackend())


def test_outcomes_are_the_recorded_ones(found: Agreement) -> None:
    """Status of every case, outcome of every allocation, and the free that was waited for."""
    entries = [one for one in KNOWN["outcome"] if one["scenario"] == found.scenario]
    matched: Counter[int] = Counter()
    strange = []
    for difference in found.differences:
        for index, entry in enumerate(entries):
            if fits(difference.case, entry["case"]) and difference.what in entry["what"]:
                matched[index] += 1
                break
        else:
            strange.append(difference)
    assert not strange, strange[:5]
    for index, entry in enumerate(entries):
        assert matched[index], f"this difference is gone: {entry}"
        assert matched[index] <= entry["at_most"], (matched[index], entry)


def test_long_makespans_are_within_15_percent(found: Agreement) -> None:
    """Where every kernel lasts 50 us or more."""
    entries = [one for one in KNOWN["makespan"] if one["scenario"] == found.scenario]
    matched: Counter[int] = Counter()
    strange = []
    for pair in found.makespans:
        if not pair.is_long or abs(pair.ratio - 1) <= 0.15:
            continue
        for index, entry in enumerate(entries):
            if fits(pair.case, entry["case"]):
                matched[index] += 1
                break
        else:
            strange.append((pair.case, round(pair.ratio, 2)))
    assert not strange, strange[:5]
    for index, entry in enumerate(entries):
        assert matched[index], f"this difference is gone: {entry}"


def test_there_are_recordings() -> None:
    """The tests above have something to read."""
    assert len(RECORDED) >= 18
