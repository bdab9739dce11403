"""A browser for the report: Debian's Chromium, headless."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.cli.conftest import cli as cli

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def hand_over_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on the recorded run of `hand-over`."""
    from poolbench.report.write import write
    from poolbench.results.kept import open_all
    from tests.recorded.test_agreement import ROOT

    path = tmp_path_factory.mktemp("report") / "hand-over.html"
    write(open_all(ROOT / "results" / "h200-580" / "hand-over"), path)
    return path
