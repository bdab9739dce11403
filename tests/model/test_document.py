"""docs/model.md names tests: they are there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "model.md"
PROBE = HERE.parent / "probe"
WORDS = {
    "follow_event_dependencies",
    "allow_opportunistic",
    "allow_internal_dependencies",
}


def test_named_tests_exist() -> None:
    """Every rule of the document that names a test names one that holds it."""
    there = {
        name
        for file in (*HERE.glob("test_*.py"), *PROBE.glob("test_*.py"))
        for name in re.findall(r"^def test_(\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`", DOCUMENT.read_text("utf-8")))
    assert named - WORDS
    assert named - WORDS <= there


def test_named_files_exist() -> None:
    """Paths in the document lead somewhere."""
    root = DOCUMENT.parents[1]
    paths = re.findall(r"`([a-z_]+/[\w./-]+)`", DOCUMENT.read_text("utf-8"))
    assert paths
    assert [path for path in paths if not (root / path).exists()] == []
