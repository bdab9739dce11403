"""Any program at all: a workload that passes its own checks, with nothing lost unsaid.

More examples: `HYPOTHESIS_MAX_EXAMPLES=20000 pytest tests/recording/test_properties.py`.
"""

from __future__ import annotations

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.errors import BadUsage
from poolbench.recording.memory import Plain
from poolbench.recording.raw import WIDTH, MemoryCode, What
from poolbench.recording.read import Recording
from poolbench.scenario.workload import check
from tests.recording.tape import A, B, Read, Tape

N = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "80"))
many = settings(max_examples=N, deadline=None)

STREAMS = st.sampled_from((0, 2, A, B))
ADDRESSES = st.sampled_from(tuple(range(0x1000, 0x9000, 0x1000)))


@st.composite
def sound_programs(draw: st.DrawFn) -> tuple[Tape, dict[str, int]]:
    """A program as a driver would let it run, and how often it does what."""
    tape = Tape(gap_ns=draw(st.integers(0, 5000)))
    live: dict[int, int] = {}
    recorded: set[int] = set()
    n = dict.fromkeys(("alloc", "free", "kernel", "memcpy", "record", "wait"), 0)
    for _ in range(draw(st.integers(1, 40))):
        kind = draw(st.sampled_from(tuple(n)))
        stream = draw(STREAMS)
        thread = draw(st.integers(1, 3))
        if kind == "alloc":
            address = draw(ADDRESSES)
            if address in live:
                continue
            live[address] = stream
            tape.alloc(address, draw(st.integers(1, 2**34)), stream, thread=thread)
        elif kind == "free":
            if not live:
                continue
            address = draw(st.sampled_from(sorted(live)))
            del live[address]
            tape.free(address, stream, thread=thread)
        elif kind == "kernel":
            tape.kernel(draw(st.integers(0, 10**6)), stream, thread=thread)
        elif kind == "memcpy":
            source = draw(st.sampled_from((MemoryCode.PINNED, MemoryCode.DEVICE)))
            tape.copy(draw(st.integers(1, 2**30)), source, MemoryCode.DEVICE, stream)
        elif kind == "record":
            event = draw(st.integers(1, 3))
            recorded.add(event)
            tape.call(What.RECORD, stream=stream, a=event)
        else:
            event = draw(st.integers(1, 3))
            if event not in recorded:
                continue
            tape.call(What.WAIT, stream=stream, a=event)
        n[kind] += 1
    return tape, n


@given(made=sound_programs(), seed=st.integers(0, 99))
@many
def test_a_sound_program_loses_nothing(made: tuple[Tape, dict[str, int]], seed: int) -> None:
    """Every call is a step, in whatever order the rows were taken down."""
    tape, wanted = made
    if not sum(wanted.values()):
        return
    read = Read(tape.recording(shuffled=seed))
    check(read.built.workload)
    assert {kind: read.ops.count(kind) for kind in wanted} == wanted
    assert not read.lost


@given(
    cells=st.lists(
        st.tuples(
            st.sampled_from([*map(int, What), -5, 77]),
            *[st.one_of(st.integers(0, 5), st.integers(-(2**63), 2**63 - 1))] * (WIDTH - 1),
        ),
        min_size=1,
        max_size=25,
    ),
    plain=st.sampled_from(Plain),
)
@many
def test_any_rows_at_all(cells: list[tuple[int, ...]], plain: Plain) -> None:
    """A workload, or an error that the command reports."""
    rows = np.array(cells, dtype=np.int64).reshape(len(cells), WIDTH)
    try:
        read = Read(Recording(rows=rows, texts=("a",)), plain=plain, host=True)
    except BadUsage:
        return
    check(read.built.workload)
