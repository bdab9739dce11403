"""Pictures: whole files of their kind, the same for the same run, honest about predictions."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from poolbench.domain import BackendKind
from poolbench.errors import BadUsage
from poolbench.export.figure import to_picture
from poolbench.results.kept import Kept, open_all
from tests.cli.conftest import Cli
from tests.recorded.test_agreement import ROOT
from tests.render.records import eventful, hand_over, with_axes

HAND_OVER = ROOT / "results" / "h200-580" / "hand-over"


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(one.itertext()).strip() for one in root.iter() if one.tag.endswith("}text")]


def test_svg_says_who_waited_for_whom() -> None:
    """Text stays text: title, rows, lanes, the wait and its cause, the makespans' axis."""
    found = texts(to_picture(open_all(HAND_OVER), "svg"))
    for wanted in (
        "hand-over: measured on NVIDIA H200, driver 580.159.04",
        "row 111, ok",
        "row 110, out_of_memory",
        "inserted wait",
        "makespan (us)",
        "us from the first call",
    ):
        assert wanted in found
    assert any(text.startswith("waits ") and text.endswith("us for x's free") for text in found)
    assert "copy" not in found


def test_the_same_run_gives_the_same_file() -> None:
    """So that a committed picture changes only with its results."""
    runs = open_all(HAND_OVER)
    assert to_picture(runs, "svg") == to_picture(runs, "svg")


def test_png_has_a_size() -> None:
    """1500 pixels wide."""
    found = to_picture(open_all(HAND_OVER), "png")
    assert found[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", found[16:24])
    assert width == 1500
    assert height > 600


def test_a_prediction_says_so() -> None:
    """In the title and at the axis; also without any traced step."""
    found = texts(to_picture([Kept(record=hand_over(BackendKind.MODEL))], "svg"))
    assert any("PREDICTED by the model, not measured" in text for text in found)
    assert "makespan (us), predicted" in found


def test_axes_and_odd_runs() -> None:
    """Several runs below each other: one over an axis, one in which little went well."""
    found = texts(to_picture([Kept(record=with_axes()), Kept(record=eventful())], "svg"))
    assert "over the axis" in found
    assert to_picture([], "svg")


@pytest.mark.parametrize("name", ["out.svg", "out.png"])
def test_export_by_ending(cli: Cli, tmp_path: Path, name: str) -> None:
    """As every other export."""
    assert cli("run", "hand-over", "--backend", "model", "--output", "out").code == 0
    assert cli("export", "out", name).code == 0
    assert (tmp_path / name).stat().st_size > 10_000


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to get it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BadUsage, match="matplotlib"):
        to_picture([], "svg")
