"""Makespans by attribute set and over the axes, as Plotly figures."""

from __future__ import annotations

import json
from typing import Any

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.paired import median_interval
from poolbench.domain import row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord
from poolbench.results.table import axes_text

Figure = dict[str, Any]


def by_row(record: RunRecord) -> Figure:
    """A series for each combination of axis values: the median makespan of each row, with the
    interval of the median."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for block in blocks_of(record):
        known = [one for one in block.results if _median(one) is not None]
        if not known:
            continue
        figure.add_scatter(
            x=[f"{row_name(one.case.row)} " for one in known],
            y=[_median(one) for one in known],
            error_y=_bars(known),
            mode="markers",
            name=axes_text(block.results[0].case) or "makespan",
            hovertemplate="%{x}: %{y:.1f} us<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        xaxis_title="row",
        yaxis_title="makespan (us)",
        yaxis_rangemode="tozero",
        showlegend=bool(record.axes),
        scattermode="group",
    )
    return _plain(figure)


def over_axes(record: RunRecord) -> Figure | None:
    """The same the other way round: a line for each row over the combinations of axis values;
    `None` without an axis."""
    import plotly.graph_objects as go

    blocks = blocks_of(record)
    if len(blocks) < 2:
        return None
    figure = go.Figure()
    names = dict.fromkeys(row_name(one.case.row) for one in record.cases)
    for name in names:
        found = [
            (axes_text(one.case), one)
            for block in blocks
            for one in block.results
            if row_name(one.case.row) == name and _median(one) is not None
        ]
        if not found:
            continue
        figure.add_scatter(
            x=[text for text, _ in found],
            y=[_median(one) for _, one in found],
            error_y=_bars([one for _, one in found]),
            mode="lines+markers",
            name=name,
            hovertemplate="%{x}: %{y:.1f} us<extra>row %{fullData.name}</extra>",
        )
    figure.update_layout(
        xaxis_title=", ".join(name for name, _ in record.axes),
        yaxis_title="makespan (us)",
        yaxis_rangemode="tozero",
        legend_title_text="row",
    )
    return _plain(figure)


def _median(result: CaseResult) -> float | None:
    return None if result.findings is None else result.findings.makespan_us_median


def _bars(results: list[CaseResult]) -> dict[str, Any]:
    """Up and down to the ends of the median's interval; nothing where there is none."""
    up, down = [], []
    for one in results:
        samples = [value for value in one.samples_us if value is not None]
        interval = median_interval(samples) if len(samples) > 1 else None
        middle = _median(one) or 0.0
        low, high = interval or (middle, middle)
        up.append(max(0.0, high - middle))
        down.append(max(0.0, middle - low))
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down}


def _plain(figure: Any) -> Figure:
    """Without the library's own look: the page brings one for light and dark."""
    figure.update_layout(template="none")
    found: Figure = json.loads(figure.to_json())
    found["layout"].pop("template", None)
    return found
