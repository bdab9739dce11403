"""RMM's logs: every dialect, and what is wrong with a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.domain import StreamKind
from poolbench.imports.builder import Assumed
from poolbench.imports.damage import Damaged
from tests.imports.reading import REAL, column, counts, ops, read, text_file

NOW = "Thread,Time,Action,Pointer,Size,Stream"
DIALECTS = {
    "today": f"""{NOW}
1,15:47:02.841961,allocate,0x10012400000,1048576,0x7f00
1,15:47:02.841977,free,0x10012400000,1048576,0x7f00
""",
    "fmt, null as 0x0": f"""{NOW}
1,15:47:02.841961,allocate,0x10012400000,1048576,0x7f00
1,15:47:02.841977,allocate failure,0x0,1048576,0x7f00
1,15:47:02.841977,free,0x10012400000,1048576,0x7f00
""",
    "colon before the microseconds": f"""{NOW}
1,15:47:02:841961,allocate,0x10012400000,1048576,0x7f00
1,15:47:02:841977,free,0x10012400000,1048576,0x7f00
""",
    "no thread": """Time,Action,Pointer,Size,Stream
15:47:02:841961,allocate,0x10012400000,1048576,0x7f00
15:47:02:841977,free,0x10012400000,1048576,0x7f00
""",
    "the documentation's": f"""{NOW}
1,1634000000.5,allocate,0x10012400000,1048576,0x7f00
1,1634000000.6,deallocate,0x10012400000,1048576,0x7f00
""",
    "the C API's of 2018": """\
Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,\
End,Elapsed,Location
Alloc,0,0x10012400000,0x7f00,1048576,5,6,1,0.1,0.2,0.1,a.cu:3
Free,0,0x10012400000,0x7f00,0,5,6,0,0.3,0.4,0.1,a.cu:4
""",
}


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_says_the_same(tmp_path: Path, text: str) -> None:
    """One block, allocated and freed on one stream."""
    builder, built = read(text_file(tmp_path, text))
    assert ops(built) == ["alloc", "free"]
    assert column(built, "size")[0] == 1048576
    assert built.kinds == (StreamKind.NON_BLOCKING,)
    assert builder.fidelity.kept == {"allocations": 1, "frees": 1}


def test_default_streams_are_told_apart(tmp_path: Path) -> None:
    """0, 0x0 and 0x1 are the legacy stream, 0x2 is the thread's own."""
    lines = "".join(
        f"1,00:00:00.000000,allocate,{hex(4096 * k)},64,{stream}\n"
        for k, stream in enumerate(("0", "0x0", "0x1", "0x2", "0x7f"), 1)
    )
    _, built = read(text_file(tmp_path, f"{NOW}\n{lines}"))
    assert built.workload.streams == ("legacy_default", "per_thread_default", "s2")
    assert column(built, "stream") == [0, 0, 0, 1, 2]


def test_time_between_calls_is_kept_and_wraps_at_midnight(tmp_path: Path) -> None:
    """As work of the host."""
    text = f"""{NOW}
1,23:59:59.999900,allocate,0x1000,64,0x7f
1,00:00:00.000100,free,0x1000,64,0x7f
"""
    _, built = read(text_file(tmp_path, text), Assumed(kernel_ns=0))
    assert ops(built) == ["alloc", "host", "free"]
    assert column(built, "duration_ns")[1] == 200_000


def test_a_kernel_is_assumed_after_each_allocation(tmp_path: Path) -> None:
    """And said to be guessed."""
    path = text_file(tmp_path, DIALECTS["today"])
    builder, built = read(path, Assumed(kernel_ns=7000, keeps_host=False))
    assert ops(built) == ["alloc", "kernel", "free"]
    assert column(built, "duration_ns")[1] == 7000
    assert builder.fidelity.guessed == {"kernels, one after each allocation": 1}


def test_pointers_come_again(tmp_path: Path) -> None:
    """A free belongs to the latest allocation; a free without one is lost, not invented."""
    text = f"""{NOW}
1,00:00:00.000001,free,0x9000,64,0x7f
1,00:00:00.000002,allocate,0x1000,64,0x7f
1,00:00:00.000003,free,0x1000,64,0x7f
1,00:00:00.000004,allocate,0x1000,128,0x7f
1,00:00:00.000005,allocate,0x1000,256,0x7f
1,00:00:00.000006,free,0x1000,256,0x7f
"""
    builder, built = read(text_file(tmp_path, text))
    assert counts(built) == {"alloc": 3, "free": 2}
    assert column(built, "buffer") == [0, 0, 1, 2, 2]
    assert builder.fidelity.lost == {
        "frees of what was allocated before the file begins": 1,
        "frees that the file does not have (the address came again)": 1,
    }


@pytest.mark.parametrize(
    ("line", "place", "told"),
    [
        ("1,00:00:00.000001,allocate,0x1000,64", (3, 1), "5 columns"),
        ("1,00:00:00.000001,grow,0x1000,64,0x7f", (3, 3), "no such action: 'grow'"),
        ("1,00:00:00.000001,allocate,zero,64,0x7f", (3, 4), "no address: 'zero'"),
        ("1,00:00:00.000001,allocate,0x1000,-64,0x7f", (3, 5), "no number of bytes: '-64'"),
        ("1,noon,allocate,0x1000,64,0x7f", (3, 2), "no time: 'noon'"),
    ],
)
def test_a_damaged_line_has_its_place(
    tmp_path: Path, line: str, place: tuple[int, int], told: str
) -> None:
    """Line and column."""
    good = "1,00:00:00.000001,allocate,0x5000,64,0x7f"
    path = text_file(tmp_path, f"{NOW}\n{good}\n{line}\n")
    with pytest.raises(Damaged, match=told) as caught:
        read(path, Assumed())
    assert (caught.value.line, caught.value.column) == place


def test_a_log_that_rmm_wrote() -> None:
    """All of it: 600 allocations on four streams, each freed."""
    builder, built = read(REAL / "rmm.dev0.csv")
    assert counts(built) == {"alloc": 600, "free": 600}
    assert len(built.kinds) == 4
    assert not builder.fidelity.lost


def test_a_log_with_a_failure_that_rmm_wrote() -> None:
    """Failures are counted; whether they fail again is for the run to show."""
    builder, built = read(REAL / "rmm_fail.dev0.csv")
    assert counts(built) == {"alloc": 64, "free": 64}
    assert builder.fidelity.lost == {
        "allocations that failed: whether they fail here, the run shows": 1
    }
