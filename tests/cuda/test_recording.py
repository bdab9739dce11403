"""`poolbench record` on a real device: small programs of which every call is known.

Each test records a program in a process of its own.  When one fails, its message holds what the
command said and what was taken down; `--keep` of the command gives the raw rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from poolbench.domain import StreamKind
from poolbench.recording.raw import ABOUT, What
from poolbench.recording.read import Recording, read
from poolbench.results import store
from poolbench.scenario.load import load
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.workload import OPS, Workload

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A recording with everything that helps to find a fault in it."""

    folder: Path
    code: int
    said: str
    raw: Recording

    @property
    def scenario(self) -> Scenario:
        return load(self.folder / "mine.yaml")

    @property
    def workload(self) -> Workload:
        found = self.scenario.workload
        assert found is not None, self.told
        return found

    @property
    def ops(self) -> list[str]:
        return [OPS[code] for code in self.workload.columns["op"].tolist()]

    def column(self, name: str) -> list[int]:
        found: list[int] = self.workload.columns[name].tolist()
        return found

    @property
    def counts(self) -> Counter[str]:
        return Counter(op for op in self.ops if op != "host")

    @property
    def told(self) -> str:
        """For messages: what the command said, and how many rows there are of which kind."""
        kinds = Counter(
            What(code).name if code in set(What) else f"unknown {code}"
            for code in self.raw.rows[:, 0].tolist()
        )
        steps = ""
        if (self.folder / "mine.yaml").is_file():
            steps = f"steps: {dict(self.counts)}\nhead: {(self.folder / 'mine.yaml').read_text()}"
        return (
            f"\nexit code {self.code}\n--- said ---\n{self.said}\n--- rows ---\n{dict(kinds)}\n"
            f"--- {ABOUT} ---\n{dict(self.raw.about)}\n--- correlation ---\n{self._correlation()}"
            f"\n{steps}"
        )

    def _correlation(self) -> str:
        """Do calls and kernels have numbers in common?"""
        launches = {int(row[6]) for row in self.raw.of(What.LAUNCH)}
        kernels = {int(row[6]) for row in self.raw.of(What.KERNEL_RAN)}
        return (
            f"{len(launches)} of launches, {len(kernels)} of kernels, "
            f"{len(launches & kernels)} in common"
        )


def record(folder: Path, text: str, *options: str, **variables: str) -> Ended:
    (folder / "prog.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable, "-m", "poolbench", "record", "-o", "mine", "--keep", "raw", *options,
        "--", sys.executable, "prog.py",
    ]  # fmt: skip
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": path, **variables}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return Ended(
        folder=folder, code=ended.returncode, said=ended.stdout + ended.stderr,
        raw=read(folder / "raw"),
    )  # fmt: skip


DRIVER = """
import ctypes
from cuda.bindings import driver, nvrtc
import poolbench

def do(result):
    assert not int(result[0]), result
    return result[1] if len(result) == 2 else result[1:]

MIB = 2**20
do(driver.cuInit(0))
device = do(driver.cuDeviceGet(0))
do(driver.cuCtxSetCurrent(do(driver.cuDevicePrimaryCtxRetain(device))))
SOURCE = b'''extern "C" __global__ void spin(unsigned long ns) {
  unsigned long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - begin < ns);
}'''
parts = driver.CUdevice_attribute
major = do(driver.cuDeviceGetAttribute(parts.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
minor = do(driver.cuDeviceGetAttribute(parts.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
program = do(nvrtc.nvrtcCreateProgram(SOURCE, b"spin.cu", 0, [], []))
do(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
code = b" " * do(nvrtc.nvrtcGetCUBINSize(program))
do(nvrtc.nvrtcGetCUBIN(program, code))
spin = do(driver.cuModuleGetFunction(do(driver.cuModuleLoadData(code)), b"spin"))

def launch(ns, stream, blocks=4):
    arguments = ((ns,), (ctypes.c_ulong,))
    do(driver.cuLaunchKernel(spin, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, 0))

def make_pool(max_size):
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    properties.maxSize = max_size
    return do(driver.cuMemPoolCreate(properties))

attributes = driver.CUmemPool_attribute
a, b = do(driver.cuStreamCreate(1)), do(driver.cuStreamCreate(0))
event = do(driver.cuEventCreate(2))
pinned = do(driver.cuMemHostAlloc(8 * MIB, 0))
pool = make_pool(256 * MIB)
do(driver.cuMemPoolSetAttribute(
    pool, attributes.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, driver.cuuint64_t(64 * MIB)))
do(driver.cuMemPoolSetAttribute(pool, attributes.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0))
launch(1000, a)
do(driver.cuCtxSynchronize())
"""
"""Streams `a` (non-blocking) and `b` (blocking), a pool, a kernel that spins."""

