"""The trace for ui.perfetto.dev: held to the format, event by event."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from poolbench.export.perfetto import to_perfetto
from poolbench.results.kept import Kept, open_all
from tests.cli.conftest import Cli
from tests.recorded.test_agreement import ROOT

NEEDED = {
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "M": {"name", "pid", "tid", "args"},
    "C": {"name", "pid", "ts", "args"},
    "i": {"name", "pid", "tid", "ts", "s"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
}
"""Keys that an event of each phase has, from the format's description."""


def check(text: str) -> list[dict[str, Any]]:
    """Everything that the format asks for."""
    root = json.loads(text)
    events: list[dict[str, Any]] = root["traceEvents"]
    slices: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        assert NEEDED[event["ph"]] <= set(event), event
        assert isinstance(event["pid"], int)
        assert event.get("ts", 0) >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert set(slices) <= named
    for found in slices.values():
        # nothing overlaps, not even in part, up to the rounding of a nanosecond
        assert all(left[1] <= right[0] + 0.0011 for left, right in pairwise(sorted(found)))
    _check_arrows(events, slices)
    return events


def _check_arrows(
    events: list[dict[str, Any]], slices: dict[tuple[int, int], list[tuple[float, float]]]
) -> None:
    """Each has one begin and one end, not earlier, both within a slice of their threads."""
    ends: dict[str, dict[str, Any]] = {}
    begins: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["ph"] in "sf":
            kept = begins if event["ph"] == "s" else ends
            assert event["id"] not in kept
            kept[event["id"]] = event
            spans = slices[event["pid"], event["tid"]]
            assert any(low - 0.0011 <= event["ts"] <= high + 0.0011 for low, high in spans), event
    assert set(begins) == set(ends)
    for arrow, begin in begins.items():
        assert begin["ts"] <= ends[arrow]["ts"]


@pytest.fixture(scope="module")
def pressure() -> list[dict[str, Any]]:
    return check(to_perfetto(open_all(ROOT / "results" / "h200-580" / "pressure")))


def test_a_recorded_run(pressure: list[dict[str, Any]]) -> None:
    """A process a case, a thread a stream and one for the host, an arrow for every inserted wait,
    counters for the pool."""
    processes = [one["args"]["name"] for one in pressure if one["name"] == "process_name"]
    assert len(processes) == 50
    assert "pressure, row 111, pool.max_size = 128MiB, ok" in processes
    pid = 1 + processes.index("pressure, row 111, pool.max_size = 128MiB, ok")
    own = [one for one in pressure if one["pid"] == pid]
    threads = [one["args"]["name"] for one in own if one["name"] == "thread_name"]
    assert threads == ["host", "stream s0", "stream s1", "stream s2", "stream s3"]
    waits = [one for one in own if one.get("cat") == "inserted wait" and one["ph"] == "X"]
    arrows = [one for one in own if one["ph"] == "s"]
    assert len(waits) == len(arrows) == 70
    assert {one["name"] for one in own if one["ph"] == "C"} == {"reserved (MiB)", "used (MiB)"}
    kernels = [one for one in own if one.get("cat") == "kernel"]
    assert len(kernels) == 96


@pytest.mark.parametrize(
    "run", open_all(ROOT / "results" / "h200-580"), ids=lambda run: run.record.scenario
)
def test_every_recorded_run_keeps_to_the_format(run: Kept) -> None:
    """Several iterations, copies, latches, failures."""
    assert check(to_perfetto([run]))


def test_a_prediction_says_so(cli: Cli, tmp_path: Path) -> None:
    """In the name of every process; out of memory is an instant of the host."""
    assert cli("run", "hand-over", "--backend", "model", "--output", "out").code == 0
    assert cli("export", "out", "trace.perfetto.json").code == 0
    events = check((tmp_path / "trace.perfetto.json").read_text())
    names = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert len(names) == 10
    assert all(name.startswith("PREDICTED, hand-over, ") for name in names)
    failed = [one for one in events if one["ph"] == "i"]
    assert [one["name"] for one in failed] == ["out of memory: y (line 33)"] * 4
