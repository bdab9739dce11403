"""What a scenario expects, against what was found.

Pure.  Every claim of an `expect` entry becomes one `ExpectationResult` of every case that the
entry's `where` picks.  A case that did not run to a result fails its expectations, unless its
status is what is expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from poolbench.analysis.claims import (
    Claim,
    host_time_claim,
    metric_claim,
    outcomes_claim,
    sample_claim,
    waits_for_claim,
)
from poolbench.analysis.held import held_claim
from poolbench.analysis.quantities import metric, say
from poolbench.analysis.selection import Selector, Why, describe
from poolbench.columns import BY_KEY, Unit
from poolbench.conditions import parse_condition
from poolbench.domain import Status, row_name
from poolbench.findings import CaseResult, ExpectationResult
from poolbench.plan.plan import Plan
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.schema import ExpectModel, RatioModel
from poolbench.trace import StepTrace, Trace

Run = tuple[Plan, Trace | None, CaseResult]

_NO_RESULT = (
    Status.SKIPPED,
    Status.UNSUPPORTED,
    Status.TIMEOUT,
    Status.ERROR,
    Status.CORRUPTED,
)
"""Statuses under which nothing else that was found can be relied on."""


def evaluate(scenario: Scenario, runs: Sequence[Run]) -> tuple[CaseResult, ...]:
    """The results of the runs, in their order, with `expectations` filled in as the file has them.

    An entry that picks nothing although everything it names was part of the run is a result of the
    first case; one that is about rows, axis values or a backend left out of this run is not
    evaluated.
    """
    results = tuple(result for _, _, result in runs)
    backend = next((trace.backend for _, trace, _ in runs if trace is not None), None)
    selector = Selector(scenario=scenario, results=results, backend=backend)
    found: list[list[ExpectationResult]] = [[] for _ in runs]
    for index, entry in enumerate(scenario.head.expect):
        picked = selector.pick(entry.where)
        if not picked and runs and selector.why_none(entry.where) is Why.NOTHING:
            found[0].append(
                ExpectationResult(
                    line=scenario.place_of("expect", index, "where").line,
                    claim=f"where {describe(entry.where)}" if entry.where else "where is empty",
                    is_met=False,
                    found="picks no row",
                )
            )
        for at in picked:
            claims = _claims(entry, runs[at], selector)
            for path, claim in claims:
                found[at].append(
                    ExpectationResult(
                        line=scenario.place_of("expect", index, *path).line,
                        claim=claim.text,
                        is_met=claim.is_met,
                        found=claim.found,
                    )
                )
    return tuple(
        replace(result, expectations=tuple(sorted(claims, key=lambda claim: claim.line)))
        for result, claims in zip(results, found, strict=True)
    )


Path = tuple[str, ...]


def _claims(entry: ExpectModel, run: Run, selector: Selector) -> Iterator[tuple[Path, Claim]]:
    """Each claim with its path below the entry."""
    _, _, result = run
    told = f"{result.status}: {result.reason}" if result.reason else str(result.status)
    if entry.status is not None:
        yield ("status",), Claim(f"status is {entry.status}", result.status is entry.status, told)
    is_without_result = result.status in _NO_RESULT and result.status is not entry.status
    for path, claim in _claims_on_findings(entry, run, selector):
        yield path, Claim(claim.text, False, told) if is_without_result else claim


def _claims_on_findings(
    entry: ExpectModel, run: Run, selector: Selector
) -> Iterator[tuple[Path, Claim]]:
    plan, trace, result = run
    for key, wanted in entry.metrics.items():
        yield ("metrics", key), metric_claim(result, key, wanted)
    for key, ratio in entry.ratios.items():
        claim = _ratio_claim(result, key, ratio, selector)
        if claim is not None:
            yield ("ratios", key), claim
    if trace is not None and trace.steps is not None:
        yield from _claims_on_steps(entry, plan, trace, trace.steps)
        return
    for group in ("outcomes", "waits_for", "held", "samples", "host_time"):
        for name in getattr(entry, group):
            yield (group, name), Claim(f"{group} of {name}", False, "there is no traced run")


def _claims_on_steps(
    entry: ExpectModel, plan: Plan, trace: Trace, steps: StepTrace
) -> Iterator[tuple[Path, Claim]]:
    for pattern, outcomes in entry.outcomes.items():
        yield ("outcomes", pattern), outcomes_claim(plan, steps, pattern, outcomes)
    for pattern, stream in entry.waits_for.items():
        yield ("waits_for", pattern), waits_for_claim(plan, steps, pattern, stream)
    for label, held in entry.held.items():
        yield ("held", label), held_claim(plan, trace, steps, label, held)
    for name, columns in entry.samples.items():
        for column, wanted in columns.items():
            yield ("samples", name, column), sample_claim(plan, steps, name, column, wanted)
    for label, condition in entry.host_time.items():
        yield ("host_time", label), host_time_claim(plan, steps, label, condition)


def _ratio_claim(own: CaseResult, key: str, ratio: RatioModel, selector: Selector) -> Claim | None:
    """`None` where the rows that it is to be compared with were left out of this run."""
    text = f"{key} over {describe(ratio.over)} in {ratio.value}"
    others = selector.pick_others(ratio.over, own)
    if not others:
        is_fault = selector.why_none(ratio.over) is Why.NOTHING
        return Claim(text, False, "picks no row to compare with") if is_fault else None
    condition = parse_condition(ratio.value, Unit.RATIO)
    value = metric(own, key)
    if value is None:
        return Claim(text, False, f"no value ({own.status})")
    found = []
    is_met = True
    for index in others:
        other = selector.results[index]
        name, base = row_name(other.case.row), metric(other, key)
        if not base:
            is_met = False
            told = f"no value ({other.status})" if base is None else "0"
            found.append(f"{name} has {told}")
            continue
        is_met = is_met and condition.holds(value / base)
        unit = BY_KEY[key].unit
        found.append(f"{value / base:.3g} over {name} ({say(value, unit)} / {say(base, unit)})")
    return Claim(text, is_met, ", ".join(found))
