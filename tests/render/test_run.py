"""Golden pages: a fixed record, drawn at 80 and at 140 columns.

`POOLBENCH_UPDATE_GOLDEN=1 pytest tests/render` writes the pages anew; read the difference.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console  # noqa: TID251

from poolbench.domain import BackendKind, row_name
from poolbench.render.run import print_legend, print_run
from poolbench.results.record import RunRecord
from tests.render.records import ROWS, eventful, hand_over, with_axes

GOLDEN = Path(__file__).parent / "golden"
RECORDS: dict[str, Callable[[], RunRecord]] = {
    "measured": lambda: hand_over(BackendKind.CUDA),
    "predicted": lambda: hand_over(BackendKind.MODEL),
    "axes": with_axes,
    "eventful": eventful,
}
ROW_NAMES = [row_name(row) for row in ROWS]
SENTENCES = (
    "Internal dependencies: 1 wait, 498.5 us in total, for x's free at line 33 (rows 001 011).",
    "What is said about [brackets] is said with brackets, and a sentence that is too long for the "
    "terminal goes on in the next line.",
)
DIRECTORY = Path("poolbench-results/20261201-142530/hand-over")


def page(record: RunRecord, width: int, *, is_wide: bool = False, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=colour,
        color_system="standard" if colour else None,
    )
    print_run(console, record, sentences=SENTENCES, directory=DIRECTORY, is_wide=is_wide)
    print_legend(console, [record])
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", RECORDS)
def test_page_is_as_agreed(name: str, width: int) -> None:
    """The page is the one on disk, to the letter."""
    found = page(RECORDS[name](), width)
    golden = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("POOLBENCH_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("name", RECORDS)
def test_nothing_is_cut(name: str, width: int) -> None:
    """No line is wider than the terminal, and no text ends in an ellipsis."""
    found = page(RECORDS[name](), width)
    assert max(map(len, found.splitlines())) <= width
    assert "…" not in found
    assert "..." not in found


@pytest.mark.parametrize("name", RECORDS)
def test_folding_loses_nothing(name: str) -> None:
    """Every word of the wide table is in the folded one."""
    narrow, wide = page(RECORDS[name](), 80), page(RECORDS[name](), 80, is_wide=True)
    assert set(wide.split()) == set(narrow.split())
    assert len(wide.splitlines()) <= len(narrow.splitlines())


def test_prediction_is_marked() -> None:
    """A prediction says so in its title and in every row; a measurement never does."""
    lines = page(hand_over(BackendKind.MODEL), 140).splitlines()
    assert lines[0].endswith("PREDICTED by the model, not measured: h200")
    rows = [line.split() for line in lines if line.split()[:1] in [[name] for name in ROW_NAMES]]
    table = rows[: len(ROW_NAMES)]
    assert [row[0] for row in table] == ROW_NAMES
    assert all(row[4] == "model" for row in table)
    assert "predict" not in page(hand_over(BackendKind.CUDA), 140).lower()


def test_brackets_are_text() -> None:
    """A name or message with brackets is shown as it is, not read as markup."""
    assert "3 [three], of 2 allocations" in page(eventful(), 140)


def test_colour_changes_no_letter() -> None:
    """Without colour the page reads the same."""
    plain = page(eventful(), 100)
    coloured = page(eventful(), 100, colour=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_run_without_results_says_so() -> None:
    """Interrupted before the first case: no table, but no silence either."""
    record = replace(hand_over(BackendKind.CUDA), cases=(), after=None)
    found = page(record, 80)
    assert "makespan" not in found
    assert SENTENCES[0][:40] in found
    assert "seed 1" in found
