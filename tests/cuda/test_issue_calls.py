"""What is asked of the driver, call by call: from Python, from the compiled loop, from C++.

Against `benchmarks/stub_driver.c`, which notes calls and does nothing; needs no GPU.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from poolbench.backends.cuda.burst import Burst, Issuer, NoCompiler, bursts, shared_live
from poolbench.domain import Baseline, CopyKind, Issue, MemoryKind, OnOom, Row
from poolbench.export.plan import to_json
from poolbench.plan import steps as st
from poolbench.plan.plan import BufferSpec, KernelSource, Plan
from tests.cuda.plans import MIB, make_plan, row

ROOT = Path(__file__).parents[2]
ONE = st.Grid(blocks=1, threads=32)
SHARE = st.Grid(share=0.25)
OWN = KernelSource(
    name="own",
    entry="own",
    text='extern "C" __global__ void own(int* p, float f) { p[0] = (int)f; }',
    predicted_ns=None,
)
OUT_OF_MEMORY = 2
SOMETHING_ELSE = 1


def _stub() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stub", ROOT / "benchmarks" / "stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stub = _stub()
pytestmark = pytest.mark.skipif(bool(stub.why_not()), reason=stub.why_not())


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stub")
    stub.build_stub(made)
    return made


@pytest.fixture(scope="session")
def replayer(folder: Path) -> Path:
    why = stub.why_no_replayer()
    if why:
        pytest.skip(f"the replayer cannot be built: {why}")
    made: Path = stub.build_replayer(folder)
    return made


def everything(chosen: Row, **more: Any) -> Plan:
    """Every step that needs no latch and no stream of a step's own, in two iterations."""
    host = BufferSpec(name="h", size=MIB, memory=MemoryKind.PINNED)
    page = BufferSpec(name="g", size=MIB, memory=MemoryKind.PAGEABLE)
    device = BufferSpec(name="d", size=MIB, memory=MemoryKind.DEVICE)
    own = st.Custom(kernel=0, arguments=(3, ("f32", 1.5)))
    touch = st.Touch(reads=(0, 1), writes=(1,))
    steps: list[st.Step] = [
        st.Alloc(stream=0, buffer=0, size=MIB),
        st.Alloc(stream=1, buffer=1, size=2 * MIB),
        st.Fill(stream=0, buffer=0, seed=1, size=MIB),
        st.Launch(stream=0, work=st.Spin(duration_ns=5000), grid=ONE),
        st.Record(stream=0, event=0),
        st.Wait(stream=1, event=0),
        st.Launch(stream=1, work=touch, grid=SHARE),
        st.Launch(stream=1, work=st.Compute(flops=10**9), grid=SHARE),
        st.Launch(stream=1, work=own, grid=ONE),
        st.Memcpy(stream=0, kind=CopyKind.H2D, dst=0, src=2, size=MIB),
        st.Memcpy(stream=0, kind=CopyKind.D2D, dst=4, src=0, size=MIB),
        st.Memcpy(stream=1, kind=CopyKind.D2H, dst=3, src=4, size=MIB, is_pageable=True),
        st.Memset(stream=1, buffer=1, value=7, size=MIB),
        st.Check(stream=0, buffer=0, seed=1, size=MIB),
        st.QueryStream(stream=0),
        st.QueryEvent(event=0),
        st.SyncEvent(event=0),
        st.HostWork(duration_ns=1000),
        st.Sample(name="here"),
        st.Free(stream=1, buffer=0),
        st.SyncStream(stream=1),
        st.Trim(keep=MIB),
        st.Free(stream=1, buffer=1),
        st.SyncDevice(),
    ]
    is_ideal = chosen is Baseline.PREALLOCATED
    more = {"n_iterations": 2, **more}
    return make_plan(
        steps,
        row=chosen,
        n_events=1,
        lasting=(host, page, device),
        kernels=(OWN,),
        slots=(MIB, 2 * MIB) if is_ideal else (),
        slot_of=(0, 1, -1, -1, -1) if is_ideal else (),
        **more,
    )


