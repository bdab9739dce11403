"""Timelines in the terminal, character by character.

`POOLBENCH_UPDATE_GOLDEN=1 pytest tests/render` writes the pages anew; read the difference.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console  # noqa: TID251

from poolbench.render.timeline import print_timelines
from poolbench.timeline.build import timeline_of
from poolbench.timeline.values import Timeline
from tests.timeline.frames import frame_of, hand_over

GOLDEN = Path(__file__).parent / "golden"


def both(folder: Path) -> list[Timeline]:
    """The one that waits, and below it the one that fails."""
    return [timeline_of(*frame_of(folder, *hand_over(row)), 0) for row in ("111", "110")]


def drawn(timelines: list[Timeline], width: int, **part: float | None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    print_timelines(
        console,
        timelines,
        from_us=part.get("from_us"),
        to_us=part.get("to_us"),
        n_others=6,
    )
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_timelines_are_as_agreed(tmp_path: Path, width: int) -> None:
    """Two attribute sets on one scale: who waited for whom, and what happened instead."""
    found = drawn(both(tmp_path), width)
    golden = GOLDEN / f"timeline-{width}.txt"
    if os.environ.get("POOLBENCH_UPDATE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
    assert max(map(len, found.splitlines())) <= width


def test_a_part_of_it(tmp_path: Path) -> None:
    """`--from` and `--to`: the wait that runs through is still named."""
    found = drawn(both(tmp_path)[:1], 80, from_us=100.0, to_us=200.0)
    assert "1 y (line 13) on b waited 462.0 us for x's free (line 12) on a" in found
    assert "host     │\n" in found
    assert "100 us" in found


def test_the_key_has_what_occurs_only(tmp_path: Path) -> None:
    """No copy, no memset, no latch here."""
    found = drawn(both(tmp_path), 80)
    assert "inserted wait:" in found
    assert "copy:" not in found
    assert "held:" not in found


def test_nothing_to_show() -> None:
    """A run cut short before anything was traced."""
    assert "No traced run to show: " in drawn([], 80)
