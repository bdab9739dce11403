"""Effects that were planted in eight rows come out again, and nothing else does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poolbench.analysis.blocks import group
from poolbench.analysis.comparison import Verdict
from poolbench.analysis.factorial import FACTORS, effects_of, factorial_sentences
from poolbench.domain import COMBINATIONS, Status
from poolbench.findings import CaseResult
from tests.analysis.records import record_of, result_of, wait_of

N_BLOCKS = 12


def cube(
    *,
    internal: float = 1.0,
    both: float = 1.0,
    noise: float = 0.002,
    seed: int = 1,
    axes: tuple[tuple[str, str], ...] = (),
) -> list[CaseResult]:
    """Makespans of 100 us, times `internal` where that is on, times `both` where follow and
    internal are; every block is slower than the one before."""
    rng = np.random.default_rng(seed)
    drift = 1 + 0.3 * np.arange(N_BLOCKS) / N_BLOCKS
    found = []
    for row in COMBINATIONS:
        factor = internal if row.allow_internal_dependencies else 1.0
        if row.allow_internal_dependencies and row.follow_event_dependencies:
            factor *= both
        values = 100 * factor * drift * np.exp(noise * rng.standard_normal(N_BLOCKS))
        waits = (wait_of(),) * (3 if row.allow_internal_dependencies else 0)
        one = result_of(row.name, float(np.median(values)), axes=axes, waits=waits)
        found.append(_with(one, tuple(float(value) for value in values)))
    return found


def _with(result: CaseResult, samples: tuple[float | None, ...]) -> CaseResult:
    from dataclasses import replace

    return replace(result, samples_us=samples)


def test_a_planted_effect_is_found_and_the_others_are_none() -> None:
    """Internal on takes 1.2 times as long and waits three times; all else is noise."""
    (block,) = group(cube(internal=1.2))
    effects = {effect.factor: effect for effect in effects_of(block)}
    assert tuple(effects) == FACTORS
    internal = effects[("internal",)]
    assert internal.makespan is not None
    assert internal.makespan.ratio == pytest.approx(1.2, abs=0.004)
    assert internal.judgement is not None
    assert internal.judgement.verdict is Verdict.SLOWER
    assert internal.differences["n_inserted_waits"] == 3
    for factor, effect in effects.items():
        if factor != ("internal",):
            assert effect.judgement is not None
            assert effect.judgement.verdict is Verdict.SAME, factor
            assert effect.differences["n_inserted_waits"] == 0


def test_an_interaction_is_told_from_main_effects() -> None:
    """1.44 only with both on: each alone and the interaction are 1.2, on average."""
    (block,) = group(cube(both=1.44))
    effects = {effect.factor: effect.makespan for effect in effects_of(block)}
    for factor in (("internal",), ("follow",), ("follow", "internal")):
        found = effects[factor]
        assert found is not None
        assert found.ratio == pytest.approx(1.2 if len(factor) == 1 else math.sqrt(1.44), abs=0.005)
    alone = effects[("opportunistic",)]
    assert alone is not None
    assert alone.ratio == pytest.approx(1.0, abs=0.005)


def test_without_all_eight_there_is_no_experiment() -> None:
    results = cube()
    assert effects_of(group(results[:-1])[0]) == ()
    failed = [*results[:-1], result_of("111", None, status=Status.OUT_OF_MEMORY)]
    effects = effects_of(group(failed)[0])
    assert all(effect.makespan is None for effect in effects)
    assert effects[2].differences["n_grown"] == 0


def test_the_sentence_says_where_and_what_not() -> None:
    tight = cube(internal=1.5, axes=(("n", "1"),))
    wide = cube(seed=2, axes=(("n", "2"),))
    record = record_of([*tight, *wide])
    assert factorial_sentences(record) == (
        "Makespan, one attribute at a time: internal takes it to 1.50 times as long only where n "
        "is 1; follow and opportunistic change nothing measurable.",
    )
    noisy = record_of(cube(noise=0.2))
    assert "follow, opportunistic and internal are undecided" in factorial_sentences(noisy)[0]
    assert factorial_sentences(record_of([result_of("111")])) == ()
