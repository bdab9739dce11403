"""YAML text to plain values and the place of each of them.

Pure.  PyYAML composes the nodes; scalars are typed here by the YAML 1.2 core schema (`on`, `no` and
`1:30` are text, `010` is ten), duplicate keys are refused, and what aliases and nesting can blow up
is bounded.  Every fault is a `Problem`; nothing that a text holds raises anything else.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from poolbench.errors import Note, Place, Problem
from poolbench.scenario.scenario import Path

MAX_SIZE = 2**20
MAX_DEPTH = 40
MAX_NODES = 200_000
MAX_DIGITS = 100
MAX_PROBLEMS = 100

_CORE_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|", re.ASCII)
_TRUE = re.compile(r"true|True|TRUE", re.ASCII)
_FALSE = re.compile(r"false|False|FALSE", re.ASCII)
_INT = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+", re.ASCII)
_HEX = re.compile(r"0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INFINITE = re.compile(r"[-+]?(?:\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN", re.ASCII)


@dataclass(slots=True)
class Source:
    """What a text holds: `places` of values and `key_places` of mapping keys, both by path."""

    value: Any = None
    places: dict[Path, Place] = field(default_factory=dict)
    key_places: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class _Bounded(Exception):
    """A bound was exceeded; the problem has been noted."""


def parse(text: str, *, file: str) -> Source:
    """Never raises; look at `problems` before using `value`."""
    source = Source()
    if len(text) > MAX_SIZE:
        source.problems.append(_problem(file, _START, f"more than {MAX_SIZE} bytes", "too-large"))
        return source
    node = _compose(text, file, source)
    if node is None:
        return source
    reader = _Reader(file=file, source=source)
    try:
        source.value = reader.read(node, (), 0)
    except _Bounded:
        source.value = None
    return source


_START = Place(line=1, column=1)


def _problem(
    file: str, place: Place, message: str, code: str, notes: tuple[Note, ...] = ()
) -> Problem:
    return Problem(file=file, place=place, message=message, code=code, notes=notes)


def _place(mark: Any) -> Place:
    return Place(line=mark.line + 1, column=mark.column + 1)


def _too_deep(text: str) -> bool:
    """A cheap upper bound, asked before the recursive composer runs: brackets and indentation."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth = max(0, depth - 1)
    return deepest > 10 * MAX_DEPTH


def _compose(text: str, file: str, source: Source) -> yaml.Node | None:
    if text.startswith("\ufeff"):
        text = text[1:]
    if _too_deep(text):
        source.problems.append(_problem(file, _START, "nested too deep", "too-deep"))
        return None
    try:
        documents = []
        for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
            documents.append(document)
            if len(documents) > 1:
                break
    except yaml.MarkedYAMLError as fault:
        source.problems.append(_syntax_problem(file, fault))
        return None
    except yaml.reader.ReaderError as fault:
        place = _place_of_offset(text, int(fault.position))
        message = f"the character U+{_code_point(fault.character):04X} may not stand in YAML"
        source.problems.append(_problem(file, place, message, "yaml-syntax"))
        return None
    except RecursionError:
        source.problems.append(_problem(file, _START, "nested too deep", "too-deep"))
        return None
    except (ValueError, yaml.YAMLError) as fault:  # e.g. an escape beyond Unicode
        source.problems.append(_problem(file, _START, f"not YAML: {fault}", "yaml-syntax"))
        return None
    if not documents or documents[0] is None:
        source.problems.append(_problem(file, _START, "the file is empty", "empty"))
        return None
    if len(documents) > 1 and documents[1] is not None:
        place = _place(documents[1].start_mark)
        message = "a second document starts here; a scenario is one document"
        source.problems.append(_problem(file, place, message, "several-documents"))
    first: yaml.Node = documents[0]
    return first


def _code_point(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)


def _place_of_offset(text: str, offset: int) -> Place:
    before = text[:offset]
    line = before.count("\n")
    return Place(line=line + 1, column=offset - (before.rfind("\n") + 1) + 1)


