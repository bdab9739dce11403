"""The pictures of the README: made from results by a command, and nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from poolbench.cli.app import app

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import pictures  # noqa: E402


def test_the_committed_timeline_is_the_one_of_the_results() -> None:
    """Whoever changes results, or how they are shown, draws it anew: `make pictures`."""
    committed = (ROOT / "docs" / "pictures" / "timeline.svg").read_text("utf-8")
    assert committed == pictures.timeline(pictures.SHOWN)


def test_the_timeline_shows_the_wait() -> None:
    """In words too, and without fonts or anything else from elsewhere."""
    drawn = pictures.timeline(pictures.SHOWN).replace("&#160;", " ")
    words = " ".join(re.findall(r">([^<>]+)</text>", drawn))
    assert "for x&#x27;s free (line 31) on a" in words
    assert "measured on NVIDIA H200" in words
    assert not re.search(r'(src|href|url\()\s*[=(]?\s*["\']?https?:', drawn)


def test_predictions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A README shows measurements."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        app(["run", "hand-over", "--backend", "model", "--output", "out"], prog_name="poolbench")
    capsys.readouterr()
    with pytest.raises(SystemExit, match="predicted, not measured"):
        pictures.timeline(tmp_path / "out" / "hand-over")
