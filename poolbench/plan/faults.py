"""Collects the faults of one scenario: each once, however many passes of a loop repeat it.

`Faults` is the one growing thing of planning; it lives for one expansion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from poolbench.errors import Note, Place, Problem

MAX_PROBLEMS = 100
"""Problems reported for one file at most."""

Key = tuple[Place, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A problem before it knows its file.

    `written` is the name as the file has it (`x$i`): together with place and code it tells two
    faults of one step apart, and passes of one loop not.  `n_passes` counts those passes.
    """

    place: Place
    code: str
    message: str
    written: str = ""
    notes: tuple[Note, ...] = ()
    is_warning: bool = False
    n_passes: int = 1

    @property
    def key(self) -> Key:
        return (self.place, self.code, self.written)

    def problem(self, file: str, *, only_with: str = "") -> Problem:
        """The problem; `only_with` names the axis values without which it does not occur."""
        more = self.n_passes - 1
        repeated = f" (and {more} more like it)" if more else ""
        condition = f" (with {only_with})" if only_with else ""
        return Problem(
            file=file,
            place=self.place,
            message=f"{self.message}{repeated}{condition}",
            code=self.code,
            notes=self.notes,
            is_warning=self.is_warning,
        )


@dataclass(slots=True)
class Faults:
    """Faults in the order of their first occurrence."""

    _by_key: dict[Key, Fault] = field(default_factory=dict)
    _n_passes: dict[Key, int] = field(default_factory=dict)

    def add(self, fault: Fault) -> None:
        key = fault.key
        self._by_key.setdefault(key, fault)
        self._n_passes[key] = self._n_passes.get(key, 0) + fault.n_passes

    def error(
        self,
        place: Place,
        code: str,
        message: str | Callable[[], str],
        *,
        written: str = "",
        notes: tuple[Note, ...] = (),
    ) -> None:
        """Adds an error; a message that costs something to make is made only the first time."""
        key = (place, code, written)
        if key in self._by_key:
            self._n_passes[key] += 1
            return
        text = message if isinstance(message, str) else message()
        self.add(Fault(place=place, code=code, message=text, written=written, notes=notes))

    def extend(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self.add(fault)

    @property
    def all(self) -> tuple[Fault, ...]:
        return tuple(
            fault
            if fault.n_passes == self._n_passes[key]
            else replace(fault, n_passes=self._n_passes[key])
            for key, fault in self._by_key.items()
        )


def bounded(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted, errors kept before warnings where there are more than a reader can use."""
    ordered = sorted(problems, key=lambda problem: problem.sort_key)
    errors = [problem for problem in ordered if not problem.is_warning][:MAX_PROBLEMS]
    warnings = [problem for problem in ordered if problem.is_warning]
    kept = errors + warnings[: MAX_PROBLEMS - len(errors)]
    return tuple(sorted(kept, key=lambda problem: problem.sort_key))