def iterations(log: Path, n: int) -> list[list[str]]:
    """The calls from the start event of each of the last `n` iterations to the reading of both,
    handles and addresses numbered in the order in which they turn up."""
    lines = log.read_text().splitlines()
    ends = [at for at, text in enumerate(lines) if text.startswith("cuEventElapsedTime ")][-n:]
    found = []
    for end in ends:
        start = f"cuEventRecord {lines[end].split()[1]} "
        begin = max(at for at in range(end) if lines[at].startswith(start))
        found.append(_numbered(lines[begin : end + 1]))
    return found


def _after_the_steps(log: Path) -> list[str]:
    """What is given back: nothing that a step has freed already."""
    lines = log.read_text().splitlines()
    return lines[max(at for at, text in enumerate(lines) if "cuEventElapsedTime" in text) :]


def _numbered(lines: Sequence[str]) -> list[str]:
    numbers: dict[str, str] = {}
    return [
        re.sub(r"0x[0-9a-f]+", lambda hit: numbers.setdefault(hit[0], f"#{len(numbers)}"), text)
        for text in lines
        if not text.startswith("cuMemPoolGetAttribute ")  # read after the steps, for the results
    ]


def issue(
    folder: Path, tmp_path: Path, plan: Plan, loop: str, fail: str = ""
) -> tuple[dict[str, Any], Path]:
    log, path = tmp_path / f"{loop}.log", tmp_path / "plan.pickle"
    path.write_bytes(pickle.dumps(plan))
    env = stub.environment(folder, STUB_CUDA_LOG=str(log), STUB_CUDA_FAIL=fail)
    return stub.run_poolbench(path, loop, env), log


@pytest.mark.parametrize("chosen", [row("101"), *Baseline], ids=str)
def test_all_ask_the_driver_for_the_same(
    folder: Path, replayer: Path, tmp_path: Path, chosen: Row
) -> None:
    """Python, the compiled loop and C++ make the same calls with the same arguments."""
    plan = everything(chosen)
    answers, freed = {}, {}
    for loop in ("python", "compiled"):
        answer, log = issue(folder, tmp_path, plan, loop)
        assert answer["status"] == "ok", answer["reason"]
        assert answer["loop"].startswith(loop)
        answers[loop] = iterations(log, plan.n_iterations)
        freed[loop] = [text.split()[0] for text in _after_the_steps(log)]
    exported, log = tmp_path / "plan.json", tmp_path / "replay.log"
    kernels = files("poolbench.backends.cuda").joinpath("kernels.cu").read_text("utf8")
    exported.write_text(to_json(plan, kernels))
    env = stub.environment(folder, STUB_CUDA_LOG=str(log))
    assert stub.run_replayer(replayer, exported, env)["status"] == "ok"
    answers["replay"] = iterations(log, plan.n_iterations)
    assert len(answers["python"]) == 2
    assert len(answers["python"][0]) > plan.n_steps - 8
    assert answers["compiled"] == answers["python"]
    assert answers["replay"] == answers["python"]
    assert freed["compiled"] == freed["python"]
    assert "cuMemFreeAsync" not in freed["python"]


@pytest.mark.parametrize("on_oom", list(OnOom))
def test_a_failed_allocation_is_handled_alike(folder: Path, tmp_path: Path, on_oom: OnOom) -> None:
    """Both loops retry, trim or end the run as `on_oom` says, and go on after it."""
    plan = everything(row("111"), on_oom=on_oom, n_iterations=1)
    fail = f"cuMemAllocFromPoolAsync:4:{OUT_OF_MEMORY}"  # two are the rehearsal's
    both = [issue(folder, tmp_path, plan, loop, fail) for loop in ("python", "compiled")]
    (python, python_log), (compiled, compiled_log) = both
    for key in ("status", "reason", "n_out_of_memory", "failed_row"):
        assert compiled[key] == python[key]
    assert python["n_out_of_memory"] == 1
    assert python["status"] == ("out_of_memory" if on_oom is OnOom.FAIL else "ok")
    assert python["failed_row"] == (1 if on_oom is OnOom.FAIL else -1)
    assert _numbered(_steps(compiled_log)) == _numbered(_steps(python_log))


