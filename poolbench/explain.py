"""Everything that has a name, in a few sentences: `poolbench explain NAME`.

Pure.  A name can mean several things (`out_of_memory` is an outcome and a status); all are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poolbench.columns import COLUMNS, Unit
from poolbench.domain import COMBINATIONS, PRESETS, AttributeSet
from poolbench.errors import BadUsage
from poolbench.glossary import ATTRIBUTES, BASELINES, OUTCOMES, STATUSES, TERMS, Term
from poolbench.results.derived import DERIVED
from poolbench.results.legend import preset_text

_SHORT_NAMES = {
    "follow": "follow_event_dependencies",
    "opportunistic": "allow_opportunistic",
    "internal": "allow_internal_dependencies",
    "threshold": "release_threshold",
}
_UNITS = {
    Unit.MICROSECONDS: "microseconds",
    Unit.BYTES: "bytes",
    Unit.COUNT: "a count",
    Unit.RATIO: "a ratio",
    Unit.FLAG: "0 or 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`kind` says what sort of thing it is ("outcome", "column")."""

    name: str
    kind: str
    text: str


def explain(name: str) -> tuple[Explanation, ...]:
    """Everything of this name; raises `BadUsage` with the nearest one for a name that is none."""
    wanted = name.strip().strip("[]")
    wanted = _SHORT_NAMES.get(wanted, wanted)
    known = tuple(all_explanations())
    found = tuple(one for one in known if one.name == wanted)
    if found:
        return found
    from poolbench.plan.names import nearest

    near = nearest(wanted, dict.fromkeys(one.name for one in known))
    ask = f"; did you mean {near}?" if near else ""
    raise BadUsage(
        f"nothing is called {name[:60]}{ask}",
        hint="known: attributes, presets, baselines, outcomes, statuses, columns, step kinds, "
        "error codes; `poolbench explain` without a name lists them",
    )


def all_explanations() -> Iterator[Explanation]:
    """Everything that can be explained, kind by kind."""
    for name, term in ATTRIBUTES.items():
        yield Explanation(name=name, kind="attribute", text=_told(term))
    for row in COMBINATIONS:
        yield Explanation(name=row.name, kind="attribute set", text=_combination(row))
    for preset in PRESETS:
        yield Explanation(name=preset.name, kind="preset", text=f"{preset_text(preset)}.")
    for baseline, term in BASELINES.items():
        yield Explanation(name=baseline.value, kind="baseline", text=_told(term))
    for outcome, term in OUTCOMES.items():
        text = f"How an allocation was served: {_told(term)}"
        yield Explanation(name=outcome.value, kind="outcome", text=text)
    for status, term in STATUSES.items():
        text = f"How a run or case ended: {_told(term)}"
        yield Explanation(name=status.value, kind="status", text=text)
    for word, term in TERMS.items():
        yield Explanation(name=word, kind="term", text=_told(term))
    for column in COLUMNS:
        unit = f"  In the CSV: {_UNITS[column.unit]}." if column.unit in _UNITS else ""
        yield Explanation(name=column.key, kind="column", text=f"{column.meaning}{unit}")
    for column in DERIVED:
        yield Explanation(name=column.key, kind="column of the table only", text=column.meaning)
    yield from _language()
    yield from _probe()


def _language() -> Iterator[Explanation]:
    """Step kinds and problem codes, which come from the scenario language."""
    from poolbench.plan.codes import CODES as PLAN_CODES
    from poolbench.scenario.codes import CODES as SCENARIO_CODES
    from poolbench.scenario.step_models import STEP_MODELS

    for kind, model in STEP_MODELS.items():
        yield Explanation(name=kind, kind="step", text=first_line(model.__doc__))
    for code, text in {**SCENARIO_CODES, **PLAN_CODES}.items():
        yield Explanation(name=code, kind="error code", text=text)


def _probe() -> Iterator[Explanation]:
    """The probe's questions, each with what NVIDIA documents about it."""
    from poolbench.probe.questions import CALLS, LAYOUT, REUSE

    asked = [(one.scenario, one.title, one.chapter) for one in REUSE]
    asked += [(one.key, one.title, one.chapter) for one in CALLS]
    asked += [(one.key, one.title, one.chapter) for one in LAYOUT]
    for name, title, chapter in asked:
        text = f"{title}.  Documented ({chapter.where}): {chapter.text}"
        yield Explanation(name=f"probe/{name}", kind="question of the probe", text=text)


def first_line(doc: str | None) -> str:
    """The first paragraph of a docstring, without its marks of code."""
    return " ".join((doc or "").strip().split("\n\n")[0].replace("`", "").split())


def _told(term: Term) -> str:
    text = f"{term.short[0].upper()}{term.short[1:]}.  {term.text}"
    return f"{text}  CUDA's name: {term.api}." if term.api else text


def _combination(row: AttributeSet) -> str:
    def onoff(is_on: bool) -> str:
        return "on" if is_on else "off"

    return (
        f"follow_event_dependencies {onoff(row.follow_event_dependencies)}, "
        f"allow_opportunistic {onoff(row.allow_opportunistic)}, "
        f"allow_internal_dependencies {onoff(row.allow_internal_dependencies)}; "
        "the scenario's own release threshold."
    )