STEPS = """
def step():
    x = do(driver.cuMemAllocFromPoolAsync(3 * MIB, pool, a))
    do(driver.cuMemcpyHtoDAsync(x, pinned, 2 * MIB, a))
    do(driver.cuMemsetD8Async(x, 7, 1 * MIB, a))
    launch(200_000, a, 8)
    do(driver.cuEventRecord(event, a))
    do(driver.cuStreamWaitEvent(b, event, 0))
    launch(100_000, b)
    do(driver.cuMemFreeAsync(x, b))
    do(driver.cuStreamSynchronize(b))

for i in range(5):
    with poolbench.record():
        step()
do(driver.cuCtxSynchronize())
"""
ONE_STEP = [
    "alloc",
    "memcpy",
    "memset",
    "kernel",
    "record",
    "wait",
    "kernel",
    "free",
    "sync_stream",
]


@pytest.fixture(scope="module")
def two_steps(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Iterations 3 and 4 of five."""
    pytest.importorskip("cupti.cupti")
    folder = tmp_path_factory.mktemp("two-steps")
    return record(folder, DRIVER + STEPS, "--from", "3", "--steps", "2")


def test_every_call_is_a_step_in_its_order(two_steps: Ended) -> None:
    """Two iterations, and nothing lost."""
    assert two_steps.code == 0, two_steps.told
    assert [op for op in two_steps.ops if op != "host"] == ONE_STEP * 2, two_steps.told
    assert "lost" not in two_steps.said, two_steps.told
    assert "guessed" not in two_steps.said, two_steps.told


def test_streams_and_sizes_are_the_programs(two_steps: Ended) -> None:
    """The kinds of streams, bytes, grids; kernels as long as they spun."""
    kinds = [stream.kind if stream else StreamKind.NON_BLOCKING
             for stream in two_steps.scenario.head.streams.values()]  # fmt: skip
    assert kinds == [StreamKind.NON_BLOCKING, StreamKind.BLOCKING], two_steps.told
    rows = [
        dict(zip(two_steps.workload.columns, cells, strict=True))
        for cells in zip(*(two_steps.column(name) for name in two_steps.workload.columns),
                         strict=True)
    ]  # fmt: skip
    steps = [row for row in rows if OPS[row["op"]] != "host"][: len(ONE_STEP)]
    assert [row["stream"] for row in steps] == [0, 0, 0, 0, 0, 1, 1, 1, 1], two_steps.told
    assert [row["size"] for row in steps[:3]] == [3 * MIB, 2 * MIB, MIB], two_steps.told
    first, second = steps[3], steps[6]
    assert (first["blocks"], first["threads"], second["blocks"]) == (8, 64, 4), two_steps.told
    assert 195_000 < first["duration_ns"] < 260_000, two_steps.told
    assert 95_000 < second["duration_ns"] < 160_000, two_steps.told
    assert two_steps.workload.names[first["name"]] == "spin", two_steps.told


def test_the_pool_is_as_the_program_had_it(two_steps: Ended) -> None:
    """Its greatest size, threshold, attributes, and what CUPTI says it held."""
    pool = two_steps.scenario.head.pool
    assert pool.max_size == 256 * MIB, two_steps.told
    assert pool.release_threshold == 64 * MIB, two_steps.told
    assert pool.prime == 32 * MIB, two_steps.told
    known = " ".join(two_steps.scenario.head.known.split())
    assert "a pool of its own: 101, release threshold 64MiB, at most 256MiB" in known, known
    assert two_steps.workload.recorded["reserved_high"] == 32 * MIB, two_steps.told


def test_times_are_plausible(two_steps: Ended) -> None:
    """Two steps of 300 us each one after another; the recorder's own time is told."""
    makespan_ns = two_steps.workload.recorded["makespan_ns"]
    assert 600_000 < makespan_ns < 3_000_000, two_steps.told
    assert 0 < two_steps.workload.recorded["overhead_ns"] < makespan_ns, two_steps.told
    host_ns = sum(
        duration
        for op, duration in zip(two_steps.ops, two_steps.column("duration_ns"), strict=True)
        if op == "host"
    )
    assert host_ns < makespan_ns, two_steps.told


def test_a_replay_takes_as_long_as_the_program(two_steps: Ended) -> None:
    """Within a quarter, on the device that it was recorded on."""
    command = [
        sys.executable, "-m", "poolbench", "run", "mine.yaml", "--backend", "cuda",
        "--attributes", "101", "--output", "out",
    ]  # fmt: skip
    ended = subprocess.run(
        command, cwd=two_steps.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result = store.read(two_steps.folder / "out" / "mine")
    (case,) = [one for one in result.cases if one.findings is not None]
    assert case.findings is not None
    recorded_us = two_steps.workload.recorded["makespan_ns"] / 1000
    ratio = case.findings.makespan_us_median / recorded_us
    assert 0.75 < ratio < 1.25, f"{ratio=}\n{ended.stdout}\n{two_steps.told}"


@needs("cupti")
def test_plain_allocations(tmp_path: Path) -> None:
    """Alone they are as if from a pool; beside a pool's they are left out."""
    text = DRIVER + (
        "x = do(driver.cuMemAlloc(5 * MIB))\nlaunch(20_000, a)\n"
        "do(driver.cuStreamSynchronize(a))\ndo(driver.cuMemFree(x))\n"
    )
    alone = record(tmp_path, text)
    assert alone.code == 0, alone.told
    assert (alone.counts["alloc"], alone.counts["free"]) == (1, 1), alone.told
    assert "as if they came from a pool" in alone.said, alone.told


@needs("cupti")
def test_a_failing_allocation(tmp_path: Path) -> None:
    """Larger than the pool: counted, no step."""
    text = DRIVER + (
        "failed = driver.cuMemAllocFromPoolAsync(512 * MIB, pool, a)\n"
        "assert int(failed[0]) == 2, failed\n"
        "x = do(driver.cuMemAllocFromPoolAsync(MIB, pool, a))\n"
        "do(driver.cuMemFreeAsync(x, a))\ndo(driver.cuStreamSynchronize(a))\n"
    )
    ended = record(tmp_path, text)
    assert ended.counts["alloc"] == 1, ended.told
    assert "1 allocations that failed (out of memory)" in " ".join(ended.said.split()), ended.told


@needs("cupti")
def test_the_default_streams(tmp_path: Path) -> None:
    """Legacy and per-thread, by their handles."""
    text = DRIVER + (
        "legacy, own = driver.CUstream(1), driver.CUstream(2)\n"
        "with poolbench.record():\n"
        "    for stream in (0, legacy, own):\n"
        "        launch(5000, stream)\n"
        "do(driver.cuCtxSynchronize())\n"
    )
    ended = record(tmp_path, text)
    kinds = [stream.kind if stream else None for stream in ended.scenario.head.streams.values()]
    assert kinds == [StreamKind.LEGACY_DEFAULT, StreamKind.PER_THREAD_DEFAULT], ended.told
    streams = [stream for op, stream in zip(ended.ops, ended.column("stream"), strict=True)
               if op == "kernel"]  # fmt: skip
    assert streams == [0, 0, 1], ended.told


@needs("cupti")
def test_a_graph_is_one_kernel(tmp_path: Path) -> None:
    """What is captured is no work; a launch is a kernel for as long as the graph ran."""
    text = DRIVER + (
        "do(driver.cuStreamBeginCapture(a, driver.CUstreamCaptureMode(1)))\n"
        "launch(100_000, a)\nlaunch(50_000, a)\n"
        "graph = do(driver.cuGraphInstantiate(do(driver.cuStreamEndCapture(a)), 0))\n"
        "do(driver.cuCtxSynchronize())\n"
        "with poolbench.record():\n"
        "    do(driver.cuGraphLaunch(graph, a))\n"
        "    launch(20_000, a)\n"
        "do(driver.cuCtxSynchronize())\n"
    )
    ended = record(tmp_path, text)
    assert ended.counts["kernel"] == 2, ended.told
    durations = [ns for op, ns in zip(ended.ops, ended.column("duration_ns"), strict=True)
                 if op == "kernel"]  # fmt: skip
    assert 145_000 < durations[0] < 260_000, ended.told
    assert "launches of graphs" in ended.said, ended.told


@needs("cupti", "nvtx")
def test_an_nvtx_range_marks_an_iteration(tmp_path: Path) -> None:
    """By its name, pushed by the package nvtx."""
    text = DRIVER + (
        "import nvtx\n"
        "for i in range(4):\n"
        "    nvtx.push_range('wanted' if i % 2 else 'other')\n"
        "    launch(1000 * (i + 1), a)\n"
        "    nvtx.pop_range()\n"
        "do(driver.cuCtxSynchronize())\n"
    )
    ended = record(tmp_path, text, "--range", "wanted", "--steps", "1")
    assert ended.code == 0, ended.told
    assert ended.counts == {"kernel": 1}, ended.told


TORCH = """
import torch
import poolbench
model = torch.nn.Sequential(
    torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
side = torch.cuda.Stream()
host = torch.randn(1024, 512).pin_memory()
def step():
    with torch.cuda.stream(side):
        x = host.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    x.record_stream(torch.cuda.current_stream())
    model(x).square().mean().backward()
    model.zero_grad(set_to_none=True)
for i in range(3):
    step()
torch.cuda.synchronize()
for i in range(4):
    with poolbench.record():
        step()
torch.cuda.synchronize()
print(torch.cuda.get_allocator_backend())
"""


@needs("cupti", "torch")
def test_pytorch_on_the_pool(tmp_path: Path) -> None:
    """Its allocations are calls of the driver; every iteration is like the last."""
    variables = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    ended = record(tmp_path, TORCH, **variables)
    assert ended.code == 0, ended.told
    assert "cudaMallocAsync" in ended.said, ended.told
    counts = ended.counts
    assert counts["alloc"] >= 4 * 5, ended.told
    assert abs(counts["alloc"] - counts["free"]) < counts["alloc"] / 2, ended.told
    assert counts["kernel"] >= 4 * 8, ended.told
    assert counts["memcpy"] >= 4, ended.told
    assert counts["record"] >= 4, ended.told
    assert counts["wait"] >= 4, ended.told
    assert "without a record of the work" not in ended.said, ended.told
    assert "work without a call" not in ended.said, ended.told
    assert not (tmp_path / "mine-framework.yaml").exists(), ended.told


@needs("cupti", "torch")
def test_pytorch_with_its_own_allocator(tmp_path: Path) -> None:
    """Two scenarios: the driver's calls, and the framework's allocations among them."""
    variables = {"PYTORCH_CUDA_ALLOC_CONF": "backend:native"}
    ended = record(tmp_path, TORCH, **variables)
    assert ended.code == 0, ended.told
    path = tmp_path / "mine-framework.yaml"
    assert path.exists(), ended.told
    whole = load(path).workload
    assert whole is not None
    counts = Counter(OPS[code] for code in whole.columns["op"].tolist())
    assert counts["alloc"] >= 4 * 5, (counts, ended.told)
    assert "stands alone" not in ended.said, f"PyTorch's clock is not CUPTI's{ended.told}"
    assert counts["kernel"] == ended.counts["kernel"], (counts, ended.told)


@needs("cupti", "cupy")
def test_cupy_on_the_pool(tmp_path: Path) -> None:
    """`MemoryAsyncPool`, on a stream of its own."""
    text = (
        "import cupy, poolbench\n"
        "pool = cupy.cuda.MemoryAsyncPool()\ncupy.cuda.set_allocator(pool.malloc)\n"
        "stream = cupy.cuda.Stream(non_blocking=True)\n"
        "def step():\n"
        "    with stream:\n"
        "        x = cupy.ones(1 << 20, dtype=cupy.float32)\n"
        "        y = x * 2 + 1\n"
        "step()\nstream.synchronize()\n"
        "for i in range(3):\n"
        "    with poolbench.record():\n"
        "        step()\n"
        "stream.synchronize()\n"
    )
    ended = record(tmp_path, text)
    assert ended.code == 0, ended.told
    assert ended.counts["alloc"] >= 3 * 3, ended.told
    assert ended.counts["alloc"] == ended.counts["free"], ended.told
    assert ended.counts["kernel"] >= 3 * 3, ended.told
