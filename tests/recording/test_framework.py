"""PyTorch's own history among the recorded calls."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from poolbench.recording.framework import joined
from poolbench.recording.make import Program, make
from poolbench.recording.memory import Plain
from poolbench.recording.raw import What
from poolbench.scenario.load import load
from poolbench.scenario.workload import OPS
from tests.recording.tape import MIB, A, Read, Tape


def event(action: str, at_ns: int, address: int, size: int = MIB, stream: int = A) -> Any:
    return {
        "action": action, "addr": address, "size": size, "stream": stream, "time_us": at_ns // 1000,
    }  # fmt: skip


def snapshot(*events: Any) -> Any:
    return {"device_traces": [[], list(events)], "segments": []}


def caching_program() -> tuple[Tape, Any]:
    """A segment, and two blocks of it, each used by a kernel."""
    tape = Tape(gap_ns=20_000)
    tape.call(What.PLAIN_ALLOC, a=0x1000, b=20 * MIB)
    first = tape.now
    tape.now += 10_000
    tape.kernel(name="one")
    second = tape.now + 5000
    tape.now += 10_000
    tape.kernel(name="two")
    tape.call(What.SYNC_DEVICE)
    history = snapshot(
        event("segment_alloc", first, 0x1000, 20 * MIB),
        event("alloc", first + 2000, 0x1000, 3 * MIB),
        event("free_requested", second, 0x1000, 3 * MIB),
        event("free_completed", second, 0x1000, 3 * MIB),
        event("alloc", second + 2000, 0x1000, 5 * MIB),
    )
    return tape, history


def test_allocations_stand_between_the_calls() -> None:
    """Where PyTorch made them, on its streams; the segments are left out."""
    tape, history = caching_program()
    whole = joined(tape.recording(), history)
    assert whole is not None
    read = Read(whole, plain=Plain.DROP)
    assert read.ops == ["alloc", "kernel", "free", "alloc", "kernel", "sync_device"]
    assert [size for size in read.column("size") if size > 0] == [3 * MIB, 5 * MIB]
    assert read.column("stream")[:5] == [0] * 5


def test_a_history_of_another_time_does_not_fit() -> None:
    """Two clocks: nothing is mixed that does not belong together."""
    tape, history = caching_program()
    for one in history["device_traces"][1]:
        one["time_us"] += 10**9
    assert joined(tape.recording(), history) is None


@pytest.mark.parametrize("odd", [None, [], {}, {"device_traces": 5}, {"device_traces": [[7]]},
                                 snapshot({"action": "alloc", "addr": "x"})])  # fmt: skip
def test_no_history(odd: Any) -> None:
    """Whatever it is."""
    tape, _ = caching_program()
    assert joined(tape.recording(), odd) is None


def test_two_scenarios_are_written(tmp_path: Path) -> None:
    """One of the driver's calls, one as if PyTorch had used the pool."""
    tape, history = caching_program()
    path = tmp_path / "history.pickle"
    path.write_bytes(pickle.dumps(history))
    program = Program(command=("python", "train.py"))
    made = make(
        tape.recording(), path, (tmp_path, "mine"), program, keeps_host=False, plain=Plain.AUTO
    )
    assert [one.path.name for one in made] == ["mine.yaml", "mine-framework.yaml"]
    sizes = []
    for one in made:
        workload = load(one.path).workload
        assert workload is not None
        is_alloc = workload.columns["op"] == OPS.index("alloc")
        sizes.append(workload.columns["size"][is_alloc].tolist())
    assert sizes == [[20 * MIB], [3 * MIB, 5 * MIB]]


def test_a_history_that_does_not_fit_stands_alone(tmp_path: Path) -> None:
    """With kernels that are assumed, and a note."""
    tape, history = caching_program()
    for one in history["device_traces"][1]:
        one["time_us"] += 10**9
    path = tmp_path / "history.pickle"
    path.write_bytes(pickle.dumps(history))
    program = Program(command=("python", "train.py"))
    _, second = make(
        tape.recording(), path, (tmp_path, "mine"), program, keeps_host=False, plain=Plain.AUTO
    )
    assert second.fidelity.guessed["kernels, one after each allocation"] == 2
    assert any("stands alone" in note for note in second.fidelity.notes)


def test_a_damaged_history_costs_only_itself(tmp_path: Path) -> None:
    """The scenario of the driver's calls is there."""
    tape, _ = caching_program()
    path = tmp_path / "history.pickle"
    path.write_bytes(b"\x80\x05oh")
    program = Program(command=("python", "train.py"))
    (made,) = make(
        tape.recording(), path, (tmp_path, "mine"), program, keeps_host=False, plain=Plain.AUTO
    )
    assert any("PyTorch's history could not be used" in note for note in made.fidelity.notes)
