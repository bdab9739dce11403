"""The report as a file: whole in itself, and honest about what was not measured."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from poolbench.domain import BackendKind
from poolbench.report.write import to_html
from poolbench.results.kept import Kept
from tests.cli.conftest import Cli
from tests.render.records import eventful, hand_over, with_axes


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    plain: dict[str, object] = json.loads(found.group(1))
    return plain


def test_nothing_is_fetched_from_elsewhere(hand_over_page: Path) -> None:
    """No address of anything that a browser would load, and a policy that forbids it."""
    page = hand_over_page.read_text()
    ours = page.replace(page[page.index("plotly.js v") : page.rindex("<script>")], "")
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', ours)
    assert "default-src 'none'" in ours
    assert len(page) < 6 * 2**20


def test_texts_cannot_break_out() -> None:
    """Names and questions of a hostile scenario are shown, never run."""
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    record = replace(hand_over(BackendKind.CUDA), question=hostile, scenario="a</script>b")
    page = to_html([Kept(record=record)])
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a</script>b" not in page
    assert data_of(page)["cases"].startswith("scenario,")  # type: ignore[attr-defined]


def test_a_prediction_says_so() -> None:
    """At the run, in its sentences, at its charts and at the foot of the page."""
    page = to_html([Kept(record=hand_over(BackendKind.MODEL))])
    assert 'class="source predicted">PREDICTED by the model, not measured' in page
    assert "Predicted, not measured: " in page
    assert "interval of the median (predicted)" in page
    assert "was simulated, not measured" in page
    measured = to_html([Kept(record=hand_over(BackendKind.CUDA))])
    assert "was simulated, not measured" not in measured


def test_several_runs_on_one_page() -> None:
    """Each with its own anchor, also where two have one name; the CSV holds all."""
    runs = [Kept(record=one) for one in (hand_over(BackendKind.CUDA), with_axes(), eventful())]
    page = to_html([*runs, Kept(record=hand_over(BackendKind.CUDA))])
    for name in ("hand-over", "hand-over-2"):
        assert page.count(f'<section id="{name}"') == 1
    n_cases = sum(len(run.record.cases) for run in runs) + len(runs[0].record.cases)
    assert f"Cases as CSV ({n_cases} rows)" in page


def test_run_writes_a_report(cli: Cli, tmp_path: Path) -> None:
    """Together with the table."""
    ended = cli("run", "hand-over", "--backend", "model", "--output", "out", "--report", "out.html")
    assert ended.code == 0
    page = (tmp_path / "out.html").read_text()
    timelines = data_of(page)["timelines"]
    assert isinstance(timelines, list)
    assert len(timelines) == 10
    (one,) = (one for one in timelines if one["title"] == "row 111, ok")
    assert one["waits"][0].startswith("y (line 33) on b waited ")


@pytest.mark.parametrize("where", ["nowhere/out.html", "."])
def test_a_report_with_nowhere_to_go_is_refused_before_anything_runs(
    cli: Cli, tmp_path: Path, where: str
) -> None:
    """As a CSV is."""
    ended = cli("run", "hand-over", "--backend", "model", "--output", "out", "--report", where)
    assert ended.code == 2
    assert "--report" in ended.err
    assert not (tmp_path / "out").exists()


def test_without_the_extra_it_says_how_to_get_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything runs."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    ended = cli("run", "hand-over", "--backend", "model", "--output", "out", "--report", "r.html")
    assert ended.code == 2
    assert "poolbench[report]" in ended.err
    assert not (tmp_path / "out").exists()


def test_open_writes_to_a_temporary_place(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And opens it where there is a browser; says so where there is none."""
    assert cli("run", "hand-over", "--backend", "model", "--output", "out").code == 0
    opened: list[str] = []

    def pretend(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr("webbrowser.open", pretend)
    ended = cli("open", "out")
    path = Path(ended.out.strip())
    assert path.is_file()
    assert opened == [path.as_uri()]
    assert "no browser" in cli("open", "out").err
