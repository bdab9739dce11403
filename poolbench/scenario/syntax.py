"""YAML syntax errors in plain words, at the place where the author has to look.

Pure.  The parser's words are libyaml's (PyYAML's own parser has much the same); what is not in the
table is passed on as it is.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from poolbench.errors import Note, Place, Problem

_Explained = tuple[Place, str, tuple[Note, ...]]

_BREAK = re.compile(r"\r\n|\r|\n")

_CLOSING = re.compile(r"expected ',' or '([\]}])'")
_TOO_DEEP = "mappings and lists are nested far too deep here"
_WORDS: tuple[tuple[str, str], ...] = (
    (
        "sequence entries are not allowed",
        "a list cannot start on the line of its key; put its first '-' on a line of its own",
    ),
    ("alphabetic or numeric character", "a name of letters and digits is missing after & or *"),
    (
        "<document start>",
        "the value is over before this; check the indentation and the quotes",
    ),
    ("indentation indicators", "after | or > only a digit, + or - may stand on the line"),
    ("comment or line break", "after | or > only a digit, + or - may stand on the line"),
    ("comment or a line break", "after | or > only a digit, + or - may stand on the line"),
    ("hexadecimal", "this escape needs more hexadecimal digits"),
    ("hexdecimal", "this escape needs more hexadecimal digits"),
    ("Unicode character escape", "this escape is no Unicode character"),
    ("tab character", "a tab cannot indent; use spaces"),
    ("incompatible YAML", "the file asks for another YAML than 1.1 or 1.2; leave the line out"),
    ("tag handle", "the tag's handle is not known; a scenario has no use for tags"),
    ("maximum nesting", _TOO_DEEP),
    ("duplicate %", "this directive is here twice"),
)
"""Part of the parser's message -> ours, where the place needs no second look."""


def lines_of(text: str) -> list[str]:
    """The lines that places count: split at LF, CR and CRLF, without the breaks."""
    return _BREAK.split(text)


def place_at(text: str, index: int) -> Place:
    """The place of the character at `index`."""
    before = lines_of(text[:index])
    return Place(line=len(before), column=len(before[-1]) + 1)


def inside(place: Place, lines: list[str]) -> Place:
    """The same place, or the end of the last line that holds anything where it lies behind it."""
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    if place.line > last:
        return Place(line=last, column=len(lines[last - 1].rstrip()) + 1)
    return Place(line=place.line, column=min(place.column, len(lines[place.line - 1]) + 1))


def _place(mark: Any, lines: list[str]) -> Place:
    return inside(Place(line=mark.line + 1, column=mark.column + 1), lines)


def syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """The one problem that a parser error stands for."""
    lines = lines_of(text)
    place, message, notes = _explain(error, lines)
    code = "too-deep" if message == _TOO_DEEP else "yaml-syntax"
    return Problem(file=file, place=place, message=message, code=code, notes=notes)


def _explain(error: yaml.MarkedYAMLError, lines: list[str]) -> _Explained:
    told, context = str(error.problem or ""), str(error.context or "")
    mark = error.problem_mark or error.context_mark
    at = _place(mark, lines) if mark is not None else Place(line=1, column=1)
    begin = _place(error.context_mark, lines) if error.context_mark is not None else at
    line = lines[at.line - 1]
    character = line[at.column - 1 : at.column]
    closing = _CLOSING.search(told)
    if closing is not None:
        return _not_closed(closing[1], at, begin)
    if "cannot start any token" in told:
        return at, _no_token(character), ()
    if "mapping values are not allowed" in told:
        return at, _stray_colon(line[: at.column - 1]), ()
    if "end of stream" in told and "quoted" in context:
        return begin, "the text that starts with this quote is never closed", ()
    if "document" in told and "quoted" in context:
        return begin, "the text that starts with this quote is not closed before the ---", ()
    if "unknown escape" in told:
        return _escape(at, line)
    if "could not find expected ':'" in told:
        return begin, "a ':' is missing after this key, or the line is indented too little", ()
    if any(part in told for part in ("expected <block end>", "expected key", "'-' indicator")):
        return _misplaced(context, at, begin, line, character)
    if "node content" in told:
        before = f"before {character!r}" if character else "here"
        return at, f"a value is missing {before}", ()
    for part, message in _WORDS:
        if part in told:
            return at, message, ()
    return at, f"this is not YAML: {told or context}", ()


def _not_closed(closing: str, at: Place, begin: Place) -> _Explained:
    what, opening = ("list", "[") if closing == "]" else ("mapping", "{")
    note = Note(place=begin, message=f"the {what} starts here")
    return at, f"a ',' is missing before this, or the {opening!r} is not closed", (note,)


def _no_token(character: str) -> str:
    if character == "\t":
        return "a tab cannot indent; use spaces"
    return f"a value cannot start with {character!r}; put it in quotes"


def _stray_colon(before: str) -> str:
    if re.search(r":\s", before):
        return "a second ': ' in one line; put a value that holds one in quotes"
    return "no key can stand here: it is indented too far, or the line before lacks its ':'"


def _escape(at: Place, line: str) -> _Explained:
    column = at.column
    if line[column - 1 : column] != "\\":  # without libyaml the mark is one further
        column = max(1, column - 1)
    escape = line[column - 1 : column + 1]
    message = f"there is no escape {escape}; text in single quotes is taken as it is"
    return Place(line=at.line, column=column), message, ()


def _misplaced(context: str, at: Place, begin: Place, line: str, character: str) -> _Explained:
    if character and character in "]}":
        opening = "[" if character == "]" else "{"
        return at, f"there is no open {opening!r} for this {character!r}", ()
    if "collection" in context or "sequence" in context:
        if re.match(r"\s*-[^\s-]", line):
            return at, "a space is missing after the '-'", ()
        note = Note(place=begin, message="the list starts here")
        return at, "this is not an item of the list: no '-', or the indentation is wrong", (note,)
    note = Note(place=begin, message="the mapping starts here")
    message = "this is not a key of the mapping: the indentation is wrong, or text is left over"
    return at, message, (note,)
