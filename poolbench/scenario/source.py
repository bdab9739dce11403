"""YAML text to plain values and the place of each of them.

Pure.  PyYAML delivers events; nothing of it resolves or constructs.  Scalars are typed by the YAML
1.2 core schema (`scalars`), duplicate keys are refused, and what aliases and nesting can blow up is
bounded.  Every fault is a `Problem`; nothing that a text holds raises anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from poolbench.errors import Note, Place, Problem
from poolbench.scenario.scalars import CORE_TAG, ScalarError, plain_scalar, tagged_scalar
from poolbench.scenario.scenario import Path
from poolbench.scenario.syntax import place_at, syntax_problem

MAX_SIZE = 2**20
TOO_LARGE = "the file has more than 1 MiB of text"
MAX_DEPTH = 40
MAX_ALIAS_VALUES = 100_000
"""Values that aliases may add to those that the file itself has."""
MAX_PROBLEMS = 200

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

_BAD_IN_ASCII = re.compile("[^\t\n\r\x20-\x7e]")
_BAD_CHARACTER = (
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""All but YAML's printable characters, less the byte order mark and those that only some programs
take for line breaks (U+0085, U+2028, U+2029).  Compiling it takes longer than most files, which
have none but ASCII."""

_LONG_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\U(?!00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})", re.ASCII)
"""PyYAML's own parser does not expect an escape beyond Unicode; libyaml does."""

_START = Place(line=1, column=1)


@dataclass(slots=True)
class Source:
    """What a text holds: `places` of values and `key_places` of mapping keys, both by path.

    `written` has the text of numbers as the file writes them.  Where a value has a problem, `value`
    has `None` in its place, so that the rest can still be looked at.  `is_whole` is unset where
    reading had to stop.
    """

    value: Any = None
    places: dict[Path, Place] = field(default_factory=dict)
    key_places: dict[Path, Place] = field(default_factory=dict)
    written: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    is_whole: bool = True


def parse(text: str, *, file: str) -> Source:
    """Never raises; look at `problems` before using `value`."""
    builder = _Builder(file)
    try:
        _build(text.removeprefix("\ufeff"), builder)
    except _Stop:
        return Source(problems=builder.problems, is_whole=False)
    source = Source(problems=builder.problems)
    if builder.root is not None:
        source.value = builder.root.value
        _spread(builder.root, (), source)
    return source


def _build(text: str, builder: _Builder) -> None:
    if len(text) > MAX_SIZE:
        builder.stop(_START, TOO_LARGE, "too-large")
    bad = _BAD_IN_ASCII.search(text) if text.isascii() else re.search(_BAD_CHARACTER, text)
    if bad is not None:
        message = f"the character U+{ord(bad[0]):04X} may not stand in a scenario"
        builder.stop(place_at(text, bad.start()), message, "bad-character")
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as fault:
        builder.problems.append(syntax_problem(fault, text, builder.file))
        raise _Stop from None
    except (ValueError, OverflowError):
        found = _LONG_ESCAPE.search(text)
        place = place_at(text, found.start()) if found is not None else _START
        builder.stop(place, "this escape is no Unicode character", "yaml-syntax")
    if builder.root is None:
        builder.stop(_START, "the file is empty; a scenario needs `steps`", "empty")


def _spread(node: _Node, path: Path, source: Source) -> None:
    """Fills the maps of a source; the depth is bounded by `MAX_DEPTH`."""
    source.places[path] = node.place
    if node.written:
        source.written[path] = node.written
    for name, place in node.key_places.items():
        source.key_places[(*path, name)] = place
    for key, item in node.items.items():
        _spread(item, (*path, key), source)


class _Stop(Exception):
    """Reading cannot go on; the problem has been noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A value with what is inside it.  Aliases share their items with the anchor."""

    place: Place
    value: Any
    written: str = ""
    items: Mapping[str | int, _Node] = field(default_factory=dict)
    key_places: Mapping[str, Place] = field(default_factory=dict)
    n_values: int = 1
    height: int = 1


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    place: Place
    anchor: str | None
    is_mapping: bool
    is_refused: bool
    items: dict[str | int, _Node] = field(default_factory=dict)
    key_places: dict[str, Place] = field(default_factory=dict)
    expects_key: bool = True
    key: str | None = None
    """The key whose value comes next; `None` where the key was refused."""
    n_values: int = 1
    height: int = 1


