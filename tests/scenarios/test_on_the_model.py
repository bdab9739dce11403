"""Every shipped scenario, run on the model: what it expects must come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from poolbench.analysis.expectations import evaluate
from poolbench.analysis.findings import find
from poolbench.backends.base import Backend
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import COMBINATIONS, Baseline, Case, Row, Status
from poolbench.findings import CaseResult
from poolbench.measure import measure
from poolbench.plan.build import build_plan
from poolbench.plan.cases import cases
from poolbench.scenario.find import SELF_TEST, within
from poolbench.scenario.load import load, load_text
from poolbench.scenario.scenario import Scenario
from poolbench.trace import Trace

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "scenarios").glob("*.yaml"), *within(SELF_TEST)])
EXAMPLES = [
    example
    for document in ("docs/scenario-language.md", "README.md")
    for example in re.findall(r"```yaml\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)
]
ROWS: tuple[Row, ...] = (*COMBINATIONS, *Baseline)


def run(scenario: Scenario, backend: Backend) -> tuple[CaseResult, ...]:
    """The results of all rows, one timed and one traced run each: the model has no noise."""
    plans = [build_plan(scenario, case) for case in cases(scenario, ROWS)]
    traces: dict[Case, list[Trace]] = {plan.case: [] for plan in plans}
    measure(
        plans,
        backend,
        repeats=1,
        warmup=0,
        seed=0,
        once=False,
        on_trace=lambda trace: traces[trace.case].append(trace),
    )
    floors = backend.environment().floors
    found = [
        (plan, traces[plan.case], find(plan, traces[plan.case], floors=floors)) for plan in plans
    ]
    return evaluate(
        scenario,
        [
            (plan, next((trace for trace in of_case if trace.steps is not None), None), result)
            for plan, of_case, result in found
        ],
    )


def unmet(results: Sequence[CaseResult]) -> list[str]:
    return [
        f"{result.case.key}: {one.claim}; found {one.found}"
        for result in results
        for one in result.expectations
        if not one.is_met
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_meets_its_expectations(file: Path) -> None:
    """Every expectation of a shipped scenario is asked of some row and met by the model."""
    scenario = load(file)
    results = run(scenario, ModelBackend())
    assert unmet(results) == []
    lines = {one.line for result in results for one in result.expectations}
    for index in range(len(scenario.head.expect)):
        first = scenario.place_of("expect", index).line
        following = (
            scenario.place_of("expect", index + 1).line
            if index + 1 < len(scenario.head.expect)
            else len(scenario.text.splitlines()) + 1
        )
        assert any(first <= line < following for line in lines), f"line {first} asks no row"


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_documents_run(text: str) -> None:
    """Every example of the README and of the reference runs and shows what it says."""
    results = run(load_text(text, file="example.yaml", folder=None), ModelBackend())
    assert results
    assert unmet(results) == []
    assert {result.status for result in results} <= {Status.OK, Status.OUT_OF_MEMORY}
