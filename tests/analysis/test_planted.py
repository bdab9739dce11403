"""Effects of known size in noise like that of a shared host: found, and not invented."""

from __future__ import annotations

import random

import pytest

from poolbench.analysis.comparison import Verdict
from tests import planted
from tests.analysis.records import record_of, result_of

N = 1000


def noisy(
    base_us: float, drift: list[float], draws: random.Random, noise: float
) -> tuple[float, ...]:
    """A drift that all runs of a block share, noise, and now and then a disturbance."""
    return tuple(
        base_us * pace * draws.gauss(1, noise) * (1.3 if draws.random() < 0.02 else 1)
        for pace in drift
    )


def drifting(draws: random.Random) -> list[float]:
    """A pace that wanders by half within a run."""
    pace, found = 1.0, []
    for _ in range(N):
        pace = min(1.5, max(0.9, pace * draws.gauss(1, 0.02)))
        found.append(pace)
    return found


@pytest.mark.parametrize("noise", [0.001, 0.005, 0.01])
def test_three_percent_are_found_and_nothing_else(noise: float) -> None:
    """As `self-test/planted` asks of a GPU."""
    draws = random.Random(7)
    drift = drifting(draws)
    record = record_of([result_of("111", axes=(("busy", text),)) for text in ("1000us", "1030us")])
    samples = [
        (noisy(base, drift, draws, noise), noisy(base, drift, draws, noise))
        for base in (1000.0, 1030.0)
    ]
    planted.check(planted.as_if(record, samples))


def test_the_check_fails_where_nothing_is_planted() -> None:
    """Equal rows do not pass for a slowdown, and a biased control does not pass for none."""
    draws = random.Random(7)
    flat = [1.0] * N
    record = record_of([result_of("111", axes=(("busy", text),)) for text in ("1000us", "1030us")])
    same = [(noisy(1000.0, flat, draws, 0.002), noisy(1000.0, flat, draws, 0.002))] * 2
    with pytest.raises(AssertionError):
        planted.check(planted.as_if(record, same))
    biased = [
        (noisy(base, flat, draws, 0.002), noisy(base * 1.05, flat, draws, 0.002))
        for base in (1000.0, 1030.0)
    ]
    with pytest.raises(AssertionError):
        planted.check(planted.as_if(record, biased))


def test_too_much_noise_gives_no_verdict_rather_than_a_wrong_one() -> None:
    """A noise of 20 % hides 3 %; what is said is hardly ever wrong."""
    draws = random.Random(3)
    flat = [1.0] * N
    first, second = (noisy(base, flat, draws, 0.2) for base in (1000.0, 1000.0))
    found = planted.verdicts(first, second)
    assert found[Verdict.UNDECIDED] >= 90
    assert found[Verdict.SLOWER] + found[Verdict.FASTER] <= 5
