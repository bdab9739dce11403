"""Timelines as the page's script draws them: columns of numbers, texts written once.

Times are microseconds, rounded to 10 ns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from poolbench.results.kept import Kept
from poolbench.timeline.reduce import Reduced, reduced
from poolbench.timeline.values import MEANING, Kind, Timeline

MAX_SPANS = 30_000
"""On the whole page."""
LEAST_SPANS = 400
"""Of each timeline, however many there are."""
MAX_LINKS = 40
"""Arrows of a timeline: those of its longest waits."""


def timelines_of(runs: Iterable[Kept]) -> list[dict[str, Any]]:
    """One for each case that was traced, of its usual iteration."""
    found: list[tuple[int, Timeline]] = []
    for at, run in enumerate(runs):
        for result in run.record.cases:
            timeline = run.timeline(result)
            if timeline is not None:
                found.append((at, timeline))
    most = max(LEAST_SPANS, MAX_SPANS // max(1, len(found)))
    return [_plain(at, reduced(timeline, most)) for at, timeline in found]


def kinds() -> list[dict[str, str]]:
    return [{"name": kind.value, "meaning": MEANING[kind]} for kind in Kind]


def _plain(run: int, found: Reduced) -> dict[str, Any]:
    timeline = found.timeline
    order = {kind: at for at, kind in enumerate(Kind)}
    texts: dict[str, int] = {}
    lanes = []
    for lane in timeline.lanes:
        lanes.append(
            {
                "name": lane.name,
                "kind": [order[span.kind] for span in lane.spans],
                "begin": [round(span.begin_us, 2) for span in lane.spans],
                "length": [round(span.length_us, 2) for span in lane.spans],
                "busy": [round(span.busy_us, 2) for span in lane.spans if not found.is_whole],
                "text": [
                    texts.setdefault(_text(span.name, span.line, span.note, span.n), len(texts))
                    for span in lane.spans
                ],
            }
        )
    links = sorted(timeline.links, key=lambda link: -link.wait_us)[:MAX_LINKS]
    n_drawn = sum(len(lane.spans) for lane in timeline.lanes)
    return {
        "run": run,
        "key": timeline.key,
        "title": timeline.title,
        "axes": ", ".join(f"{name} = {text}" for name, text in timeline.axes),
        "end": round(timeline.end_us, 2),
        "lanes": lanes,
        "texts": list(texts),
        "links": [
            {
                "from": link.free_stream,
                "to": link.stream,
                "at": round(link.free_us, 2),
                "begin": round(link.begin_us, 2),
                "wait": round(link.wait_us, 2),
                "text": f"{link.wait_us:.0f} us for {link.free_of}'s free (line {link.free_line})",
            }
            for link in links
            if link.free_us is not None
        ],
        "waits": [link.text() for link in links],
        "levels": {
            "at": [round(level.at_us, 2) for level in timeline.levels],
            "reserved": [level.reserved / 2**20 for level in timeline.levels],
            "used": [level.used / 2**20 for level in timeline.levels],
        },
        "failures": [
            {
                "at": round(failure.at_us, 2),
                "text": f"{failure.name} (line {failure.line}): "
                + ("out of memory" if failure.is_final else "failed, then got through"),
            }
            for failure in timeline.failures
        ],
        "reduced": ""
        if found.is_whole
        else f"Drawn with {n_drawn} of {found.n_spans} spans: neighbours of one kind that are no "
        f"more than {found.gap_us:.2g} us apart are drawn as one, the thinner the less of it was "
        "busy; memory is drawn at its peaks.",
    }


def _text(name: str, line: int, note: str, n: int) -> str:
    if n > 1:
        return f"{name} and {n - 1} more"
    return f"{name} (line {line}){f', {note}' if note else ''}"
