"""Values of a scenario that are not known until a case is planned.

Pure.  `Ref` stands for a parameter or loop index (`$busy`), `Draw` for a value taken from a list or
a range by the scenario's seeded generator.  Sizes are bytes, durations nanoseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

REF = re.compile(r"\$(?:\{([a-z_][a-z0-9_]*)\}|([a-z_][a-z0-9_]*))", re.ASCII)
"""`$name` or `${name}`; inside a name, as in `x$i` or `e$i.$k`, it is replaced as text."""

NAME_TEMPLATE = re.compile(
    r"(?:[A-Za-z0-9_.-]|\$\{[a-z_][a-z0-9_]*\}|\$[a-z_][a-z0-9_]*)+", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A whole value given by a parameter or loop index; its text is parsed where it is used."""

    name: str


class DrawKind(StrEnum):
    UNIFORM = "uniform"
    """Any whole number from the first item to the second, both included."""
    LOG_UNIFORM = "log_uniform"
    """Like `uniform`, but every octave is as likely as any other."""
    CHOICE = "choice"
    """One of the items."""
    CYCLE = "cycle"
    """The items in turn, by the index of the innermost loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    kind: DrawKind
    items: tuple[int, ...]


Value = int | Ref | Draw
"""A size, a duration or a count of a step."""

Flag = bool | Ref
