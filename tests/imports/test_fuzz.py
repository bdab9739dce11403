"""Damaged and random files: an error with a place, or a workload; never anything else.

More examples: `HYPOTHESIS_MAX_EXAMPLES=20000 pytest tests/imports/test_fuzz.py`.
"""

from __future__ import annotations

import gzip
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolbench.errors import BadUsage
from poolbench.imports import detect
from poolbench.imports.builder import Assumed, Builder
from poolbench.imports.damage import Damaged
from poolbench.imports.detect import Format
from poolbench.scenario.workload import check
from tests.imports.reading import REAL
from tests.imports.test_lines import EVERYTHING
from tests.imports.test_nsys import NEW

N = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "60"))
many = settings(
    max_examples=N, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(NEW)
        return made.serialize()


def head_of(name: str) -> bytes:
    whole = gzip.decompress((REAL / name).read_bytes())
    return whole[:40_000] + b"]}"


SEEDS: dict[Format, bytes] = {
    Format.RMM: (REAL / "rmm.dev0.csv").read_bytes()[:8000],
    Format.TORCH_SNAPSHOT: (REAL / "torch_snapshot.pickle").read_bytes(),
    Format.KINETO: head_of("torch_caching.trace.json.gz"),
    Format.NSYS: database(),
    Format.LINES: EVERYTHING.encode(),
}


def survives(path: Path, chosen: Format | None) -> None:
    """An error that the command reports, or a workload that passes its own checks."""
    builder = Builder()
    try:
        found = chosen or detect.format_of(path)
        recorded = detect.read(path, found, builder, Assumed(), lambda _: None)
        check(builder.build(recorded).workload)
    except (Damaged, BadUsage):
        pass


@pytest.mark.parametrize("chosen", Format)
@given(data=st.data())
@many
def test_mutated_files(tmp_path: Path, chosen: Format, data: st.DataObject) -> None:
    """Bytes changed, cut out, doubled; the end missing."""
    found = bytearray(SEEDS[chosen])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(0, len(found) - 1)))
        length = data.draw(st.integers(1, 60))
        match data.draw(st.sampled_from(("set", "cut", "double", "end", "insert"))):
            case "set":
                found[at : at + 1] = data.draw(st.binary(min_size=1, max_size=4))
            case "cut":
                del found[at : at + length]
            case "double":
                found[at:at] = found[at : at + length]
            case "insert":
                found[at:at] = data.draw(st.binary(max_size=20))
            case _:
                del found[at:]
    path = tmp_path / "file"
    path.write_bytes(found)
    survives(path, chosen)
    survives(path, None)


@pytest.mark.parametrize("chosen", Format)
@given(data=st.binary(max_size=400))
@many
def test_random_files(tmp_path: Path, chosen: Format, data: bytes) -> None:
    """Nothing but noise, taken for each format."""
    path = tmp_path / "file"
    path.write_bytes(data)
    survives(path, chosen)
    survives(path, None)
    path.write_bytes(gzip.compress(data)[: max(4, len(data) // 2)])
    survives(path, chosen)
