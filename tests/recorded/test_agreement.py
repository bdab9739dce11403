"""The model replays what was recorded on hardware; no GPU is needed.

`known.toml` lists the differences that are known, each with its reason (docs/model.md has the same
list in words).  An entry that no longer applies fails the test as a new difference does.
"""

from __future__ import annotations

import re
import statistics
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from poolbench.agreement import Agreement, MakespanPair, agreement, ranking
from poolbench.analysis.split import PARTS
from poolbench.backends.model.backend import ModelBackend
from poolbench.results.store import read, runs_in

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
    entries = [one for one in KNOWN.get("outcome", []) if one["scenario"] == found.scenario]
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
    entries = [one for one in KNOWN.get("makespan", []) if one["scenario"] == found.scenario]
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


@pytest.fixture(scope="module")
def makespans() -> list[MakespanPair]:
    model = ModelBackend()
    return [pair for run in RECORDED for pair in agreement(run, model).makespans]


def test_makespans_are_within_5_percent_in_the_median(makespans: list[MakespanPair]) -> None:
    """Of all cases, however short."""
    assert len(makespans) > 400
    assert statistics.median(abs(pair.ratio - 1) for pair in makespans) <= 0.05


def test_rows_are_ranked_as_measured(makespans: list[MakespanPair]) -> None:
    """95 % of the pairs that the measurement decides, and those are the most of all."""
    found = ranking(makespans)
    assert found.n_decided > found.n_undecided
    assert found.n_agreeing >= 0.95 * found.n_decided


def test_ranking_leaves_out_what_is_undecided() -> None:
    """A noisy pair says nothing; a clear one must be predicted on the same side."""

    def pair(row: str, recorded_us: float, iqr_us: float, predicted_us: float) -> MakespanPair:
        return MakespanPair(
            case=f"s/{row}",
            recorded_us=recorded_us,
            recorded_iqr_us=iqr_us,
            predicted_us=predicted_us,
            is_long=False,
        )

    clear = ranking([pair("000", 100, 1, 100), pair("001", 120, 1, 121)])
    assert (clear.n_agreeing, clear.n_undecided, clear.wrong) == (1, 0, ())
    noisy = ranking([pair("000", 100, 30, 100), pair("001", 120, 30, 80)])
    assert (noisy.n_agreeing, noisy.n_undecided, noisy.wrong) == (0, 1, ())
    wrong = ranking([pair("000", 100, 1, 100), pair("001", 120, 1, 103)])
    assert wrong.wrong == (("s/000", "s/001"),)
    other = MakespanPair(
        case="t/000", recorded_us=1, recorded_iqr_us=0, predicted_us=9, is_long=False
    )
    assert ranking([pair("000", 100, 1, 100), other]).n_decided == 0


def test_there_are_recordings() -> None:
    """The tests above have something to read."""
    assert len(RECORDED) >= 18


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_the_split_of_a_recorded_makespan_adds_up(run: Path) -> None:
    """What the walk along the critical path leaves unexplained is less than 2 % of each makespan,
    or less than the 5 us that the outer events take."""
    for result in read(run).cases:
        found = result.findings
        if found is None or found.path_rest_us is None or found.tracing_ratio is None:
            continue
        whole = (found.makespan_us_median or 0.0) * found.tracing_ratio
        parts = [getattr(found, f"path_{part}_us") for part in PARTS]
        assert sum(parts) == pytest.approx(whole, rel=1e-6)
        assert abs(found.path_rest_us) <= max(0.02 * whole, 5.0), result.case.key
