"""The report in a real browser: it draws, sorts, zooms, tells, and asks nobody for anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from poolbench.export.csv import to_csv
from poolbench.report.write import write
from poolbench.results.kept import open_all
from tests.cli.conftest import Cli
from tests.recorded.test_agreement import ROOT

Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a file and waits until its first timeline is drawn; fails at the end for any message of
    the console, any error, and any request but that for the file."""
    pages: list[Page] = []
    heard: list[str] = []

    def open_page(path: Path, scheme: str = "light") -> Page:
        page = browser.new_page(
            viewport={"width": 1200, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on(
            "request",
            lambda request: heard.append(request.url) if request.url != path.as_uri() else None,
        )
        page.goto(path.as_uri())
        page.wait_for_selector(".timeline .plot .main-svg")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not [text for text in heard if not text.startswith("blob:")]


def column(page: Page, title: str) -> list[str]:
    """The texts of a column of the first table."""
    found: list[str] = page.evaluate(
        """(title) => {
          const table = document.querySelector("main table");
          const heads = [...table.tHead.rows[0].cells];
          const at = heads.findIndex((head) => head.textContent.trim().startsWith(title));
          return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
        }""",
        title,
    )
    return found


def test_tables_sort(opened: Opener, hand_over_page: Path) -> None:
    """By number, up and down, with what has no number last; and by keyboard."""
    page = opened(hand_over_page)
    head = page.locator("main table th", has_text="makespan").first
    before = column(page, "makespan")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = [float(text) for text in column(page, "makespan") if text != "–"]
    assert up == sorted(up)
    assert column(page, "makespan")[-4:] == ["–"] * 4
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    down = [float(text) for text in column(page, "makespan") if text != "–"]
    assert down == sorted(down, reverse=True)
    assert sorted(before) == sorted(column(page, "makespan"))


def test_the_timeline_shows_who_waited_for_whom(opened: Opener, hand_over_page: Path) -> None:
    """At one glance: the row with internal dependencies above the one without, the wait with its
    cause, the failure; and again in words for those who cannot see it."""
    page = opened(hand_over_page)
    texts = page.locator(".timeline .annotation-text").all_text_contents()
    assert "row 111, ok" in texts
    assert "row 110, out_of_memory" in texts
    assert any("for x's free (line 31)" in text for text in texts)
    told = page.locator(".told").inner_text()
    assert "y (line 33) on b waited" in told
    assert "y (line 33): out of memory" in told
    key = page.locator(".key").inner_text()
    assert "inserted wait" in key
    assert "copy" not in key


def test_zoom_by_button_and_keyboard(opened: Opener, hand_over_page: Path) -> None:
    """Half the range, earlier, and whole again."""
    page = opened(hand_over_page)

    def shown() -> tuple[float, float]:
        low, high = page.evaluate("document.querySelector('.timeline .plot').layout.xaxis.range")
        return low, high

    low, high = shown()
    page.get_by_role("button", name="Zoom in").click()
    inner = shown()
    assert inner[1] - inner[0] == pytest.approx((high - low) / 2)
    page.get_by_role("button", name="Earlier").focus()
    page.keyboard.press("Enter")
    assert shown()[0] < inner[0]
    page.get_by_role("button", name="Whole").click()
    assert shown() == (low, high)


def test_hovering_tells_a_step(opened: Opener, hand_over_page: Path) -> None:
    """Its name, line, stream and times."""
    page = opened(hand_over_page)
    place = page.evaluate(
        """() => {
          const plot = document.querySelector(".timeline .plot");
          const trace = plot.data.find((one) => one.name === "inserted wait");
          const box = plot.getBoundingClientRect();
          const axis = (name) => plot._fullLayout[name];
          const x = box.left + axis("xaxis")._offset + axis("xaxis").l2p(trace.x[1]);
          const y = box.top + axis("yaxis")._offset + axis("yaxis").l2p(trace.y[1]);
          return [x, y];
        }"""
    )
    page.mouse.move(place[0] + 2, place[1] + 7)
    page.wait_for_selector(".hoverlayer .hovertext")
    text = page.locator(".hoverlayer .hovertext").first.text_content() or ""
    assert "alloc y (line 33), for x's free (line 31) on a" in text
    assert "inserted wait, b" in text


def test_other_rows_can_be_chosen(opened: Opener, hand_over_page: Path) -> None:
    """Above and below."""
    page = opened(hand_over_page)
    page.locator(".upper").select_option(label="row preallocated, ok")
    page.locator(".lower").select_option(label="nothing")
    texts = page.locator(".timeline .annotation-text").all_text_contents()
    assert texts == ["row preallocated, ok"]
    assert "no inserted wait, no failure" in page.locator(".told").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_structure(opened: Opener, hand_over_page: Path, scheme: str) -> None:
    """No violation of WCAG 2 A and AA that axe can find, in either scheme, with all unfolded."""
    page = opened(hand_over_page, scheme)
    assert page.evaluate("document.documentElement.dataset.scheme") == scheme
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(200)
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags}})
    assert found.violations_count == 0, found.generate_report()


