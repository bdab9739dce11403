"""A plan as JSON, for programs that replay it; the format is described in `docs/plan-format.md`.

Pure.  Indices, bytes and nanoseconds, as in the plan.  What depends on the device (how many blocks
a share of it is, how many rounds of `compute`) is left to the replayer.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from poolbench import __version__
from poolbench.domain import AttributeSet, row_name
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Launch, Step, Work

FORMAT = "poolbench-plan"
VERSION = 1
"""1: the first."""

_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z0-9])")


def to_json(plan: Plan, module: str) -> str:
    """`module` is the CUDA C of the built-in kernels.  A step a line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "poolbench": __version__,
        "case": {
            "scenario": plan.case.scenario,
            "row": row_name(plan.case.row),
            "axes": dict(plan.case.axes),
        },
        "pool": _pool(plan),
        "n_iterations": plan.n_iterations,
        "on_oom": plan.on_oom,
        "issue": plan.issue,
        "pace_ns": plan.pace_ns,
        "latch_limit_ns": plan.latch_limit_ns,
        "leave_free": plan.leave_free,
        "streams": _value(plan.streams),
        "events": plan.events,
        "buffers": [
            {**_value(spec), "slot": plan.slot_of[index] if plan.slots else -1}
            for index, spec in enumerate(plan.buffers)
        ],
        "slots": plan.slots,
        "module": module,
        "kernels": _value(plan.kernels),
        "graphs": [
            {**_value(graph), "nodes": [_step(node) for node in graph.nodes]}
            for graph in plan.graphs
        ],
    }
    opening = json.dumps(head, indent=1, ensure_ascii=False)[: -len("\n}")]
    steps = ",\n  ".join(json.dumps(_step(step), ensure_ascii=False) for step in plan.steps)
    return f'{opening},\n "steps": [\n  {steps}\n ]\n}}\n'


def _pool(plan: Plan) -> dict[str, Any] | None:
    """`None` for the baselines: they have no pool."""
    row = plan.case.row
    if not isinstance(row, AttributeSet):
        return None
    return {
        "max_size": plan.max_size,
        "release_threshold": plan.release_threshold,
        "prime": plan.prime,
        "reuse_follow_event_dependencies": row.follow_event_dependencies,
        "reuse_allow_opportunistic": row.allow_opportunistic,
        "reuse_allow_internal_dependencies": row.allow_internal_dependencies,
    }


def _step(step: Step) -> dict[str, Any]:
    return {"do": _name(step), **_value(step)}


def _name(thing: Step | Work) -> str:
    """`SyncStream` -> `sync_stream`."""
    return _BETWEEN_WORDS.sub("_", type(thing).__name__).lower()


def _value(thing: Any) -> Any:
    """Dataclasses as objects; a kernel's work carries its name."""
    if is_dataclass(thing):
        made = {field.name: _value(getattr(thing, field.name)) for field in fields(thing)}
        if isinstance(thing, Launch):
            made["work"] = {"of": _name(thing.work), **made["work"]}
        return made
    if isinstance(thing, Enum):
        return thing.value
    return [_value(item) for item in thing] if isinstance(thing, tuple | list) else thing
