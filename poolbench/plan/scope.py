"""What `$name` means at one point of a scenario, and reading values through it.

Bindings are texts: a parameter, an axis value or a loop index is parsed by the reader of the place
where it is used, and a text that cannot be read there is a fault at that place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from pydantic_core import PydanticCustomError

from poolbench.errors import Place
from poolbench.plan.faults import Faults
from poolbench.plan.names import suggestion
from poolbench.scenario.fieldtypes import read_count
from poolbench.scenario.values import REF, Flag, Ref

Read = Callable[[object], int]
Closed = TypeVar("Closed", bound=StrEnum)

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class Unreadable(ValueError):
    """A text that does not say what its place needs; `code` is the problem code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def read_text(text: str, read: Read) -> int:
    """`read` of a text; raises `Unreadable`."""
    raw: object = text
    if read is read_count and _WHOLE.fullmatch(text):
        raw = int(text)
    try:
        return read(raw)
    except PydanticCustomError as fault:
        raise Unreadable(fault.message(), fault.type) from None


def read_flag_text(text: str) -> bool:
    if text not in ("true", "false"):
        raise Unreadable("expected true or false", "wrong-type")
    return text == "true"


def read_enum_text(text: str, closed: type[Closed]) -> Closed:
    try:
        return closed(text)
    except ValueError:
        known = [member.value for member in closed]
        raise Unreadable(f"{text[:60]!r} is not one of {', '.join(known)}", "bad-choice") from None


@dataclass(slots=True)
class Scope:
    """Bindings, the indices of the loops around the current step, and where faults go."""

    texts: dict[str, str]
    faults: Faults
    indices: list[int] = field(default_factory=list)
    _read: dict[tuple[Read, str], int | Unreadable] = field(default_factory=dict)

    def text(self, name: str, place: Place) -> str | None:
        """The text bound to a name; a fault and `None` if there is none."""
        found = self.texts.get(name)
        if found is None:
            self.faults.error(
                place,
                "unknown-reference",
                lambda: f"${name} is not defined{suggestion(name, self.texts)}",
                written=name,
            )
        return found

    def unreadable(self, name: str, text: str, fault: Unreadable, place: Place) -> None:
        """Notes that the text bound to a name is not what its place needs."""
        self.faults.error(
            place, fault.code, lambda: f"${name} is {text[:60]}: {fault}", written=name
        )

    def number(self, value: int | Ref, place: Place, read: Read) -> int | None:
        """A size, duration or count."""
        if not isinstance(value, Ref):
            return value
        text = self.text(value.name, place)
        if text is None:
            return None
        found = self._read.get((read, text))
        if found is None:
            try:
                found = read_text(text, read)
            except Unreadable as fault:
                found = fault
            self._read[(read, text)] = found
        if isinstance(found, Unreadable):
            self.unreadable(value.name, text, found, place)
            return None
        return found

    def flag(self, value: Flag, place: Place) -> bool | None:
        if not isinstance(value, Ref):
            return value
        text = self.text(value.name, place)
        if text is None:
            return None
        try:
            return read_flag_text(text)
        except Unreadable as fault:
            self.unreadable(value.name, text, fault, place)
            return None

    def choice(self, value: Closed | Ref, closed: type[Closed], place: Place) -> Closed | None:
        """One of a closed set."""
        if not isinstance(value, Ref):
            return value
        text = self.text(value.name, place)
        if text is None:
            return None
        try:
            return read_enum_text(text, closed)
        except Unreadable as fault:
            self.unreadable(value.name, text, fault, place)
            return None

    def name(self, template: str, place: Place) -> str | None:
        """A name with every `$reference` in it replaced."""
        if "$" not in template:
            return template
        missing = False

        def replaced(match: re.Match[str]) -> str:
            nonlocal missing
            text = self.text(match[1] or match[2], place)
            missing = missing or text is None
            return text or ""

        name = REF.sub(replaced, template)
        return None if missing else name
