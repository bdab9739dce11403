"""Draw the pictures of README.md from results/, into docs/pictures/.

timeline.svg: what `poolbench show DIR --timeline` prints; report.png: the report of the same
directory in Chromium.  Only measurements are shown: a directory of predictions is refused.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from poolbench.render.details import Part, View, print_views
from poolbench.render.picture import terminal_svg
from poolbench.report.write import write
from poolbench.results.chosen import pair_of_internal
from poolbench.results.kept import open_all

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
SHOWN = Path("results") / "h200-580" / "hand-over"
WIDTH = 92
VIEWPORT = (1200, 1130)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def timeline(directory: Path) -> str:
    """The terminal's picture; raises `SystemExit` for a prediction."""
    (run,) = open_all(ROOT / directory)
    if run.record.is_predicted:
        raise SystemExit(f"make pictures: {directory} was predicted, not measured")
    return terminal_svg(
        lambda console: print_views(
            console,
            run,
            views=[View.TIMELINE],
            results=pair_of_internal(run.record),
            part=Part(),
            is_wide=False,
        ),
        title=f"poolbench show {directory} --timeline",
        width=WIDTH,
    )


def report(directory: Path, where: Path) -> None:
    """A screenshot of the report's first page."""
    from playwright.sync_api import sync_playwright

    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit("make pictures: there is no Chromium here")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        write(open_all(ROOT / directory), page_file)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        width, height = VIEWPORT
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(page_file.as_uri())
        page.wait_for_selector(".timeline .plot .main-svg")
        page.wait_for_timeout(500)
        page.screenshot(path=where)
        browser.close()


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / "timeline.svg").write_text(timeline(SHOWN), encoding="utf-8")
    report(SHOWN, PICTURES / "report.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
