"""A probe on the terminal: three tables, what they come to, and what has changed."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from poolbench.probe.changes import Changes
from poolbench.probe.reading import reading
from poolbench.probe.record import Probe
from poolbench.probe.tables import (
    CALLS_TITLE,
    LAYOUT_TITLE,
    MARKS,
    REUSE_TITLE,
    calls_table,
    evidence_table,
    layout_table,
    reuse_table,
)
from poolbench.render.console import line, prose, terms
from poolbench.render.grid import lines_of
from poolbench.results.table import Table


def print_probe(console: Console, probe: Probe, *, has_evidence: bool) -> None:
    is_measured = probe.environment.backend == "cuda"
    _print(console, REUSE_TITLE, reuse_table(probe), is_measured=is_measured)
    if has_evidence:
        _print(console, f"{REUSE_TITLE}: evidence", evidence_table(probe), is_measured=is_measured)
    _print(console, CALLS_TITLE, calls_table(probe), is_measured=is_measured)
    _print(console, LAYOUT_TITLE, layout_table(probe), is_measured=is_measured)
    said = "" if is_measured else "Predicted, not measured: "
    for sentence in reading(probe):
        prose(console, f"{said}{sentence}", first="• ", indent="  ")
        said = ""
    line(console)
    _facts(console, probe, is_measured=is_measured)


def _print(console: Console, title: str, table: Table, *, is_measured: bool) -> None:
    mark = "" if is_measured else " (predicted)"
    line(console, Text(f"{title}{mark}", style="bold"))
    width = console.width if console.is_terminal else None
    for one in lines_of(table, width):
        line(console, one)
    line(console)


def _facts(console: Console, probe: Probe, *, is_measured: bool) -> None:
    environment = probe.environment
    where = f"{environment.device}, driver {environment.driver}, CUDA {environment.cuda}"
    if not is_measured:
        where = f"model of {environment.device}: predicted, not measured"
    terms(
        console,
        [
            ("device", where),
            ("probe", f"{probe.seconds:.1f} s, each answer from one run"),
            ("000 to 111", "follow_event_dependencies, allow_opportunistic, "
             "allow_internal_dependencies: 1 on, 0 off"),
            ("reuse, waits", "the freed block; waits: and the driver made the stream wait for it"),
            ("grows, remaps", "new memory from the device; the pool's own at a new address"),
            ("fails", "out of memory"),
            ("doc", ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())),
        ],
    )  # fmt: skip


def print_changes(console: Console, before: Probe, found: Changes) -> None:
    environment = before.environment
    what = f"{environment.device}, driver {environment.driver}"
    line(console)
    line(console, Text(f"Against {what}", style="bold"))
    for change in found.found:
        rows = f" ({' '.join(change.rows)})" if change.rows else ""
        prose(
            console, f"{change.title}{rows}: {change.before} there, {change.now} here", first="≠ ",
            indent="  ",
        )  # fmt: skip
    n_same = found.n_compared - sum(max(1, len(change.rows)) for change in found.found)
    prose(console, f"{n_same} of {found.n_compared} answers are the same.")
    if found.n_uncompared:
        prose(console, f"{found.n_uncompared} answers are missing in one of the two.")
