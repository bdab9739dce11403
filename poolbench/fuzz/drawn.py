"""A random scenario as plain data, its YAML text and its plan.

Pure.  Nothing here is random; `generate` draws.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from poolbench.domain import COMBINATIONS, AttributeSet, Case, StreamKind
from poolbench.errors import BadInput
from poolbench.plan.build import build_plan
from poolbench.plan.check import check
from poolbench.plan.plan import Plan
from poolbench.scenario.load import load_text

Scalar = str | int
StepData = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One scenario and the row that it is run as.

    `bits` names the row (`000` to `111`).  `head` holds the settings as in a file, `pool` and
    `device` apart; `streams` the kind of each stream.
    """

    name: str
    bits: str
    head: Mapping[str, Scalar]
    pool: Mapping[str, Scalar]
    device: Mapping[str, Scalar]
    streams: Mapping[str, str]
    steps: tuple[StepData, ...]

    @property
    def row(self) -> AttributeSet:
        return row_of(self.bits)

    @property
    def has_legacy(self) -> bool:
        return StreamKind.LEGACY_DEFAULT.value in self.streams.values()

    @property
    def text(self) -> str:
        """The scenario file."""
        lines = [f"name: {self.name}"]
        lines += [f"{key}: {value}" for key, value in self.head.items()]
        for key, settings in (("pool", self.pool), ("device", self.device)):
            if settings:
                lines.append(f"{key}: {_flow(settings)}")
        lines.append("streams:")
        lines += [f"  {name}: {{kind: {kind}}}" for name, kind in self.streams.items()]
        lines.append("steps:")
        lines += [f"  - {_flow(step)}" for step in self.steps]
        return "\n".join(lines) + "\n"

    @property
    def plan(self) -> Plan:
        return plan_of(self.text, self.bits)


def row_of(bits: str) -> AttributeSet:
    return COMBINATIONS[int(bits, 2)]


def plan_of(text: str, bits: str) -> Plan:
    """The plan of a scenario file as one row.  Raises `BadInput` if the file has a fault."""
    scenario = load_text(text, file="fuzz.yaml", folder=None)
    faults = tuple(problem for problem in check(scenario) if not problem.is_warning)
    if faults:
        raise BadInput(faults, {"fuzz.yaml": text})
    return build_plan(scenario, Case(scenario=scenario.name, row=row_of(bits)))


def _flow(mapping: Mapping[str, Scalar]) -> str:
    def shown(value: Scalar) -> str:
        plain = isinstance(value, int) or value.replace("_", "").isalnum()
        return str(value) if plain else json.dumps(value)

    return "{" + ", ".join(f"{key}: {shown(value)}" for key, value in mapping.items()) + "}"
