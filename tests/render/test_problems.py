"""Problems as text: order, excerpt, caret, and what could harm a terminal."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.errors import Note, Place, Problem
from poolbench.render.problems import format_problem, format_problems


def problem(
    line: int, column: int, message: str = "wrong", *, file: str = "f.yaml", warns: bool = False
) -> Problem:
    return Problem(
        file=file,
        place=Place(line=line, column=column),
        message=message,
        code="bad-value",
        is_warning=warns,
    )


def caret_under(text: str, line: int, column: int) -> tuple[str, str]:
    """The excerpt and the caret line of a problem in `text`."""
    printed = format_problem(problem(line, column), {"f.yaml": text}).split("\n")
    assert len(printed) == 3
    return printed[1], printed[2]


def test_one_problem() -> None:
    """A problem is its place, kind, message and code, then its line and a caret."""
    printed = format_problem(problem(2, 4), {"f.yaml": "a: 1\nb: x\n"})
    assert printed == ("f.yaml:2:4: error: wrong [bad-value]\n     2 | b: x\n       |    ^")


def test_all_are_sorted_and_counted() -> None:
    """Problems come by file, line and column; the last line counts them."""
    problems = [problem(2, 1), problem(1, 5, warns=True), problem(1, 2), problem(1, 1, file="a")]
    printed = format_problems(problems, {}).split("\n")
    assert [line.split(" ")[0] for line in printed[:4]] == [
        "a:1:1:", "f.yaml:1:2:", "f.yaml:1:5:", "f.yaml:2:1:",
    ]  # fmt: skip
    assert printed[4] == "3 errors and 1 warning in 2 files"
    assert format_problems([problem(1, 1)], {}).endswith("\n1 error in 1 file")
    assert format_problems([], {}) == "no problems"


def test_notes_have_excerpts() -> None:
    """A note stands below its problem, with its own line."""
    note = Note(place=Place(line=1, column=1), message="first here")
    twice = Problem(
        file="f.yaml", place=Place(line=2, column=1), message="twice", code="c", notes=(note,)
    )
    printed = format_problem(twice, {"f.yaml": "a: 1\na: 2"}).split("\n")
    assert printed[3] == "  f.yaml:1:1: note: first here"
    assert printed[4:] == ["     1 | a: 1", "       | ^"]


def test_without_the_text() -> None:
    """A file that could not be read, or a line without anything in it, has no excerpt."""
    assert "|" not in format_problem(problem(1, 1), {})
    assert "|" not in format_problem(problem(2, 1), {"f.yaml": "a\n   \nb"})
    assert "|" not in format_problem(problem(9, 1), {"f.yaml": "a"})


def test_wide_characters() -> None:
    """The caret counts terminal cells: two for a wide character, none for a combining one."""
    line, caret = caret_under("日本x", 1, 3)
    assert line.endswith("| 日本x")
    assert caret.endswith("|     ^")
    assert caret_under("e\u0301x", 1, 3)[1].endswith("|  ^")
    assert caret_under("\U0001f600x", 1, 2)[1].endswith("|   ^")


def test_tabs() -> None:
    """A tab is four blanks, above the caret and below."""
    line, caret = caret_under("a:\tx", 1, 4)
    assert line.endswith("| a:    x")
    assert caret.index("^") == line.index("x")


def test_line_endings_and_mark() -> None:
    """Lines end at LF, CR or CRLF; a byte order mark takes no column."""
    for text in ("\ufeffa\r\nb: x\r\n", "a\rb: x\r", "a\nb: x"):
        assert caret_under(text, 2, 4) == ("     2 | b: x", "       |    ^")
    assert caret_under("\ufeffab", 1, 2) == ("     1 | ab", "       |  ^")


def test_long_lines_are_cut_around_the_place() -> None:
    """Of a long line a hundred characters are shown, the place among them."""
    text = "".join(chr(ord("a") + index % 26) for index in range(5000))
    for column in (1, 80, 2500, 5000):
        line, caret = caret_under(text, 1, column)
        shown = line.split("| ", 1)[1]
        assert len(shown) <= 100
        assert line[caret.index("^")] == text[column - 1]
    assert len(caret_under("x" * 1_000_000, 1, 1_000_001)[0]) < 120


def test_control_characters_do_not_reach_the_terminal() -> None:
    """What could move the cursor or change colours is a dot, in the line and in the message."""
    text = "a: \x1b[31m\x07\u202e"
    printed = format_problem(problem(1, 1, "no \x1b[2J"), {"f.yaml": text})
    assert printed.split("\n")[:2] == [
        "f.yaml:1:1: error: no ·[2J [bad-value]", "     1 | a: ·[31m··",
    ]  # fmt: skip


def test_colour_changes_no_word() -> None:
    """With colour the same text is printed, with escapes of its own only."""
    problems = [problem(1, 1), problem(2, 1, warns=True)]
    texts = {"f.yaml": "a: [red]\nb"}
    coloured = format_problems(problems, texts, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == format_problems(problems, texts)


@settings(derandomize=True, database=None, deadline=None)
@given(st.text(max_size=60), st.integers(1, 8), st.integers(1, 70))
def test_any_text_has_a_caret_of_its_own_line(text: str, line: int, column: int) -> None:
    """Whatever the text and the place: no control character, and at most one caret line."""
    printed = format_problem(problem(line, column), {"f.yaml": text})
    assert len(printed.split("\n")) in (1, 3)
    assert all(character == "\n" or character.isprintable() for character in printed)
