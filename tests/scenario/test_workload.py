"""The file of recorded steps: read as written, by pandas too, and refused when damaged."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolbench.scenario import workload as module
from poolbench.scenario.workload import (
    COLUMNS,
    OP,
    BadWorkload,
    Workload,
    check,
    read,
    to_bytes,
    write,
)


def rows(*steps: tuple[str, dict[str, int]]) -> Workload:
    columns = {
        name: np.full(len(steps), -1, dtype=kind) for name, kind in COLUMNS.items() if name != "op"
    }
    columns["op"] = np.array([OP[op] for op, _ in steps], dtype="u1")
    for row, (_, cells) in enumerate(steps):
        for name, value in cells.items():
            columns[name][row] = value
    return Workload(columns=columns, streams=("a", "b"), buffers=("lasting",), names=("gemm",))


GOOD = rows(
    ("alloc", {"stream": 0, "buffer": 1, "size": 64}),
    ("kernel", {"stream": 0, "duration_ns": 5, "blocks": 1, "threads": 32, "name": 0}),
    ("record", {"stream": 0, "event": 0}),
    ("wait", {"stream": 1, "event": 0}),
    ("free", {"stream": 1, "buffer": 1}),
    ("memset", {"stream": 1, "buffer": 0, "size": 8}),
    ("sync_device", {}),
)


def test_read_as_written(tmp_path: Path) -> None:
    """Every column, and the names."""
    path = tmp_path / "x.steps.npz"
    write(path, GOOD)
    found = read(path)
    for name in COLUMNS:
        assert found.columns[name].tolist() == GOOD.columns[name].tolist()
    assert (found.streams, found.buffers, found.names) == (("a", "b"), ("lasting",), ("gemm",))


def test_pandas_reads_it(tmp_path: Path) -> None:
    """As the documentation says."""
    path = tmp_path / "x.steps.npz"
    write(path, GOOD)
    archive = np.load(path)
    frame = pd.DataFrame({name: archive[name] for name in archive.files if name != "meta"})
    assert list(frame.columns) == list(COLUMNS) or set(frame.columns) == set(COLUMNS)
    assert len(frame) == 7


@pytest.mark.parametrize(
    ("row", "cells", "told"),
    [
        (0, {"stream": 2}, "step 1: a alloc on a stream"),
        (0, {"size": 0}, "step 1: an allocation of nothing"),
        (0, {"buffer": 2}, "not counted in order"),
        (1, {"duration_ns": -5}, "step 2: a duration_ns below 0"),
        (1, {"name": 1}, "step 2: a name"),
        (1, {"op": 99}, "step 2: an unknown operation"),
        (2, {"event": -1}, "step 3: a record without an event"),
        (2, {"event": 1}, "no step before it records"),
        (4, {"buffer": 0}, "step 5: a free of what was not allocated"),
        (5, {"buffer": 7}, "step 6: a buffer that is not there"),
        (6, {"event": 10_000}, "an event that no step records"),
    ],
)
def test_rows_that_are_no_steps(row: int, cells: dict[str, int], told: str) -> None:
    """The first bad one is named."""
    columns = {name: array.copy() for name, array in GOOD.columns.items()}
    for name, value in cells.items():
        columns[name][row] = value
    with pytest.raises(BadWorkload, match=told):
        check(replace(GOOD, columns=columns))


def test_a_second_free() -> None:
    """Of one allocation."""
    with pytest.raises(BadWorkload, match="step 3: a second free"):
        check(
            rows(
                ("alloc", {"stream": 0, "buffer": 1, "size": 64}),
                ("free", {"stream": 0, "buffer": 1}),
                ("free", {"stream": 0, "buffer": 1}),
            )
        )


def archive(**changed: Any) -> bytes:
    """A good file with other arrays in it; `None` leaves one out."""
    with np.load(io.BytesIO(to_bytes(GOOD))) as found:
        arrays = {name: found[name] for name in found.files}
    arrays |= changed
    out = io.BytesIO()
    np.savez(out, **{name: array for name, array in arrays.items() if array is not None})
    return out.getvalue()


def meta(**changed: Any) -> np.ndarray[Any, Any]:
    with np.load(io.BytesIO(to_bytes(GOOD))) as found:
        return np.array(json.dumps(json.loads(str(found["meta"])) | changed))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no NumPy archive"),
        (b"PK\x03\x04 and no more", "no NumPy archive"),
        (to_bytes(GOOD)[:-40], "no NumPy archive"),
        (archive(meta=None), "holds no poolbench workload"),
        (archive(meta=np.array("{")), "holds no poolbench workload"),
        (archive(meta=meta(version=2)), "version 2"),
        (archive(meta=meta(ops=["fly"])), "operations"),
        (archive(meta=meta(streams=[1])), "its streams are no names"),
        (archive(size=None), "the column size is missing"),
        (archive(size=np.zeros((7, 2), "i8")), "the column size is no row"),
        (archive(size=np.zeros(7, "f8")), "the column size is no row"),
        (archive(size=np.zeros(6, "i8")), "differ in length"),
        (archive(size=np.array([object()] * 7)), "a pickle in it"),
    ],
)
def test_files_that_are_no_workloads(tmp_path: Path, data: bytes, told: str) -> None:
    """Empty, cut short, of another version, with pickles in it."""
    path = tmp_path / "x.steps.npz"
    path.write_bytes(data)
    with pytest.raises(BadWorkload, match=told):
        read(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """A small archive of a great many zeros."""
    path = tmp_path / "x.steps.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("size.npy", "w", force_zip64=True) as out,
    ):
        for _ in range(module.MAX_BYTES // 2**20 + 1):
            out.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    with pytest.raises(BadWorkload, match="larger than"):
        read(path)


@given(at=st.integers(0, 10_000), bits=st.integers(1, 255), n=st.integers(1, 8))
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_is_found_or_harmless(tmp_path: Path, at: int, bits: int, n: int) -> None:
    """Whatever bytes change: the file is refused, or what it holds is a workload."""
    data = bytearray(to_bytes(GOOD))
    for k in range(n):
        data[(at + 97 * k) % len(data)] ^= bits
    path = tmp_path / "x.steps.npz"
    path.write_bytes(data)
    with contextlib.suppress(BadWorkload):
        check(read(path))
