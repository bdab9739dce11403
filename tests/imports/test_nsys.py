"""Nsight Systems' exports, in databases made after its schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from poolbench.imports.damage import Damaged
from tests.imports.reading import column, counts, ops, read

TABLES = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, streamId INTEGER,
  correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, streamId INTEGER,
  correlationId INTEGER, syncType INTEGER, eventId INTEGER{sync});
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId INTEGER, correlationId INTEGER,
  eventId INTEGER{sync});
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, address INTEGER, bytes INTEGER,
  memKind INTEGER, memoryOperationType INTEGER, correlationId INTEGER{stream});
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, operationType INTEGER,
  correlationId INTEGER, minBytesToKeep INTEGER);
INSERT INTO StringIds VALUES (1, 'gemm');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 1, 1, 0), (200, 210, 1, 2, 0),
  (300, 310, 1, 3, 0), (400, 410, 1, 4, 0), (500, 510, 1, 5, 0), (600, 610, 1, 6, 0),
  (700, 9000, 1, 7, 0), (9100, 9110, 1, 8, 0), (9200, 9210, 1, 9, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 6000, 0, 13, 2, 0, 1, 4, 2, 1, 64, 2, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6100, 6200, 14, 5, 4096, 1, 1, 2);
"""
NEW = (
    TABLES.format(sync=", eventSyncId INTEGER", stream=", streamId INTEGER")
    + """
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (105, 4096, 1048576, 2, 0, 1, 13),
  (106, 8192, 100, 1, 0, 1, 13), (605, 4096, 1048576, 2, 1, 6, 14);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (13, 3, 77, 5);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (405, 406, 14, 4, 2, 77, 5),
  (705, 8999, 14, 7, 3, 0, 0), (9105, 9106, 0, 8, 4, 0, 0);
INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (9205, 3, 9, 65536), (50, 1, 0, 0);
"""
)
OLD = (
    TABLES.format(sync="", stream="")
    + """
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (105, 4096, 1048576, 2, 0, 1),
  (605, 4096, 1048576, 2, 1, 6);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (13, 3, 77);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (405, 406, 14, 4, 2, 77),
  (705, 8999, 14, 7, 3, 0), (9105, 9106, 0, 8, 4, 0);
"""
)


def export(folder: Path, script: str) -> Path:
    path = folder / "report.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


def test_everything_in_the_order_of_calls(tmp_path: Path) -> None:
    """Allocation, kernel, event, copy, free on another stream, synchronisations, trim."""
    builder, built = read(export(tmp_path, NEW))
    assert ops(built) == [
        "alloc",
        "kernel",
        "record",
        "wait",
        "memcpy",
        "free",
        "sync_stream",
        "sync_device",
        "trim",
    ]
    assert column(built, "stream") == [0, 0, 0, 1, 1, 1, 1, -1, -1]
    assert column(built, "duration_ns")[1] == 5000
    assert (column(built, "blocks")[1], column(built, "threads")[1]) == (8, 128)
    assert column(built, "size")[-1] == 65536
    assert built.workload.names == ("gemm",)
    assert builder.fidelity.lost == {"allocations of memory that is not the device's": 1}


def test_an_older_version_has_no_stream_on_allocations(tmp_path: Path) -> None:
    """Guessed from the next work of the thread, and said to be; events go by their number."""
    builder, built = read(export(tmp_path, OLD))
    assert ops(built)[:6] == ["alloc", "kernel", "record", "wait", "memcpy", "free"]
    assert column(built, "stream")[:6] == [0, 0, 0, 1, 1, 0]
    assert sum(builder.fidelity.guessed.values()) == 1


def test_without_memory_events_it_says_how_to_get_them(tmp_path: Path) -> None:
    """The profiler leaves them out unless asked."""
    path = export(tmp_path, NEW + "DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS;")
    builder, built = read(path)
    assert "alloc" not in counts(built)
    assert any("--cuda-memory-usage=true" in note for note in builder.fidelity.notes)


def test_what_is_no_export(tmp_path: Path) -> None:
    """Another database, and a damaged one."""
    other = export(tmp_path, "CREATE TABLE notes (text TEXT);")
    with pytest.raises(Damaged, match="no tables of CUDA work"):
        read(other)
    data = bytearray(export(tmp_path / "", "CREATE TABLE more (text TEXT);").read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    other.write_bytes(data)
    with pytest.raises(Damaged, match="no readable SQLite file"):
        read(other)