def _steps(log: Path) -> list[str]:
    """What follows the first allocation of the plan."""
    lines = log.read_text().splitlines()
    allocs = [at for at, text in enumerate(lines) if text.startswith("cuMemAllocFromPoolAsync ")]
    return [text for text in lines[allocs[2] :] if not text.startswith(("cuMemFree ", "cuEventDe"))]


@pytest.mark.parametrize("name", ["cuMemAllocFromPoolAsync", "cuLaunchKernel"])
def test_any_other_failure_names_its_step(folder: Path, tmp_path: Path, name: str) -> None:
    """A call that fails in a burst is told as from Python: the step, its line and the error."""
    plan = everything(row("111"), n_iterations=1)
    _, log = issue(folder, tmp_path, plan, "python")
    lines = log.read_text().splitlines()
    start = max(at for at, text in enumerate(lines) if text.startswith("cuMemAllocFromPoolAsync "))
    before = sum(text.startswith(f"{name} ") for text in lines[:start])
    fail = f"{name}:{before + 1}:{SOMETHING_ELSE}"
    both = [issue(folder, tmp_path, plan, loop, fail)[0] for loop in ("python", "compiled")]
    assert both[0]["status"] == "error"
    assert "(line " in both[0]["reason"]
    assert both[1]["reason"] == both[0]["reason"]
    assert both[1]["status"] == "error"


def test_latches_and_streams_of_steps_stay_in_python(folder: Path, tmp_path: Path) -> None:
    """Between two bursts, in their place; waits under `issue: ahead` open the latches first."""
    steps = [
        st.Record(stream=0, event=0),
        st.Wait(stream=1, event=0),
        st.Hold(stream=0, ticket=1),
        st.Record(stream=0, event=0),
        st.Wait(stream=1, event=0),
        st.Release(stream=0, ticket=1),
        st.SyncStream(stream=1),
        st.Record(stream=1, event=0),
    ]
    for kind in Issue:
        plan = make_plan(steps, row=row("111"), n_events=1, issue=kind)
        python, compiled = (
            iterations(issue(folder, tmp_path, plan, loop)[1], 1) for loop in ("python", "compiled")
        )
        assert any("cuStreamWaitValue32" in text for text in python[0])
        assert compiled == python


@pytest.mark.parametrize("kind", list(Issue))
def test_what_waits_opens_the_latches_first(kind: Issue) -> None:
    """Under `issue: ahead` a call that may block the host is no part of a burst, else it is."""
    steps = [
        st.Record(stream=0, event=0),
        st.Record(stream=0, event=0),
        st.SyncStream(stream=0),
        st.SyncEvent(event=0),
        st.SyncDevice(),
    ]
    plan = make_plan(steps, row=row("111"), n_events=1, issue=kind)
    issuer = Issuer(library=SimpleNamespace(burst=None))
    program: Any = SimpleNamespace(
        plan=plan,
        streams=[1, 2],
        events=[3],
        is_ahead=kind is Issue.AHEAD,
        live=shared_live(issuer, [0]),
    )
    calls = [(k, partial(_never, k)) for k in range(plan.n_steps)]
    made = bursts(issuer, program, calls)
    assert made[0][0] == 0
    assert isinstance(made[0][1], Burst)
    assert made[1:] == (calls[2:] if kind is Issue.AHEAD else [])


def _never(k: int) -> tuple[int]:
    raise AssertionError(k)


def test_the_loop_is_chosen_visibly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is Python's unless asked for; without a compiler `auto` says so and `compiled` fails."""
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.delenv("POOLBENCH_ISSUE_LOOP", raising=False)
    assert Issuer.make().text == "python"
    monkeypatch.setenv("POOLBENCH_ISSUE_LOOP", "auto")
    assert Issuer.make().text == "python (no C compiler)"
    with pytest.raises(NoCompiler, match="no C compiler"):
        Issuer.make("compiled")
    monkeypatch.setenv("POOLBENCH_ISSUE_LOOP", "fast")
    with pytest.raises(NoCompiler, match="python, compiled, auto"):
        Issuer.make()
