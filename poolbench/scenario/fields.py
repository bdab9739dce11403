"""Validation of one mapping by its model, with every fault at its own place.

Pure.  pydantic says where a fault is in terms of the model, union tags included; here that becomes
a path that the file has, and what all members of a union say of one value becomes one problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from poolbench.errors import Note, Place, Problem
from poolbench.scenario.nearest import near
from poolbench.scenario.scenario import Path
from poolbench.scenario.source import Source
from poolbench.scenario.wording import choices, describe, shown

M = TypeVar("M", bound=BaseModel)

MAX_SUGGESTIONS = 100
"""After so many problems the nearest name is not worth its time."""


@dataclass(slots=True)
class Faults:
    """Collects the problems of one file."""

    file: str
    source: Source
    problems: list[Problem]
    told: frozenset[Place] = frozenset()
    """Where reading the text found a fault: the value there is `None` and no fault of its own."""

    def place(self, path: Path) -> Place:
        """Of a value, or of the nearest part of the path that the file holds."""
        while path and path not in self.source.places:
            path = path[:-1]
        return self.source.places.get(path, Place(line=1, column=1))

    def add(self, path: Path, message: str, code: str, notes: tuple[Note, ...] = ()) -> None:
        self._add(self.place(path), message, code, notes)

    def add_key(self, path: Path, message: str, code: str, notes: tuple[Note, ...] = ()) -> None:
        """At the key itself instead of its value."""
        self._add(self.source.key_places.get(path) or self.place(path), message, code, notes)

    def add_at(self, place: Place, message: str, code: str) -> None:
        self._add(place, message, code, ())

    def _add(self, place: Place, message: str, code: str, notes: tuple[Note, ...]) -> None:
        if place in self.told:
            return
        self.problems.append(
            Problem(file=self.file, place=place, message=message, code=code, notes=notes)
        )

    @property
    def is_flooded(self) -> bool:
        """Whether there are more problems than are shown."""
        return len(self.problems) > MAX_SUGGESTIONS

    def suggestion(self, name: str, known: Iterable[str]) -> str:
        """`; did you mean x?`, or the known names where they are few."""
        if self.is_flooded:
            return ""
        names = list(known)
        found = near(name, names)
        if found is not None:
            return f"; did you mean {found}?"
        return f"; known: {', '.join(names)}" if 1 <= len(names) <= 12 else ""


def validate(
    model: type[M],
    raw: Mapping[str, Any],
    path: Path,
    faults: Faults,
    *,
    extra_keys: tuple[str, ...] = (),
) -> M | frozenset[Path]:
    """The model, or every fault noted and the paths inside of `raw` where they are.

    `extra_keys` are known keys that are handled elsewhere: they are suggested, not accepted.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as fault:
        errors = fault.errors(include_url=False)
    values: dict[Path, list[ErrorDetails]] = {}
    wrong: set[Path] = set()
    missing: list[tuple[Path, str]] = []
    misspelt: set[tuple[Path, str]] = set()
    for error in errors:
        where = _path_in_file(error["loc"], raw)
        wrong.add(where)
        if error["type"] == "missing":
            missing.append((where, str(error["loc"][-1])))
        elif error["type"] == "extra_forbidden" or error["loc"][-1] == "[key]":
            known = [*_keys_beside(model, where), *(extra_keys if len(where) == 1 else ())]
            if error["loc"][-1] == "[key]":
                known = choices(error)
            message = f"unknown key {shown(where[-1])}{faults.suggestion(str(where[-1]), known)}"
            faults.add_key((*path, *where), message, "unknown-key")
            if not faults.is_flooded:
                misspelt.add((where[:-1], near(str(where[-1]), known) or ""))
        else:
            values.setdefault(where, []).append(error)
    for where, key in missing:
        if (where, key) not in misspelt:
            faults.add((*path, *where), f"the key `{key}` is missing", "missing-key")
    # where another member of the same union has found a fault further in, that one is told
    with_deeper = {where[:end] for where in values for end in range(1, len(where))}
    for where, found in values.items():
        if where not in with_deeper:
            for within, message, code in describe(found, _at(raw, where)):
                faults.add((*path, *where, *within), message, code)
    return frozenset(wrong)


def wrong_paths(fault: ValidationError, raw: Any) -> frozenset[Path]:
    """Where a value has faults, as paths inside of it."""
    errors = fault.errors(include_url=False, include_context=False, include_input=False)
    return frozenset(_path_in_file(error["loc"], raw) for error in errors)


def _path_in_file(loc: tuple[int | str, ...], raw: Any) -> Path:
    """`loc` without what is not in the file: names of union members and of fields left out."""
    path: list[int | str] = []
    here: Any = raw
    for part in loc:
        is_key = isinstance(here, dict) and part in here
        is_index = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if is_key or is_index:
            path.append(part)
            here = here[part]
    return tuple(path)


def _keys_beside(model: type[BaseModel], where: Path) -> list[str]:
    """The keys that the mapping around the last part of `where` may have."""
    current: type[BaseModel] | None = model
    for part in where[:-1]:
        if current is None:
            return []
        field = current.model_fields.get(str(part))
        if field is None:  # a name or an index inside a field: the model stays
            continue
        current = _model_in(field.annotation)
    return list(current.model_fields) if current is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation such as `dict[str, StreamModel | None]` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None


def _at(raw: Any, where: Path) -> Any:
    for part in where:
        raw = raw[part]
    return raw
