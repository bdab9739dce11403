"""A run on paper: timelines, memory, makespans by row and over the axes, by matplotlib.

One figure a run; several runs stand below each other.  Needs the extra `plot`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.paired import median_interval
from poolbench.domain import row_name
from poolbench.errors import BadUsage
from poolbench.findings import CaseResult
from poolbench.results.chosen import pair_of_internal
from poolbench.results.facts import title
from poolbench.results.kept import Kept
from poolbench.results.table import axes_text
from poolbench.timeline.reduce import reduced
from poolbench.timeline.values import Kind, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MAX_SPANS = 4000
_WIDTH_IN = 10.0
_DPI = 150
_COLORS: dict[Kind, str] = {
    Kind.KERNEL: "#2e8b57",
    Kind.COPY: "#1f77b4",
    Kind.MEMSET: "#5b6bbf",
    Kind.CALLBACK: "#8a6d3b",
    Kind.GRAPH: "#3f7f7f",
    Kind.INSERTED_WAIT: "#d62728",
    Kind.EXPLICIT_WAIT: "#b07d00",
    Kind.HELD: "#9aa3ad",
    Kind.GROWTH: "#9b3fb0",
    Kind.BLOCKED: "#e0a030",
    Kind.FAILED: "#d62728",
    Kind.CALL: "#9aa3ad",
}
_HATCHES = {
    Kind.INSERTED_WAIT: "////",
    Kind.EXPLICIT_WAIT: "....",
    Kind.HELD: "----",
    Kind.FAILED: "xxxx",
    Kind.BLOCKED: "\\\\\\\\",
}
"""What has to be told apart without colour."""


def require() -> None:
    """Raises `BadUsage` where the extra `plot` is not installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise BadUsage(
            "pictures need the package matplotlib",
            hint="python -m pip install 'poolbench[plot]'",
        )


def to_picture(runs: Sequence[Kept], kind: str) -> bytes:
    """`kind` is `svg` or `png`.  Raises `BadUsage` where the extra is missing."""
    require()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = [(run, _timelines(run)) for run in runs]
    heights = [_height_in(timelines) for _, timelines in shown]
    settings: Any = {
        "svg.hashsalt": "poolbench",  # the same run gives the same file
        "svg.fonttype": "none",
        "font.size": 9,
        "hatch.linewidth": 0.6,
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(_WIDTH_IN, max(1.0, sum(heights))), layout="constrained")
        if shown:
            parts: Any = figure.subfigures(len(shown), 1, height_ratios=heights, squeeze=False)
            for (run, timelines), (part,) in zip(shown, parts, strict=True):
                _draw(part, run, timelines)
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=_DPI, metadata=_metadata(kind))
    return _renamed(out.getvalue()) if kind == "svg" else out.getvalue()


_ID = re.compile(rb"\b[a-z][0-9a-f]{10}\b")
_ATTRIBUTE = re.compile(rb'="[^"]*"')
_LONG = re.compile(rb"\d+\.\d{3,}")


def _renamed(svg: bytes) -> bytes:
    """Last bits of numbers hang on the solver of the layout, and names on last bits: the ones
    rounded to a hundredth of a point, the others counted."""
    names: dict[bytes, bytes] = {}
    named = _ID.sub(lambda one: names.setdefault(one[0], b"id%d" % len(names)), svg)
    return _ATTRIBUTE.sub(
        lambda one: _LONG.sub(lambda number: b"%.2f" % float(number[0]), one[0]), named
    )


def _metadata(kind: str) -> dict[str, Any]:
    return {"Date": None, "Creator": "poolbench"} if kind == "svg" else {"Software": "poolbench"}


def _timelines(run: Kept) -> list[Timeline]:
    """The row with everything on and the one without internal dependencies."""
    found = [run.timeline(result) for result in pair_of_internal(run.record)]
    return [reduced(one, MAX_SPANS).timeline for one in found if one is not None]


def _heights(timelines: Sequence[Timeline]) -> list[float]:
    found = []
    for timeline in timelines:
        found.append(0.5 + 0.28 * len(timeline.lanes))
        if timeline.levels:
            found.append(0.8)
    return found


def _height_in(timelines: Sequence[Timeline]) -> float:
    return 0.8 + sum(_heights(timelines)) + 2.8


def _draw(part: SubFigure | Figure, run: Kept, timelines: Sequence[Timeline]) -> None:
    part.suptitle(title(run.record), fontweight="bold", x=0.01, ha="left")
    heights = _heights(timelines)
    has_axes = len(blocks_of(run.record)) > 1
    if heights:
        pair: Any = part.subfigures(2, 1, height_ratios=[sum(heights), 2.8])
        upper, lower = pair
        _draw_timelines(upper, timelines, heights)
    else:
        lower = part
    columns = lower.subplots(1, 2 if has_axes else 1, squeeze=False)[0]
    _draw_by_row(columns[0], run)
    if has_axes:
        _draw_over_axes(columns[1], run)