def test_the_scheme_can_be_changed(opened: Opener, hand_over_page: Path) -> None:
    """And the charts go with it."""
    page = opened(hand_over_page)
    before = page.evaluate("document.querySelector('.timeline .plot').layout.paper_bgcolor")
    button = page.get_by_role("button", name="Dark")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    after = page.evaluate("document.querySelector('.timeline .plot').layout.paper_bgcolor")
    assert before != after


def test_the_csv_can_be_taken_away(opened: Opener, hand_over_page: Path, tmp_path: Path) -> None:
    """The very file that `export` writes."""
    page = opened(hand_over_page)
    with page.expect_download() as caught:
        page.get_by_role("button", name="Cases as CSV").click()
    caught.value.save_as(tmp_path / "cases.csv")
    runs = open_all(ROOT / "results" / "h200-580" / "hand-over")
    assert (tmp_path / "cases.csv").read_text() == to_csv([run.record for run in runs])
    assert caught.value.suggested_filename == "cases.csv"


def test_print_shows_everything(opened: Opener, hand_over_page: Path, tmp_path: Path) -> None:
    """Folded parts are open on paper, and charts that were never scrolled to are drawn."""
    page = opened(hand_over_page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_selector(".chart .main-svg")
    assert page.evaluate("[...document.querySelectorAll('details')].every((one) => one.open)")
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


LONG = """
question: Many steps?
pool: {max_size: 96MiB, release_threshold: max}
on_oom: sync_retry
streams: {a: , b: , c: }
steps:
  - repeat: 2222
    index: i
    steps:
      - {alloc: x$i, size: 32MiB, stream: a}
      - {kernel: spin, duration: 20us, writes: [x$i], stream: a}
      - {free: x$i, stream: a}
      - {alloc: y$i, size: 32MiB, stream: b}
      - {kernel: spin, duration: 30us, writes: [y$i], stream: b}
      - {free: y$i, stream: b}
      - {alloc: z$i, size: 48MiB, stream: c}
      - {kernel: spin, duration: 10us, writes: [z$i], stream: c}
      - {free: z$i, stream: c}
"""


def test_long_traces_stay_small_and_quick(opened: Opener, cli: Cli, tmp_path: Path) -> None:
    """10 cases of 20,000 steps: under 15 MiB, drawn in seconds, and the page says that it is not
    all of it."""
    (tmp_path / "long.yaml").write_text(LONG)
    assert cli("run", "long.yaml", "--backend", "model", "--output", "out").code == 0
    path = tmp_path / "long.html"
    write(open_all(tmp_path / "out"), path)
    assert path.stat().st_size < 15 * 2**20
    started = time.monotonic()
    page = opened(path)
    assert time.monotonic() - started < 6
    told = page.locator(".told").inner_text()
    assert "spans: neighbours of one kind" in told
    assert "drawn as one" in told
