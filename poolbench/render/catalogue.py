"""What there is to know without a run: lists, the doctor's findings, explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from poolbench.diagnosis import Diagnosis
from poolbench.domain import COMBINATIONS, PRESETS
from poolbench.explain import Explanation, first_line
from poolbench.glossary import BASELINES, KERNELS
from poolbench.render.console import line, prose, terms
from poolbench.results.legend import preset_text
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.step_models import STEP_MODELS


def print_catalogue(
    console: Console,
    scenarios: Sequence[Scenario],
    *,
    folders: Mapping[str, Sequence[str]],
    profiles: Sequence[str],
) -> None:
    """`folders`: folder -> the names of the scenarios in it."""
    _section(
        console,
        "Scenarios (poolbench run NAME)",
        [(scenario.name, scenario.head.question) for scenario in scenarios],
    )
    _section(
        console,
        "Scenarios that commands and tests run (poolbench run FOLDER/NAME)",
        [(f"{folder}/", ", ".join(names)) for folder, names in folders.items()],
    )
    combinations = " ".join(row.name for row in COMBINATIONS)
    digits = "follow_event_dependencies, allow_opportunistic, allow_internal_dependencies"
    _section(
        console,
        "Attribute sets (--attributes)",
        [
            (combinations[:3] + " to " + combinations[-3:], f"all eight combinations of {digits}"),
            *((preset.name, preset_text(preset)) for preset in PRESETS),
            *((baseline.value, term.short) for baseline, term in BASELINES.items()),
        ],
    )
    _section(
        console,
        "Profiles of the model (--profile)",
        [(name, "as measured on such a GPU, or fitted to runs on one") for name in profiles],
    )
    _section(console, "Kernels", [(name, term.short) for name, term in KERNELS.items()])
    _section(
        console,
        "Steps",
        [(kind, first_line(model.__doc__)) for kind, model in STEP_MODELS.items()],
        is_last=True,
    )


def _section(
    console: Console, title: str, entries: Iterable[tuple[str, str]], *, is_last: bool = False
) -> None:
    line(console, Text(title, style="bold"))
    terms(console, [(f"  {term}", meaning) for term, meaning in entries], style="cyan")
    if not is_last:
        line(console)


def print_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    width = max(len(what) for what, *_ in diagnosis.facts)
    for what, found, is_ok, remedy in diagnosis.facts:
        mark = Text("✓ ", style="green") if is_ok else Text("✗ ", style="red")
        line(console, Text.assemble(mark, (what.ljust(width + 2), "bold"), found))
        if remedy:
            line(console, Text(f"  {' ' * (width + 2)}{remedy}", style="yellow"))
    line(console)
    if diagnosis.why_no_gpu is None:
        prose(console, "--backend auto measures on the GPU.")
    elif diagnosis.model_works:
        told = f"No GPU to measure on: {diagnosis.why_no_gpu}."
        prose(console, f"{told} --backend auto takes the model, which predicts.")
    else:
        prose(console, "Nothing can run here: neither the model nor a GPU works.")


def print_explanations(console: Console, found: Sequence[Explanation]) -> None:
    for index, one in enumerate(found):
        if index:
            line(console)
        line(console, Text.assemble((one.name, "bold"), f" ({one.kind})"))
        prose(console, one.text)


def print_names(console: Console, known: Sequence[Explanation]) -> None:
    for kind, group in groupby(known, key=lambda one: one.kind):
        line(console, Text(f"{kind}:", style="bold"))
        prose(console, "  " + ", ".join(one.name for one in group), indent="  ")
