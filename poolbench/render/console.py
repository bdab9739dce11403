"""Where words and tables go: data to stdout, words to stderr.

Everything is printed as `Text`, never as markup, so that a `[` in a name is a bracket.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

MAX_PROSE = 100
"""Sentences are not set wider than this, however wide the terminal is."""


def for_data() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def for_words() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def line(console: Console, text: Text | str = "") -> None:
    """One line as it is, however long."""
    console.print(Text(text) if isinstance(text, str) else text, soft_wrap=True)


def prose(
    console: Console, text: str, *, first: str = "", indent: str = "", style: str = ""
) -> None:
    """A paragraph, wrapped; `first` starts its first line, `indent` the others."""
    for wrapped in wrap(text, width=console.width, first=first, indent=indent):
        line(console, Text(wrapped, style=style))


def wrap(text: str, *, width: int, first: str = "", indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        width=max(40, min(width, MAX_PROSE)),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def terms(console: Console, entries: Sequence[tuple[str, str]], *, style: str = "") -> None:
    """Terms in a narrow first column, their meanings beside them."""
    width = min(24, max((len(term) for term, _ in entries), default=0))
    for term, meaning in entries:
        indent = " " * (width + 2)
        wrapped = wrap(meaning, width=console.width, first=indent, indent=indent) or [indent]
        first = wrapped[0][len(indent) :]
        if len(term) > width:
            line(console, Text(term, style=style))
            wrapped[0] = indent + first
            rest = wrapped
        else:
            line(console, Text.assemble((term.ljust(width + 2), style), first))
            rest = wrapped[1:]
        for text in rest:
            line(console, text)
