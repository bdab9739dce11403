"""Problems as text: `file:line:col: error: message [code]`, the line, and a caret.

Pure but for colour, which is rich's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from poolbench.errors import Place, Problem

_WIDTH = 100
_TAB = 4


def format_problems(
    problems: Sequence[Problem], texts: Mapping[str, str], *, colour: bool = False
) -> str:
    """All of them, sorted, with a last line that counts them."""
    ordered = sorted(problems, key=lambda problem: problem.sort_key)
    parts = [format_problem(problem, texts, colour=colour) for problem in ordered]
    return "\n".join([*parts, _count(ordered)])


def format_problem(problem: Problem, texts: Mapping[str, str], *, colour: bool = False) -> str:
    kind = "warning" if problem.is_warning else "error"
    lines = _source_lines(texts.get(problem.file))
    told = [_line(problem.file, problem.place, kind, f"{problem.message} [{problem.code}]")]
    told += _excerpt(lines, problem.place)
    for note in problem.notes:
        told.append(_line(problem.file, note.place, "note", note.message, indent="  "))
        told += _excerpt(lines, note.place)
    text = "\n".join(told)
    return _coloured(text, kind) if colour else text


def _line(file: str, place: Place, kind: str, message: str, indent: str = "") -> str:
    return f"{indent}{file}:{place.line}:{place.column}: {kind}: {_printable(message)}"


def _source_lines(text: str | None) -> list[str]:
    """Split as places count lines: at LF, CR and CRLF."""
    if text is None:
        return []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff").split("\n")


def _excerpt(lines: Sequence[str], place: Place) -> list[str]:
    """The line, cut around the place where it is long, and a caret below."""
    if not 1 <= place.line <= len(lines) or not lines[place.line - 1].strip():
        return []
    line = lines[place.line - 1]
    column = min(place.column, len(line) + 1)
    start = max(0, column - 1 - _WIDTH * 3 // 4) if len(line) > _WIDTH else 0
    shown = line[start : start + _WIDTH]
    before = _expanded(shown[: column - 1 - start])
    gutter = f"{place.line:>6} | "
    return [f"{gutter}{_expanded(shown)}", f"{' ' * 6} | {' ' * _cells(before)}^"]


def _expanded(text: str) -> str:
    return _printable(text.replace("\t", " " * _TAB))


def _printable(text: str) -> str:
    """Control characters would move the cursor: a dot instead."""
    return "".join(
        character if character == "\n" or character.isprintable() else "·" for character in text
    )


def _cells(text: str) -> int:
    """Terminal cells: wide characters take two, combining ones none."""
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def _count(problems: Sequence[Problem]) -> str:
    n_errors = sum(not problem.is_warning for problem in problems)
    n_warnings = len(problems) - n_errors
    counts = [
        f"{n} {word}{'s' if n != 1 else ''}"
        for n, word in ((n_errors, "error"), (n_warnings, "warning"))
        if n
    ]
    if not counts:
        return "no problems"
    n_files = len({problem.file for problem in problems})
    return f"{' and '.join(counts)} in {n_files} file{'s' if n_files != 1 else ''}"


def _coloured(text: str, kind: str) -> str:
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(r"(?m)^\s*\S*:\d+:\d+:", "bold")
    styled.highlight_regex(rf"\b{kind}:", "bold red" if kind == "error" else "bold yellow")
    styled.highlight_regex(r"(?m)\| +\^$", "bold green")
    console = Console(force_terminal=True, width=10_000, color_system="standard")
    with console.capture() as capture:
        console.print(styled, end="")
    return capture.get()