class _Builder:
    """Builds the tree from the events, with a stack of its own instead of recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.root: _Node | None = None
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Node] = {}
        self._n_alias_values = 0
        self._n_documents = 0

    def stop(self, place: Place, message: str, code: str) -> None:
        """Raises `_Stop`."""
        self._fault(place, message, code)
        raise _Stop

    def take(self, event: Any) -> None:
        place = Place(line=event.start_mark.line + 1, column=event.start_mark.column + 1)
        match event:
            case yaml.ScalarEvent():
                self._scalar(event, place)
            case yaml.AliasEvent():
                self._alias(str(event.anchor), place)
            case yaml.MappingStartEvent():
                self._open(event, place, is_mapping=True)
            case yaml.SequenceStartEvent():
                self._open(event, place, is_mapping=False)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case yaml.DocumentStartEvent():
                self._n_documents += 1
                if self._n_documents > 1:
                    message = "a second document starts here; a scenario is one document"
                    self.stop(place, message, "several-documents")

    def _fault(self, place: Place, message: str, code: str, *notes: Note) -> None:
        self.problems.append(
            Problem(file=self.file, place=place, message=message, code=code, notes=notes)
        )
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop

    def _scalar(self, event: Any, place: Place) -> None:
        text: str = event.value
        is_plain = not event.style
        value: Any = None
        try:
            if event.tag is not None:
                value = tagged_scalar(text, str(event.tag), is_plain=is_plain)
            else:
                value = plain_scalar(text) if is_plain else text
        except ScalarError as fault:
            self._fault(place, str(fault), fault.code)
        if isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value):
            self._fault(place, "half a surrogate pair is no character", "bad-character")
            value = None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        node = _Node(place=place, value=value, written=text if is_number else "")
        self._deliver(node, event.anchor)

    def _alias(self, name: str, place: Place) -> None:
        target = self._anchors.get(name)
        if any(frame.anchor == name for frame in self._stack):
            message = f"the alias *{name[:40]} stands inside of what it stands for"
            self._fault(place, message, "self-alias")
            target = None
        elif target is None:
            self._fault(
                place,
                f"the alias *{name[:40]} has no anchor &{name[:40]} before it",
                "unknown-alias",
            )
        if target is None:
            self._deliver(_Node(place=place, value=None), None)
            return
        self._n_alias_values += target.n_values
        if self._n_alias_values > MAX_ALIAS_VALUES:
            message = f"aliases add more than {MAX_ALIAS_VALUES:,} values to the file"
            self.stop(place, message, "too-many-values")
        self._check_depth(len(self._stack) + target.height, place)
        node = _Node(
            place=place,
            value=target.value,
            written=target.written,
            items=target.items,
            key_places=target.key_places,
            n_values=target.n_values,
            height=target.height,
        )
        self._deliver(node, None)

    def _check_depth(self, depth: int, place: Place) -> None:
        if depth > MAX_DEPTH:
            message = f"mappings and lists are nested more than {MAX_DEPTH} deep here"
            self.stop(place, message, "too-deep")

    def _open(self, event: Any, place: Place, *, is_mapping: bool) -> None:
        self._check_depth(len(self._stack) + 1, place)
        tag = event.tag
        is_refused = tag not in (None, "!", CORE_TAG + ("map" if is_mapping else "seq"))
        if is_refused:
            message = f"the tag {tag.removeprefix(CORE_TAG)[:40]!r} has no meaning here"
            self._fault(place, message, "bad-tag")
        self._stack.append(
            _Open(place=place, anchor=event.anchor, is_mapping=is_mapping, is_refused=is_refused)
        )

    def _close(self) -> None:
        frame = self._stack.pop()
        value: Any = [node.value for node in frame.items.values()]
        if frame.is_mapping:
            value = {key: node.value for key, node in frame.items.items()}
        node = _Node(
            place=frame.place,
            value=None if frame.is_refused else value,
            items=frame.items,
            key_places=frame.key_places,
            n_values=frame.n_values,
            height=frame.height,
        )
        self._deliver(node, frame.anchor)

    def _deliver(self, node: _Node, anchor: str | None) -> None:
        """Puts a finished value where it belongs."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.n_values += node.n_values
        frame.height = max(frame.height, node.height + 1)
        if not frame.is_mapping:
            frame.items[len(frame.items)] = node
        elif frame.expects_key:
            frame.key = self._key(node, frame.key_places)
            frame.expects_key = False
        else:
            frame.expects_key = True
            if frame.key is not None:
                frame.items[frame.key] = _at_key(node, frame.key_places[frame.key])

    def _key(self, node: _Node, key_places: dict[str, Place]) -> str | None:
        """Keys are text; a number is taken as it is written, so that `0: ...` can be a name."""
        key = node.value if isinstance(node.value, str) else node.written
        if not key:
            is_told = self.problems and self.problems[-1].place == node.place
            if not is_told:
                is_empty = node.value == ""
                message = "a key cannot be empty" if is_empty else "a key is text; put it in quotes"
                self._fault(node.place, message, "bad-key")
            return None
        if key == "<<":
            self._fault(
                node.place,
                "merge keys (<<) are not part of YAML 1.2; write the keys out",
                "bad-key",
            )
            return None
        first = key_places.get(key)
        if first is not None:
            message = f"the key {key[:40]!r} is here twice"
            note = Note(place=first, message="first here")
            self._fault(node.place, message, "duplicate-key", note)
            return None
        key_places[key] = node.place
        return key


def _at_key(node: _Node, key_place: Place) -> _Node:
    """For the parser an empty value stands where the next token is; for a reader, at its key."""
    if node.value is None and not node.items:
        return _Node(place=_later(node.place, key_place), value=None)
    return node


def _later(place: Place, key_place: Place) -> Place:
    return place if place.line == key_place.line else key_place