def _draw_timelines(
    part: SubFigure | Figure, timelines: Sequence[Timeline], heights: Sequence[float]
) -> None:
    axes = part.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    rows = iter(axes[:, 0])
    end = max(timeline.end_us for timeline in timelines)
    scale, unit = (1000.0, "ms") if end >= 10_000 else (1.0, "us")
    kinds = [kind for kind in Kind if any(kind in one.kinds for one in timelines)]
    last = None
    for timeline in timelines:
        last = next(rows)
        _draw_lanes(last, timeline, scale)
        if timeline.levels:
            last = next(rows)
            _draw_levels(last, timeline, scale)
    if last is not None:
        last.set_xlabel(f"{unit} from the first call")
        last.set_xlim(0, end * 1.01 / scale)
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=_face(kind), edgecolor=_COLORS[kind], hatch=_HATCHES.get(kind), label=kind)
        for kind in kinds
    ]
    part.legend(
        handles=handles, loc="outside lower center", ncols=min(6, len(kinds)), frameon=False
    )


def _face(kind: Kind) -> str:
    return "white" if kind in _HATCHES else _COLORS[kind]


def _draw_lanes(axes: Axes, timeline: Timeline, scale: float) -> None:
    for at, lane in enumerate(timeline.lanes):
        for kind in timeline.kinds:
            spans = [
                (span.begin_us / scale, span.length_us / scale)
                for span in lane.spans
                if span.kind is kind
            ]
            if spans:
                axes.broken_barh(
                    spans,
                    (at - 0.35, 0.7),
                    facecolor=_face(kind),
                    edgecolor=_COLORS[kind],
                    hatch=_HATCHES.get(kind),
                    linewidth=0.3,
                )
    names = [lane.name for lane in timeline.lanes]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_title(timeline.title, loc="left", fontsize=9)
    for link in sorted(timeline.links, key=lambda one: -one.wait_us)[:3]:
        if link.stream in names and link.wait_us >= timeline.end_us / 6:
            axes.annotate(
                f"waits {link.wait_us:.0f} us for {link.free_of}'s free",
                ((link.begin_us + link.wait_us / 2) / scale, names.index(link.stream)),
                ha="center",
                va="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "#d62728", "pad": 1.5},
            )


def _draw_levels(axes: Axes, timeline: Timeline, scale: float) -> None:
    times = [*(level.at_us / scale for level in timeline.levels), timeline.end_us / scale]
    for key, color, style in (("reserved", "#1f77b4", ":"), ("used", "#2e8b57", "-")):
        values = [getattr(level, key) / 2**20 for level in timeline.levels]
        axes.step(times, [*values, values[-1]], where="post", color=color, ls=style, label=key)
    axes.set_ylabel("MiB")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right", fontsize=7, frameon=False, ncols=2)


def _bars(results: Sequence[CaseResult]) -> tuple[list[float], list[list[float]]]:
    """Medians, and how far the intervals reach below and above."""
    medians, below, above = [], [], []
    for one in results:
        middle = (one.findings.makespan_us_median if one.findings else None) or 0.0
        samples = [value for value in one.samples_us if value is not None]
        low, high = median_interval(samples) or (middle, middle)
        medians.append(middle)
        below.append(max(0.0, middle - low))
        above.append(max(0.0, high - middle))
    return medians, [below, above]


def _known(results: Sequence[CaseResult]) -> list[CaseResult]:
    return [one for one in results if one.findings and one.findings.makespan_us_median is not None]


def _draw_by_row(axes: Axes, run: Kept) -> None:
    names = list(dict.fromkeys(row_name(one.case.row) for one in run.record.cases))
    blocks = blocks_of(run.record)
    for at, block in enumerate(blocks):
        known = _known(block.results)
        medians, errors = _bars(known)
        shift = (at - (len(blocks) - 1) / 2) * 0.6 / max(1, len(blocks))
        places = [names.index(row_name(one.case.row)) + shift for one in known]
        label = axes_text(block.results[0].case)
        axes.errorbar(places, medians, yerr=errors, fmt="o", ms=3, capsize=2, label=label)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    predicted = ", predicted" if run.record.is_predicted else ""
    axes.set_ylabel(f"makespan (us){predicted}")
    axes.set_ylim(bottom=0)
    axes.set_title("by row; bars: interval of the median", loc="left", fontsize=9)
    if len(blocks) > 1:
        axes.legend(fontsize=7, frameon=False)


def _draw_over_axes(axes: Axes, run: Kept) -> None:
    blocks = blocks_of(run.record)
    texts = [", ".join(text for _, text in block.axes) for block in blocks]
    for name in dict.fromkeys(row_name(one.case.row) for one in run.record.cases):
        found = [
            (at, one)
            for at, block in enumerate(blocks)
            for one in _known(block.results)
            if row_name(one.case.row) == name
        ]
        if found:
            medians, errors = _bars([one for _, one in found])
            places = [at for at, _ in found]
            axes.errorbar(places, medians, yerr=errors, fmt="o-", ms=3, lw=1, label=name)
    axes.set_xticks(range(len(texts)), texts, rotation=45, ha="right")
    axes.set_xlabel(", ".join(name for name, _ in run.record.axes))
    axes.set_ylim(bottom=0)
    axes.set_title("over the axis", loc="left", fontsize=9)
    axes.legend(fontsize=7, frameon=False, ncols=2)
