"""The page put together: template, style, script, data and the charting library in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolbench import __version__
from poolbench.errors import BadUsage
from poolbench.report.drawn import kinds, timelines_of
from poolbench.report.view import cases_csv, n_rows, run_views
from poolbench.results.files import write_text
from poolbench.results.kept import Kept

if TYPE_CHECKING:
    from jinja2 import Template

_PAGE = Path(__file__).with_name("page")
MISSING = "a report needs the packages jinja2 and plotly"
REMEDY = "python -m pip install 'poolbench[report]'"


def require() -> None:
    """Raises `BadUsage` where the extra `report` is not installed: before anything is measured."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("jinja2", "plotly")):
        raise BadUsage(MISSING, hint=REMEDY)


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data"] = _data
    environment.filters["rows"] = n_rows
    return environment.get_template("page.html")


def _data(value: object) -> str:
    """JSON that can stand in a `script` element: nothing in it can end the element."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def to_html(runs: Sequence[Kept]) -> str:
    """The whole page.  Raises `BadUsage` where the extra is missing."""
    require()
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    def part(name: str) -> Any:
        return Markup((_PAGE / name).read_text("utf-8"))

    views = run_views(runs)
    return _template().render(
        version=__version__,
        runs=views,
        timelines=timelines_of(runs),
        kinds=kinds(),
        cases_csv=cases_csv(runs),
        charts=[[figure for _, figure in view.charts] for view in views],
        samples=[view.samples_csv for view in views],
        is_predicted=any(view.record.is_predicted for view in views),
        style=part("page.css"),
        script=part("page.js"),
        library=Markup(get_plotlyjs()),
    )


def write(runs: Sequence[Kept], path: Path) -> None:
    write_text(path, to_html(runs))
