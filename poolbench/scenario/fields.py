"""Validation of one mapping by its model, with every fault at its own place.

Pure.  pydantic says where a fault is in terms of the model, union tags included; here that becomes
a path that the file has.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from poolbench.errors import Note, Place, Problem
from poolbench.scenario.scenario import Path
from poolbench.scenario.source import Source

M = TypeVar("M", bound=BaseModel)

_CODES = {
    "extra_forbidden": "unknown-key",
    "missing": "missing-key",
    "enum": "bad-choice",
    "literal_error": "bad-choice",
    "string_pattern_mismatch": "bad-name",
    "string_too_long": "bad-name",
    "greater_than_equal": "out-of-range",
    "less_than_equal": "out-of-range",
}
"""pydantic's error types that have a code of their own; every other one is `wrong-type`."""


@dataclass(slots=True)
class Faults:
    """Collects the problems of one file."""

    file: str
    source: Source
    problems: list[Problem]

    def place(self, path: Path) -> Place:
        """Of a value, or of the nearest part of the path that the file holds."""
        while path and path not in self.source.places:
            path = path[:-1]
        return self.source.places.get(path, Place(line=1, column=1))

    def add(self, path: Path, message: str, code: str, notes: tuple[Note, ...] = ()) -> None:
        self._add(self.place(path), message, code, notes)

    def add_key(self, path: Path, message: str, code: str) -> None:
        """At the key itself instead of its value."""
        self._add(self.source.key_places.get(path) or self.place(path), message, code, ())

    def add_at(self, place: Place, message: str, code: str) -> None:
        self._add(place, message, code, ())

    def _add(self, place: Place, message: str, code: str, notes: tuple[Note, ...]) -> None:
        self.problems.append(
            Problem(file=self.file, place=place, message=message, code=code, notes=notes)
        )

    def suggestion(self, name: str, known: Iterable[str]) -> str:
        """`; did you mean x?`, or the known names where they are few."""
        names = list(known)
        near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.55)
        if near:
            return f"; did you mean {near[0]}?"
        return f"; known: {', '.join(names)}" if 1 <= len(names) <= 12 else ""


def validate(
    model: type[M],
    raw: Mapping[str, Any],
    path: Path,
    faults: Faults,
    *,
    extra_keys: tuple[str, ...] = (),
) -> M | None:
    """The model, or `None` with every fault noted.  `extra_keys` are known keys that are handled
    elsewhere: they are suggested, not accepted."""
    try:
        return model.model_validate(raw)
    except ValidationError as fault:
        noted: set[tuple[Path, str]] = set()
        for error in fault.errors(include_url=False):
            where = _path_in_file(error["loc"], raw)
            code = _CODES.get(error["type"]) or _own_code(error)
            if (where, code) in noted or _has_deeper(where, noted):
                continue
            noted.add((where, code))
            _note(model, error, code, path, where, raw, faults, extra_keys)
        return None


def _own_code(error: ErrorDetails) -> str:
    """Types of our own validators are codes already; pydantic's use underscores."""
    kind = str(error["type"])
    return kind if "-" in kind else "wrong-type"


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


def _has_deeper(where: Path, noted: set[tuple[Path, str]]) -> bool:
    """Another member of the same union has found a fault further in."""
    return any(len(path) > len(where) and path[: len(where)] == where for path, _ in noted) and (
        len(where) > 0
    )


def _note(
    model: type[BaseModel],
    error: ErrorDetails,
    code: str,
    path: Path,
    where: Path,
    raw: Mapping[str, Any],
    faults: Faults,
    extra_keys: tuple[str, ...],
) -> None:
    loc = error["loc"]
    if code == "unknown-key":
        key = str(loc[-1])
        known = [*_keys_beside(model, where), *(extra_keys if len(where) == 1 else ())]
        message = f"unknown key {key[:40]!r}{faults.suggestion(key, known)}"
        faults.add_key((*path, *where), message, code)
    elif code == "missing-key":
        faults.add((*path, *where), f"the key `{loc[-1]}` is missing", code)
    elif code == "bad-choice":
        faults.add((*path, *where), _choice(error, _at(raw, where), faults), code)
    else:
        faults.add((*path, *where), _message(error), code)


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


def _choice(error: ErrorDetails, value: Any, faults: Faults) -> str:
    expected = str(error.get("ctx", {}).get("expected", ""))
    known = [word.strip("' ") for word in expected.replace(" or ", ",").split(",") if word.strip()]
    hint = faults.suggestion(str(value), known)
    suffix = "" if hint.startswith("; known") else f"; known: {', '.join(known)}"
    return f"{str(value)[:40]!r} is not one of the choices{hint}{suffix}"


_WORDS = {
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "tuple_type": "expected a list",
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "is_instance_of": "expected a reference such as $name",
}


def _message(error: ErrorDetails) -> str:
    kind = str(error["type"])
    if kind in _WORDS:
        return _WORDS[kind]
    message = error["msg"]
    return message[0].lower() + message[1:] if message[:2] != message[:2].upper() else message
