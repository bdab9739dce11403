"""What the letters, rows and columns of tables stand for: only those that occur.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from poolbench.domain import PRESETS, AttributeSet, Baseline, Outcome, Status
from poolbench.glossary import BASELINES, OUTCOMES, STATUSES, TERMS
from poolbench.results.derived import OVER_DEFAULT, OVER_PREALLOCATED, VERDICT
from poolbench.results.numbers import threshold_text
from poolbench.results.record import RunRecord
from poolbench.results.table import PATH, REUSE, Table

Entry = tuple[str, str]
"""(what stands in the table, what it means)."""

_REUSE_TITLES: dict[str, tuple[str, Outcome]] = {
    "n_same_stream": ("same", Outcome.SAME_STREAM),
    "n_host_ordered": ("host", Outcome.HOST_ORDERED),
    "n_event_ordered": ("event", Outcome.EVENT_ORDERED),
    "n_opportunistic": ("opport.", Outcome.OPPORTUNISTIC),
    "n_slack": ("slack", Outcome.SLACK),
    "n_remapped": ("remap", Outcome.REMAPPED),
    "n_grown": ("grown", Outcome.GROWN),
}


def legend(records: Sequence[RunRecord], tables: Sequence[Table]) -> tuple[Entry, ...]:
    """Entries for everything that occurs in these tables, in the order of the columns."""
    keys = frozenset[str]().union(*(table.keys for table in tables))
    entries = [*_rows(records)]
    entries += _columns(keys)
    found = {result.status for record in records for result in record.cases}
    entries += [
        (status.value, STATUSES[status].short)
        for status in Status
        if status in found and status is not Status.OK
    ]
    return tuple(entries)


def _rows(records: Sequence[RunRecord]) -> list[Entry]:
    rows = dict.fromkeys(result.case.row for record in records for result in record.cases)
    entries: list[Entry] = []
    if any(isinstance(row, AttributeSet) for row in rows):
        entries.append(
            (
                "f o i",
                "follow_event_dependencies, allow_opportunistic, allow_internal_dependencies: "
                "1 on, 0 off",
            )
        )
    if any(record.is_predicted for record in records):
        entries.append(("by model", TERMS["predicted"].short))
    entries += [(row.value, BASELINES[row].short) for row in Baseline if row in rows]
    entries += [(row.name, preset_text(row)) for row in PRESETS if row in rows]
    return entries


def preset_text(preset: AttributeSet) -> str:
    """`1 1 1, threshold max; set by PyTorch, ...`."""
    if preset.threshold_is_pool_size:
        threshold = "the pool's size"
    else:
        threshold = threshold_text(preset.release_threshold)
    return f"{' '.join(preset.bits)}, threshold {threshold}: as set by {preset.set_by}"


def _columns(keys: frozenset[str]) -> list[Entry]:
    entries: list[Entry] = [("makespan", TERMS["makespan"].short)]
    if "makespan_us_iqr" in keys:
        entries.append(("± IQR", TERMS["iqr"].short))
    if "makespan_cold_us_median" in keys:
        entries.append(("cold", "makespan of the first iteration alone, which pays for growth"))
    if OVER_PREALLOCATED in keys:
        entries.append(("×prealloc", "makespan over that of the row preallocated"))
    if OVER_DEFAULT in keys:
        entries.append(("×default, ×111", "makespan over that of the row default, or else 111"))
    if VERDICT in keys:
        entries.append(
            ("verdict", "of that ratio, by its interval: undecided where that is too wide")
        )
    entries.append(("waits", "allocations that the driver made wait for a free on another stream"))
    if "inserted_wait_us_total" in keys:
        entries.append(("wait total", "how long streams stood still for these waits"))
    if "alloc_host_us_median" in keys:
        entries.append(("alloc host, worst", "host time of one allocation call: median, slowest"))
    if "free_host_us_median" in keys:
        entries.append(("free host", "host time of one free call: median"))
    for key in REUSE:
        if key in keys:
            title, outcome = _REUSE_TITLES[key]
            entries.append((f"allocs {title}", f"served by {OUTCOMES[outcome].short}"))
    entries.append(("OOM", "calls that failed, those that a retry got through included"))
    if "reserved_high_bytes" in keys:
        entries.append(("reserved, used", f"peaks: {TERMS['reserved'].short}; asked for"))
    if "graph_reserved_high_bytes" in keys:
        entries.append(("graph reserved", "peak of what is held for graphs, outside of the pool"))
    if "overlap" in keys:
        entries.append(("overlap", "busy time summed over streams / makespan: 1 = one at a time"))
    if "sync_host_us_median" in keys:
        entries.append(("sync host, worst", "host time of one sync step: median, slowest"))
    if "n_latch_timeouts" in keys:
        entries.append(("latch opened", "latches that the watchdog opened: the host was blocked"))
    if "n_corrupt_bytes" in keys:
        entries.append(("corrupt", "bytes that a check found different from their fill"))
    if keys.intersection(PATH):
        entries.append(
            (
                "path: ...",
                "the traced run's critical path, walked back from its end: where its makespan went "
                "(poolbench explain path_work_us, ...)",
            )
        )
    return entries
