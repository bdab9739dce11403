"""The probe on the model gives the tables that were measured; no GPU is needed."""

from __future__ import annotations

import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import COMBINATIONS
from poolbench.probe.changes import changes
from poolbench.probe.conduct import conduct
from poolbench.probe.documented import Reuse, Verdict, Waiting
from poolbench.probe.questions import CALLS, LAYOUT, REUSE
from poolbench.probe.reading import reuse_verdict
from poolbench.probe.record import Probe, read
from tests.recorded.test_agreement import ROOT


@pytest.fixture(scope="module")
def measured() -> Probe:
    return read(ROOT / "results" / "h200-580" / "probe")


def test_it_is_whole_and_measured(measured: Probe) -> None:
    """Every question has its answer, on hardware, within ten seconds."""
    assert measured.environment.backend == "cuda"
    assert measured.seconds <= 10
    assert len(measured.cells) == len(COMBINATIONS) * len(REUSE)
    assert all(one.answer is not Reuse.UNKNOWN for one in measured.cells)
    assert len(measured.calls) == len(CALLS)
    assert all(one.answer is not Waiting.UNKNOWN for one in measured.calls)
    assert len(measured.layout) == len(LAYOUT)
    assert all(one.text for one in measured.layout)


def test_the_model_answers_as_the_hardware_did(measured: Probe) -> None:
    """All rules of all three tables."""
    found = changes(measured, conduct(ModelBackend()))
    assert found.n_uncompared == 0
    assert found.found == ()


def test_no_documented_rule_of_reuse_is_broken(measured: Probe) -> None:
    """On this driver; cuMemAlloc, which the guide says synchronises, is another matter."""
    for question in REUSE:
        assert reuse_verdict(measured, question.scenario) is not Verdict.DIFFERENT
