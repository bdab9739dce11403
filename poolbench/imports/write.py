"""A built workload as a scenario: the head in YAML, the steps in a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poolbench.domain import StreamKind
from poolbench.errors import BadUsage
from poolbench.imports.builder import Built
from poolbench.imports.fidelity import Fidelity
from poolbench.results.files import write_bytes, write_text
from poolbench.scenario.workload import ENDING, BadWorkload, check, to_bytes
from poolbench.units import format_size

_ROUND = 32 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What stands at the head of the scenario beside streams and buffers.

    origin
        where the steps are from, as the end of a sentence.
    pool
        its settings, as in a scenario.
    comments
        lines at the end of the file.
    """

    origin: str
    pool: Mapping[str, Any] = field(default_factory=lambda: {"release_threshold": "max"})
    comments: tuple[str, ...] = ()


def write(folder: Path, name: str, built: Built, fidelity: Fidelity, head: Head) -> Path:
    """The scenario's path.  Raises `BadUsage` where something of that name is there already."""
    path = folder / f"{name}.yaml"
    steps = folder / f"{name}{ENDING}"
    for one in (path, steps):
        if one.exists():
            raise BadUsage(
                f"{one} is there already", hint="name another scenario with -o, or remove it"
            )
    try:
        check(built.workload)
    except BadWorkload as fault:
        raise BadUsage(f"what was read makes no workload: {fault}") from None
    write_bytes(steps, to_bytes(built.workload))
    write_text(path, _yaml(name, steps.name, built, fidelity, head))
    return path


def _yaml(name: str, steps: str, built: Built, fidelity: Fidelity, told: Head) -> str:
    import yaml

    head: dict[str, Any] = {
        "name": name,
        "question": f"What do the reuse attributes change for this program? {told.origin}.",
        "known": "; ".join(f"{kind}: {text}" for kind, text in fidelity.lines()) + ".",
        "pool": dict(told.pool),
        "streams": {
            stream: None if kind is StreamKind.NON_BLOCKING else {"kind": kind.value}
            for stream, kind in zip(built.workload.streams, built.kinds, strict=True)
        },
    }
    if built.buffers:
        head["buffers"] = {
            buffer: {"size": format_size(size), "memory": memory.value}
            for buffer, size, memory in built.buffers
        }
    head["recorded"] = {"steps": steps, "host": "keep"}
    text: str = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=100)
    limit = -(-built.largest // _ROUND) * _ROUND
    comments = "".join(f"# {line}\n" for line in told.comments)
    return (
        f"{text}"
        "# At most this much is live at once; try less, or more:\n"
        f"# axes: {{pool.max_size: [none, {format_size(limit)}]}}\n"
        f"{comments}"
    )
