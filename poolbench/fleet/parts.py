"""What a sweep can be taken apart into.

Pure.  All rows of one combination of axis values stay together, on one device: their ratios are
taken block by block in time, against each other and the A/A control.  Combinations owe each other
nothing, so each of them can run anywhere.  A scenario whose expectations compare combinations with
each other stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolbench.errors import BadUsage
from poolbench.plan.plan import Plan
from poolbench.prepare import Experiment
from poolbench.scenario.scenario import Scenario

MAX_SHARDS = 10_000

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The `index`-th, from 1, of `of`."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def read_shard(text: str) -> Shard:
    """`2/8`; raises `BadUsage`."""
    found = _SHARD.fullmatch(text)
    index, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= index <= of <= MAX_SHARDS:
        raise BadUsage(
            f"--shard {text[:40]}: expected I/N with I from 1 to N",
            hint="for example --shard 2/8, the second of eight parts",
        )
    return Shard(index=index, of=of)


def is_divisible(scenario: Scenario) -> bool:
    """Whether no expectation sets one combination of axis values against another."""
    axes = scenario.head.axes
    return not any(
        axes.keys() & ratio.over.keys()
        for entry in scenario.head.expect
        for ratio in entry.ratios.values()
    )


def parts_of(experiment: Experiment) -> tuple[Experiment, ...]:
    """One for each combination of axis values, in the order of the table."""
    if not is_divisible(experiment.scenario):
        return (experiment,)
    blocks: dict[tuple[tuple[str, str], ...], list[Plan]] = {}
    for plan in experiment.plans:
        blocks.setdefault(plan.case.axes, []).append(plan)
    return tuple(replace(experiment, plans=tuple(plans)) for plans in blocks.values())


def of_shard(experiments: Sequence[Experiment], shard: Shard) -> tuple[Experiment, ...]:
    """What one shard runs: of all parts of all experiments, in order, each `of`-th.

    Every part is in exactly one shard, whatever else the shards have in common.  Experiments of
    which the shard has nothing are left out.
    """
    mine: list[Experiment] = []
    number = 0
    for experiment in experiments:
        plans: list[Plan] = []
        for part in parts_of(experiment):
            if number % shard.of == shard.index - 1:
                plans += part.plans
            number += 1
        if plans:
            mine.append(replace(experiment, plans=tuple(plans)))
    return tuple(mine)
