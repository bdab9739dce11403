"""Scenarios that are drawn are good ones, and timing cannot decide what they show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import load
from poolbench.domain import OUTCOMES, Outcome, Pass, StreamKind
from poolbench.fuzz.compare import answer_of, compare
from poolbench.fuzz.generate import draw
from poolbench.plan.steps import Alloc

N = 60


H200 = load().profile


def profile_of_a_slow_host() -> DeviceProfile:
    """A host that takes twice as long for every pool call, and a device half as quick."""
    return replace(
        H200,
        pool=replace(H200.pool, alloc_ns=3_600, grow_ns=20_000, free_ns=3_000),
        host=replace(H200.host, launch_ns=11_000, release_ns=28_000, step_ns=1_000),
        device=replace(H200.device, launch_latency_ns=7_000, kernel_gap_ns=3_500),
    )


@pytest.mark.parametrize("index", range(N))
def test_drawn_scenarios_have_no_fault_and_open_their_own_latches(index: int) -> None:
    """Each goes through the loader and all checks, and no latch waits for the watchdog."""
    plan = draw(7, index).plan
    trace = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
    assert not any(latch.by_watchdog for latch in trace.latches)
    assert 2 <= len(plan.streams) <= 6


@pytest.mark.parametrize("index", range(N))
def test_timing_decides_nothing(index: int) -> None:
    """A host and a device half as quick give the same answer, allocation by allocation."""
    plan = draw(8, index).plan
    quick, slow = (
        answer_of(ModelBackend(profile).run(plan, measured=Pass.TRACED, repetition=1))
        for profile in (H200, profile_of_a_slow_host())
    )
    assert compare(plan, quick, slow).disagreements == ()


def test_the_same_seed_draws_the_same_scenario() -> None:
    """Deterministic in seed and index, and in nothing else."""
    assert draw(3, 5).text == draw(3, 5).text
    assert len({draw(seed, index).text for seed in (3, 4) for index in range(10)}) == 20


def test_scenarios_cover_what_can_happen() -> None:
    """All outcomes of a pool, all rows, all kinds of streams, tight and loose, within N x 4."""
    model = ModelBackend()
    outcomes: set[Outcome] = set()
    kinds: set[StreamKind] = set()
    drawn = [draw(9, index) for index in range(4 * N)]
    for one in drawn:
        plan = one.plan
        trace = model.run(plan, measured=Pass.TRACED, repetition=1)
        outcomes |= {OUTCOMES[code] for code in answer_of(trace).outcome if code >= 0}
        kinds |= {stream.kind for stream in plan.streams}
    assert outcomes == set(Outcome) - {Outcome.OUTSIDE_POOL}
    assert kinds == set(StreamKind)
    assert len({one.bits for one in drawn}) == 8
    assert {key for one in drawn for step in one.steps for key in step} >= {
        "alloc", "free", "kernel", "memset", "record", "wait", "sync", "query", "hold", "trim"
    }  # fmt: skip
    sizes = [step.size for one in drawn[:N] for step in one.plan.steps if isinstance(step, Alloc)]
    assert min(sizes) < 512
    assert max(sizes) > 200 << 20
