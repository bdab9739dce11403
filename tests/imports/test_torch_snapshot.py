"""PyTorch's snapshots: what they hold, and that a hostile one is harmless."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from poolbench.imports.builder import Assumed
from poolbench.imports.damage import Damaged
from tests.imports.reading import REAL, column, counts, ops, read


def snapshot(folder: Path, *events: dict[str, Any]) -> Path:
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [[], list(events)]}))
    return path


def event(action: str, addr: int, size: int = 512, stream: int = 0, **more: Any) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": stream, "frames": [], **more}


def test_a_snapshot_that_pytorch_wrote() -> None:
    """Two training steps: the free without an allocation is of what was there before."""
    builder, built = read(REAL / "torch_snapshot.pickle")
    assert counts(built) == {"alloc": 358, "free": 358}
    assert built.workload.streams == ("s0", "default")
    assert builder.fidelity.lost == {"frees of what was allocated before the file begins": 1}


def test_a_free_stands_where_the_allocator_had_the_block_again(tmp_path: Path) -> None:
    """Later than asked for where another stream still used it; at once otherwise."""
    path = snapshot(
        tmp_path,
        event("alloc", 1, stream=9),
        event("free_requested", 1, stream=9),
        event("alloc", 2),
        event("free_requested", 2),
        event("free_completed", 2),
        event("free_completed", 1, stream=9),
    )
    builder, built = read(path)
    assert ops(built) == ["alloc", "alloc", "free", "free"]
    assert column(built, "buffer") == [0, 1, 1, 0]
    assert column(built, "stream") == [0, 1, 1, 0]
    assert builder.fidelity.guessed == {
        "frees that waited for another stream: put where they ended": 1
    }


def test_times_become_work_of_the_host(tmp_path: Path) -> None:
    """Where the version has them."""
    path = snapshot(
        tmp_path, event("alloc", 1, time_us=100), event("free_completed", 1, time_us=150)
    )
    _, built = read(path, Assumed(kernel_ns=0))
    assert ops(built) == ["alloc", "host", "free"]
    assert column(built, "duration_ns")[1] == 50_000


def test_what_is_not_an_allocation_is_counted(tmp_path: Path) -> None:
    """Segments, failures, and kinds of a version to come."""
    path = snapshot(
        tmp_path,
        event("segment_alloc", 1),
        event("oom", 0),
        event("snapshot", 0),
        event("teleported", 0),
        event("alloc", 1),
    )
    builder, built = read(path)
    assert ops(built) == ["alloc"]
    assert sorted(builder.fidelity.lost.values()) == [1, 1, 1]
    assert "events of a kind that is not known (teleported)" in builder.fidelity.lost


class Hostile:
    """Runs a command when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self._path}",)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_hostile_pickle_is_harmless(tmp_path: Path, protocol: int) -> None:
    """Nothing that it asks for is run, in any protocol."""
    trap = tmp_path / "sprung"
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[Hostile(trap)]]}, protocol))
    with pytest.raises(Damaged, match="it wants to run something"):
        read(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x80\x04.", "no snapshot"),
        (b"\x80\x04" + b"]" * 10, "no whole pickle"),
        (b"\x80\x04" + b"](" * 100_000 + b"e." * 100_000, "no "),
        (b"\x80\x04X\xff\xff\xff\x7f", "no whole pickle"),
        (b"\x80\x04\x8c\x02idQ.", "outside of it|no snapshot"),
        (pickle.dumps([1, 2, 3], 4), "old versions"),
        (pickle.dumps({"device_traces": 5}, 4), "device_traces"),
        (pickle.dumps({"device_traces": [[], []]}, 4), "no events"),
        (pickle.dumps({"device_traces": [["x"]]}, 4), "no mapping"),
        (pickle.dumps({"device_traces": [[{"action": "alloc", "addr": "x"}]]}, 4), "addr"),
    ],
)
def test_what_is_no_snapshot(tmp_path: Path, data: bytes, told: str) -> None:
    """Empty, cut short, without end, of an old version, of another shape."""
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(data)
    with pytest.raises(Damaged, match=told):
        read(path)
