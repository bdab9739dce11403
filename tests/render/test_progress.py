"""Progress: a bar where there is somebody to see it, one line elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console  # noqa: TID251

from poolbench import measure
from poolbench.domain import COMBINATIONS, Case
from poolbench.render.progress import left_text, progress_bar

NOW = measure.Progress(
    case=Case(scenario="s[x]", row=COMBINATIONS[5]), n_done=3, n_runs=8, n_dropped=0, left_s=42.0
)


def shown(*, is_terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=100)
    with progress_bar(console, "s[x]", n_cases=4, n_runs=8) as tell:
        tell(NOW)
    return out.getvalue()


def test_a_pipe_gets_one_line() -> None:
    """No control characters, no repetition: what will run."""
    assert shown(is_terminal=False) == "s[x]: 4 cases, 8 runs\n"


def test_a_terminal_gets_a_bar() -> None:
    """Runs done, time left, and the case; names with brackets as they are."""
    page = shown(is_terminal=True)
    assert "3/8 runs" in page
    assert "about 42 s left" in page
    assert "s[x]/101" in page


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.4, ""),
        (42.2, "about 42 s left"),
        (89.0, "about 89 s left"),
        (600.0, "about 10 min left"),
    ],
)
def test_left_text(seconds: float | None, text: str) -> None:
    """Rough, and silent where there is nothing to tell."""
    assert left_text(seconds) == text