def _syntax_problem(file: str, fault: yaml.MarkedYAMLError) -> Problem:
    mark = fault.problem_mark or fault.context_mark
    message = fault.problem or fault.context or "not YAML"
    notes = []
    if fault.context and fault.context_mark is not None and fault.context_mark is not mark:
        notes.append(Note(place=_place(fault.context_mark), message=str(fault.context)))
    place = _place(mark) if mark is not None else _START
    code = "unknown-alias" if "undefined alias" in message else "yaml-syntax"
    return _problem(file, place, message, code, tuple(notes))


class _Reader:
    """One walk over the composed nodes."""

    def __init__(self, *, file: str, source: Source) -> None:
        self._file = file
        self._source = source
        self._n_nodes = 0
        self._open: set[int] = set()

    def _fault(
        self, node: yaml.Node, message: str, code: str, notes: tuple[Note, ...] = ()
    ) -> None:
        place = _place(node.start_mark)
        self._source.problems.append(_problem(self._file, place, message, code, notes))
        if len(self._source.problems) >= MAX_PROBLEMS:
            raise _Bounded

    def read(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self._n_nodes += 1
        if self._n_nodes > MAX_NODES:
            self._fault(node, f"more than {MAX_NODES} values, aliases counted", "too-many-values")
            raise _Bounded
        if depth > MAX_DEPTH:
            self._fault(node, f"nested more than {MAX_DEPTH} deep", "too-deep")
            raise _Bounded
        if id(node) in self._open:
            self._fault(node, "this value contains itself through an alias", "self-alias")
            raise _Bounded
        self._source.places[path] = _place(node.start_mark)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                self._expect_tag(node, "map")
                return self._mapping(node, path, depth)
            self._expect_tag(node, "seq")
            return [
                self.read(item, (*path, index), depth + 1) for index, item in enumerate(node.value)
            ]
        finally:
            self._open.discard(id(node))

    def _expect_tag(self, node: yaml.Node, kind: str) -> None:
        if node.tag != _CORE_TAG + kind:
            self._fault(node, f"the tag {_shown(node.tag)} is not allowed", "bad-tag")

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        first_at: dict[str, Place] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            place = _place(key_node.start_mark)
            if key in first_at:
                note = Note(place=first_at[key], message="first here")
                self._fault(
                    key_node, f"the key {_shown(key)} is here twice", "duplicate-key", (note,)
                )
                continue
            first_at[key] = place
            self._source.key_places[(*path, key)] = place
            values[key] = self.read(value_node, (*path, key), depth + 1)
        return values

    def _key(self, node: yaml.Node) -> str | None:
        """Keys are text; a number is taken as it is written, so that `0: ...` can be a name."""
        if isinstance(node, yaml.ScalarNode) and node.value:
            if node.value == "<<" and node.style is None:
                self._fault(node, "merge keys (<<) are not part of YAML 1.2", "bad-key")
                return None
            return str(node.value)
        self._fault(node, "a key must be text", "bad-key")
        return None

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        is_plain = node.style is None
        tag = node.tag
        if tag not in _IMPLICIT_TAGS:
            self._fault(node, f"the tag {_shown(tag)} is not allowed", "bad-tag")
            return None
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._fault(node, "half a surrogate pair is no character", "bad-character")
            return None
        if not is_plain:
            return text
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text):
            return True
        if _FALSE.fullmatch(text):
            return False
        return self._number(node, text)

    def _number(self, node: yaml.ScalarNode, text: str) -> Any:
        for pattern, base in ((_INT, 10), (_OCTAL, 8), (_HEX, 16)):
            if pattern.fullmatch(text):
                if len(text) > MAX_DIGITS:
                    self._fault(node, "a number of more than 100 digits", "bad-number")
                    return 0
                return int(text[2:] if base != 10 else text, base)
        if _INFINITE.fullmatch(text):
            self._fault(node, f"{text} is not a number that a scenario can use", "bad-number")
            return 0
        if _FLOAT.fullmatch(text):
            value = float(text) if len(text) <= MAX_DIGITS else math.inf
            if math.isinf(value):
                self._fault(node, "a number that is too large", "bad-number")
                return 0
            return value
        return text


_IMPLICIT_TAGS = frozenset(
    _CORE_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp", "value")
) | {_CORE_TAG + "merge"}
"""Tags that PyYAML gives to untagged scalars (by YAML 1.1); the typing is ours."""


def _shown(text: str) -> str:
    short = text.removeprefix(_CORE_TAG)
    return repr(short if len(short) <= 40 else short[:40] + "…")
