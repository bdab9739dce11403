"""The registry of everything a table or a CSV can show: key, title, unit, explanation.

Pure.  One entry drives the CSV header, the table header, `poolbench explain`, and the conversion of
units in expectations.  Keys are the CSV's column names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    TEXT = ""
    COUNT = "count"
    MICROSECONDS = "us"
    BYTES = "B"
    RATIO = "ratio"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    key: str
    title: str
    unit: Unit
    meaning: str


def _column(key: str, title: str, unit: Unit, meaning: str) -> Column:
    return Column(key=key, title=title, unit=unit, meaning=meaning)


_OUTCOME = "Allocations of the traced run with the outcome of this name (all iterations)."

_PATH = (
    "Part of the traced makespan, along the critical path, mean of the iterations after the first: "
)

COLUMNS: tuple[Column, ...] = (
    _column("scenario", "scenario", Unit.TEXT, "The scenario's name."),
    _column(
        "backend",
        "backend",
        Unit.TEXT,
        "cuda: measured on a GPU.  model: predicted by the simulation, not measured.",
    ),
    _column("device", "device", Unit.TEXT, "The GPU's name, or the model's device profile."),
    _column("driver", "driver", Unit.TEXT, "Version of the kernel driver."),
    _column("attribute_set", "row", Unit.TEXT, "The row: an attribute set or a baseline."),
    _column(
        "follow_event_dependencies",
        "follow",
        Unit.FLAG,
        "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES as set and read back.",
    ),
    _column(
        "allow_opportunistic",
        "opportunistic",
        Unit.FLAG,
        "CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC as set and read back.",
    ),
    _column(
        "allow_internal_dependencies",
        "internal",
        Unit.FLAG,
        "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES as set and read back.",
    ),
    _column(
        "release_threshold",
        "threshold",
        Unit.BYTES,
        "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD in force: free bytes kept at a synchronisation.",
    ),
    _column("status", "status", Unit.TEXT, "How the case ended; `reason` in run.json says why."),
    _column("repeats", "repeats", Unit.COUNT, "Timed repetitions that ended ok."),
    _column(
        "makespan_us_median",
        "makespan",
        Unit.MICROSECONDS,
        "Event time from just before the first step to the end of the last work of every stream; "
        "median over repetitions of the timed pass (and over iterations after the first).",
    ),
    _column("makespan_us_min", "min", Unit.MICROSECONDS, "The smallest of the same makespans."),
    _column(
        "makespan_us_iqr",
        "± IQR",
        Unit.MICROSECONDS,
        "Interquartile range of the same makespans: the noise of this row.",
    ),
    _column(
        "makespan_cold_us_median",
        "cold",
        Unit.MICROSECONDS,
        "Makespan of the first iteration alone, which pays for growth; only with iterations.",
    ),
    _column(
        "host_us_median",
        "issue",
        Unit.MICROSECONDS,
        "Host time until all steps were issued, median over the timed pass.",
    ),
    _column(
        "alloc_host_us_median",
        "alloc host",
        Unit.MICROSECONDS,
        "Host time of one allocation call in the traced pass, median.",
    ),
    _column(
        "alloc_host_us_max",
        "worst",
        Unit.MICROSECONDS,
        "Host time of the slowest allocation call in the traced pass.",
    ),
    _column(
        "free_host_us_median",
        "free host",
        Unit.MICROSECONDS,
        "Host time of one free call in the traced pass, median.",
    ),
    _column(
        "sync_host_us_median",
        "sync host",
        Unit.MICROSECONDS,
        "Host time of one sync step in the traced pass, median (closing syncs not counted).",
    ),
    _column(
        "sync_host_us_max",
        "sync worst",
        Unit.MICROSECONDS,
        "Host time of the slowest sync step in the traced pass.",
    ),
    _column("n_allocs", "allocs", Unit.COUNT, "Allocations of the traced run, all iterations."),
    _column(
        "n_inserted_waits",
        "waits",
        Unit.COUNT,
        "Allocations for which the driver made the stream wait for another stream's free "
        "(outcome internal_dependency).",
    ),
    _column(
        "inserted_wait_us_total",
        "wait total",
        Unit.MICROSECONDS,
        "Time that streams stood still for inserted waits: event time of those allocations less "
        "the event floor, summed.",
    ),
    _column("n_same_stream", "same", Unit.COUNT, _OUTCOME),
    _column("n_event_ordered", "event", Unit.COUNT, _OUTCOME),
    _column("n_host_ordered", "host", Unit.COUNT, _OUTCOME),
    _column("n_opportunistic", "opport.", Unit.COUNT, _OUTCOME),
    _column("n_slack", "slack", Unit.COUNT, _OUTCOME),
    _column("n_remapped", "remap", Unit.COUNT, _OUTCOME),
    _column("n_grown", "grown", Unit.COUNT, _OUTCOME),
    _column("n_internal_dependency", "internal", Unit.COUNT, _OUTCOME),
    _column(
        "n_out_of_memory",
        "OOM",
        Unit.COUNT,
        "Allocation calls that failed with out of memory, those that a retry got through included.",
    ),
    _column(
        "reserved_high_bytes",
        "reserved",
        Unit.BYTES,
        "High mark of the memory that the pool holds from the device.",
    ),
    _column("used_high_bytes", "used", Unit.BYTES, "High mark of the bytes that were allocated."),
    _column(
        "asked_high_bytes",
        "asked",
        Unit.BYTES,
        "Most bytes that were asked for and not yet freed, in the order of the host's calls; what "
        "is reserved beyond it is waste.",
    ),
    _column(
        "graph_reserved_high_bytes",
        "graph reserved",
        Unit.BYTES,
        "High mark of the memory that the driver holds for graphs, outside of every pool; only with"
        " graphs.",
    ),
    _column(
        "graph_used_high_bytes",
        "graph used",
        Unit.BYTES,
        "High mark of the bytes that graphs had allocated.",
    ),
    _column(
        "overlap",
        "overlap",
        Unit.RATIO,
        "Busy time (kernels, copies, memsets) summed over streams / makespan, traced pass: 1 = one "
        "thing at a time.",
    ),
    _column(
        "lost_overlap_us",
        "lost overlap",
        Unit.MICROSECONDS,
        "Time for which two streams could have had work running together, were every step to start "
        "as soon as the scenario lets it, and did not: summed over pairs of streams, traced pass.",
    ),
    _column(
        "path_work_us",
        "path: work",
        Unit.MICROSECONDS,
        _PATH + "kernels, copies and memsets.",
    ),
    _column(
        "path_explicit_wait_us",
        "explicit waits",
        Unit.MICROSECONDS,
        _PATH + "from the end of what an event, a latch or a synchronisation waited for until it "
        "went on.",
    ),
    _column(
        "path_inserted_wait_us",
        "inserted waits",
        Unit.MICROSECONDS,
        _PATH + "a stream stood still for a dependency that the driver inserted.",
    ),
    _column(
        "path_growth_us",
        "growth",
        Unit.MICROSECONDS,
        _PATH
        + "the host was in an allocation call that mapped memory, and nothing else could run.",
    ),
    _column(
        "path_retry_us",
        "retries",
        Unit.MICROSECONDS,
        _PATH + "the host was in an allocation that failed, synchronised and tried again.",
    ),
    _column(
        "path_host_call_us",
        "host calls",
        Unit.MICROSECONDS,
        _PATH + "the host was in any other call and had not issued what comes next.",
    ),
    _column(
        "path_host_own_us",
        "host own",
        Unit.MICROSECONDS,
        _PATH + "the host was between calls and had not issued what comes next: its own work, and "
        "the tracing.",
    ),
    _column(
        "path_contention_us",
        "contention",
        Unit.MICROSECONDS,
        _PATH + "a step could have run but did not yet: others held what it needs, or the device's "
        "latency.",
    ),
    _column(
        "path_rest_us",
        "rest",
        Unit.MICROSECONDS,
        _PATH + "before the first call and after the last work: the outer events.",
    ),
    _column(
        "tracing_ratio",
        "traced/timed",
        Unit.RATIO,
        "Makespan of the traced run over the median of the timed runs: how much tracing disturbed.",
    ),
    _column(
        "n_latch_timeouts",
        "latch opened",
        Unit.COUNT,
        "Latches that the watchdog had to open: a host call was blocked by a held stream.",
    ),
    _column(
        "n_corrupt_bytes",
        "corrupt",
        Unit.BYTES,
        "Bytes that a check found different from their fill; none is the only right answer.",
    ),
)
"""All columns in the order of the CSV; `axis_<name>` columns follow them."""

BY_KEY: dict[str, Column] = {column.key: column for column in COLUMNS}
