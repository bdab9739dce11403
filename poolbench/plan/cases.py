"""Which cases a run consists of: axis values x rows, in the order of the table.

Pure.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from poolbench.domain import COMBINATIONS, PRESETS, Baseline, Case, Row, row_name
from poolbench.errors import BadInput, BadUsage, Problem
from poolbench.plan.names import suggestion, text_of
from poolbench.scenario.scenario import Scenario

MAX_CASES = 4096

DEFAULT_ROWS: tuple[Row, ...] = (Baseline.PREALLOCATED, Baseline.CUDAMALLOC, *COMBINATIONS)
"""The rows of a table unless `--attributes` says otherwise."""

_DIGITS = re.compile(r"[01xX]{3}", re.ASCII)
_GROUPS: dict[str, tuple[Row, ...]] = {"all": COMBINATIONS, "presets": PRESETS}
_NAMED: dict[str, Row] = {row_name(row): row for row in (*COMBINATIONS, *PRESETS, *Baseline)}

Axes = tuple[tuple[str, str], ...]


def _rows_of(word: str) -> tuple[Row, ...]:
    if word in _GROUPS:
        return _GROUPS[word]
    if word in _NAMED:
        return (_NAMED[word],)
    if _DIGITS.fullmatch(word):
        pattern = word.lower()
        return tuple(
            row
            for row in COMBINATIONS
            if all(want in ("x", bit) for want, bit in zip(pattern, row.bits, strict=True))
        )
    known = [*_GROUPS, *_NAMED]
    raise BadUsage(
        f"--attributes {word[:60]}: there is no such row{suggestion(word, known)}",
        hint="three digits (follow, opportunistic, internal; x for both), a preset, a baseline "
        "(preallocated, cudamalloc), all, or presets",
    )


def select_rows(texts: Sequence[str]) -> tuple[Row, ...]:
    """Rows that `--attributes` asks for, each once, in the order asked for.

    A text holds names separated by commas: digits such as `101` or `1x0`, presets, baselines, `all`
    (the eight combinations), `presets`.  No text at all gives `DEFAULT_ROWS`.  Raises `BadUsage`.
    """
    if not texts:
        return DEFAULT_ROWS
    words = [word.strip() for text in texts for word in text.split(",")]
    rows = [row for word in words if word for row in _rows_of(word)]
    if not rows:
        raise BadUsage("--attributes names no row", hint="for example --attributes 111,110")
    return tuple(dict.fromkeys(rows))


def axis_combinations(scenario: Scenario) -> tuple[Axes, ...]:
    """Every combination of the axis values, the first axis slowest; one empty one without axes.

    Raises `BadInput` for an axis without values or with a value twice, `BadUsage` where there are
    more than `MAX_CASES`.
    """
    axes = {name: tuple(map(text_of, values)) for name, values in scenario.head.axes.items()}
    problems = []
    for name, texts in axes.items():
        message = ""
        if not texts:
            message = f"axis {name} has no values"
        elif len(set(texts)) < len(texts):
            double = next(text for text in texts if texts.count(text) > 1)
            message = f"axis {name} has the value {double} twice"
        if message:
            problems.append(
                Problem(
                    file=scenario.file,
                    place=scenario.place_of("axes", name),
                    message=message,
                    code="bad-axis",
                )
            )
    if problems:
        raise BadInput(tuple(problems), {scenario.file: scenario.text})
    n_combinations = math.prod(len(texts) for texts in axes.values())
    if n_combinations > MAX_CASES:
        raise BadUsage(
            f"the axes of {scenario.name} make {n_combinations} combinations; "
            f"at most {MAX_CASES} cases can run",
            hint="fix some axes with --set NAME=VALUE",
        )
    return tuple(
        tuple(zip(axes, texts, strict=True)) for texts in itertools.product(*axes.values())
    )


def cases(scenario: Scenario, rows: Sequence[Row]) -> tuple[Case, ...]:
    """Axis values x rows, block by block as the table shows them.

    Raises `BadUsage` where there are more than `MAX_CASES`.
    """
    combinations = axis_combinations(scenario)
    n_cases = len(combinations) * len(rows)
    if n_cases > MAX_CASES:
        raise BadUsage(
            f"{scenario.name} has {n_cases} cases ({len(combinations)} axis combinations x "
            f"{len(rows)} rows); at most {MAX_CASES} can run",
            hint="fix some axes with --set NAME=VALUE, or name fewer rows with --attributes",
        )
    return tuple(
        Case(scenario=scenario.name, row=row, axes=axes) for axes in combinations for row in rows
    )
