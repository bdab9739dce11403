"""The CUDA backend's calls, against a driver that runs nothing: which are made, in which order,
with arguments that a driver takes, and that all that was made is given back.

What a GPU does with them is tested on one, under the marker `gpu`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.domain import COMBINATIONS, Baseline, OnOom, Pass, Row, Status
from poolbench.plan.plan import Plan
from poolbench.trace import NONE
from tests import fake_driver
from tests.cuda.test_language import EVERYTHING, GRAPHS, HOST_FUNCTIONS, RETRY, planned

pytestmark = pytest.mark.skipif(bool(fake_driver.why_not()), reason=fake_driver.why_not())

ROWS = [*COMBINATIONS, *Baseline]


class Driven:
    """A backend whose worker has the fake driver, and the log of its calls."""

    def __init__(self, backend: CudaBackend, log: Path) -> None:
        self._backend = backend
        self._log = log

    def run(self, plan: Plan, measured: Pass = Pass.TIMED) -> list[str]:
        """The calls of a run that ends well, those before and after its steps too."""
        before = self._n_bytes()
        trace = self._backend.run(plan, measured=measured, repetition=1)
        assert trace.status is Status.OK, trace.reason
        with self._log.open() as file:
            file.seek(before)
            return file.read().splitlines()

    def ending(self, plan: Plan) -> tuple[Status, str]:
        trace = self._backend.run(plan, measured=Pass.TIMED, repetition=1)
        return trace.status, trace.reason

    def _n_bytes(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("driver")
    fake_driver.build(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("FAKE_DRIVER_LOG", str(folder / "log"))
        backend = CudaBackend(time_limit_s=60)
        driven = Driven(backend, folder / "log")
        driven.run(planned(RETRY, COMBINATIONS[0]))  # what lasts as long as the worker is made now
        yield driven
        backend.close()


PAIRS = (
    ("stream", "destroy stream"),
    ("pool", "destroy pool"),
    ("cuMemAlloc", "cuMemFree"),
    ("alloc", "free"),
    ("begin capture", "end capture"),
    ("instantiate", "destroy exec"),
    ("end capture", "destroy graph"),
)


def kinds(calls: list[str]) -> Counter[str]:
    """Calls without their numbers."""
    return Counter(
        " ".join(word for word in call.split() if not _is_number(word)) for call in calls
    )


def _is_number(word: str) -> bool:
    return word.lstrip("-").isdigit()


@pytest.mark.parametrize(
    "text", [EVERYTHING, GRAPHS, HOST_FUNCTIONS], ids=["all", "graphs", "host"]
)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row)[:40])
def test_all_that_is_made_is_given_back(driven: Driven, text: str, row: Row) -> None:
    """Streams, pools, memory, blocks, captures and graphs, in timed and traced runs."""
    plan = planned(text, row)
    if not isinstance(row, Baseline):
        plan = replace(plan, max_size=0)  # this pool knows no reuse but of the same size
    for measured in (Pass.TIMED, Pass.TRACED):
        found = kinds(driven.run(plan, measured))
        for made, given_back in PAIRS:
            assert found[made] == found[given_back], (made, measured)


def between(calls: list[str], first: str, last: str) -> list[str]:
    start = calls.index(first)
    return calls[start : calls.index(last, start) + 1]


def test_a_graph_is_captured_once_on_streams_of_its_own(driven: Driven) -> None:
    """Before the first step, in the order of its steps; then only launches."""
    calls = driven.run(planned(GRAPHS, COMBINATIONS[7]))
    assert between(calls, "begin capture", "upload") == [
        "begin capture",
        "alloc 67108864",
        "launch spin 1 1 0",
        "d2d 16777216",
        "record",
        "wait",
        "alloc 33554432",
        "launch scale 4 256 0",
        "launch spin 1 1 0",
        "free",
        "record",
        "memset 16777216",
        "host function 20",
        "launch spin 1 1 0",
        "wait",
        "free",
        "end capture",
        "destroy stream",
        "destroy stream",
        "instantiate",
        "upload",
    ]
    found = kinds(calls)
    assert found["graph"] == 6
    assert found["begin capture"] == 1


@pytest.mark.parametrize("row", list(Baseline))
def test_a_graph_without_allocations_captures_the_rest(driven: Driven, row: Row) -> None:
    calls = driven.run(planned(GRAPHS, row))
    captured = between(calls, "begin capture", "end capture")
    assert not [call for call in captured if call.startswith(("alloc", "free", "cuMem"))]
    assert "memset 16777216" in captured


def test_steps_become_calls_in_order(driven: Driven) -> None:
    """Nothing else is called between the first step and the last in a timed run."""
    calls = driven.run(
        planned(
            """
pool: {release_threshold: max}
streams: {a: , b: }
buffers: {w: {size: 1MiB}, p: {size: 1MiB, memory: pinned}}
steps:
  - {alloc: x, size: 3MiB, stream: a}
  - {kernel: spin, duration: 7us, blocks: 5, threads: 64, writes: [x], stream: a}
  - {record: e, stream: a}
  - {wait: e, stream: b}
  - {memcpy: h2d, dst: w, src: p, stream: b}
  - {memcpy: d2h, dst: p, src: w, size: 4KiB, stream: b}
  - {memset: w, stream: b}
  - {callback: 3us, stream: b}
  - {free: x, stream: a}
  - {sync: stream, stream: b}
  - {trim: 1MiB}
""",
            COMBINATIONS[7],
        )
    )
    assert between(calls, "alloc 3145728", "trim 1048576") == [
        "alloc 3145728",
        "launch spin 5 64 0",
        "record",
        "wait",
        "h2d 1048576",
        "d2h 4096",
        "memset 1048576",
        "host function 3",
        "free",
        "sync stream",
        "trim 1048576",
    ]


@pytest.mark.parametrize("on_oom", list(OnOom))
def test_an_allocation_that_fails_is_handled_as_asked(driven: Driven, on_oom: OnOom) -> None:
    """The driver says out of memory: the run ends, or the host synchronises and tries again; this
    pool never gives anything back, so that the second try fails too."""
    text = RETRY.replace("size: 64MiB, stream: b", "size: 48MiB, stream: b")
    plan = replace(planned(text, COMBINATIONS[0]), on_oom=on_oom)
    status, _ = driven.ending(plan)
    assert status is Status.OUT_OF_MEMORY
    again = planned(RETRY, COMBINATIONS[0])
    assert driven.ending(again)[0] is Status.OK


def test_a_traced_run_has_times_for_every_step(driven: Driven) -> None:
    """Stamps come back from the device, events are read, and all are on the host's axis."""
    plan = planned(HOST_FUNCTIONS, COMBINATIONS[7])
    trace = driven._backend.run(plan, measured=Pass.TRACED, repetition=1)
    steps = trace.steps
    assert steps is not None
    for k, step in enumerate(plan.steps):
        if "callback" in plan.place(k).kind or plan.place(k).kind in ("alloc", "free"):
            assert steps.device_begin_ns[k] != NONE, (k, step)
            assert steps.device_begin_ns[k] <= steps.device_end_ns[k], (k, step)
    assert (steps.host_begin_ns >= 0).all()
    function = plan.names.index("function")
    assert steps.device_end_ns[function] - steps.device_begin_ns[function] >= 400_000
