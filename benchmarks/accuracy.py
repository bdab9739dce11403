"""How true poolbench's times are; needs a GPU.

    python benchmarks/accuracy.py               writes results/h200-580/accuracy.json

Spins of known length by their stamps; the host's clock against the device's over a minute; and one
kernel by poolbench and by NVIDIA's `cuda-bench`, where that is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import struct
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.clock import Clock, to_host
from poolbench.backends.cuda.detect import why_unusable
from poolbench.backends.cuda.kernels import Kernels
from poolbench.backends.cuda.runner import Runner
from poolbench.domain import COMBINATIONS, Case, Pass
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.scenario.load import load_text

ROOT = Path(__file__).parents[1]
SPINS_US = (2, 5, 10, 20, 50, 100, 500, 1000, 5000, 10000)
WITHIN_NS = 100
WITHIN_SHARE = 0.005
CLOCKS_WITHIN_NS = 1000
MEDIANS_WITHIN = 0.01
COMPARED_US = 1000
N_REPEATS = 50


def spin_plan(us: int, *, issue: str) -> Plan:
    text = (
        f"question: how long is a spin?\niterations: {N_REPEATS}\nissue: {issue}\n"
        f"streams: {{s: {{}}}}\nsteps:\n  - {{kernel: spin, duration: {us}us, stream: s}}\n"
    )
    scenario = load_text(text, file="spin.yaml", folder=Path(), default_name="spin")
    return build_plan(scenario, Case(scenario="spin", row=COMBINATIONS[-1]))


def spins(runner: Runner) -> list[dict[str, Any]]:
    """A spin ends once its time is over: its stamps are never less than that apart."""
    rows = []
    for us in SPINS_US:
        trace = runner.run(spin_plan(us, issue="live"), measured=Pass.TRACED, repetition=0)
        assert trace.steps is not None, trace.reason
        lengths = (trace.steps.device_end_ns - trace.steps.device_begin_ns).tolist()
        wanted = us * 1000
        median = statistics.median(lengths)
        limit = max(WITHIN_NS, WITHIN_SHARE * wanted)
        rows.append(
            {
                "asked_ns": wanted,
                "median_ns": median,
                "worst_ns": max(lengths, key=lambda length: abs(length - wanted)),
                "is_within": abs(median - wanted) <= limit,
            }
        )
    return rows


def clocks(device: Any, seconds: int) -> dict[str, Any]:
    """Alignments in between, against the line between the first and the last."""
    clock = Clock(Kernels(device))
    found = [clock.align()]
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(min(5.0, seconds / 6))
        found.append(clock.align())
    first, last = found[0], found[-1]
    off = [to_host(at.host_ns - at.offset_ns, first, last) - at.host_ns for at in found[1:-1]]
    worst = max(map(abs, off), default=0)
    return {
        "seconds": seconds,
        "n_alignments": len(found),
        "drift_ns": last.offset_ns - first.offset_ns,
        "worst_ns": worst,
        "is_within": worst <= CLOCKS_WITHIN_NS,
    }


def ours(runner: Runner) -> float:
    """Median makespan in ns of one kernel between poolbench's two events."""
    trace = runner.run(spin_plan(COMPARED_US, issue="ahead"), measured=Pass.TIMED, repetition=0)
    return float(statistics.median(trace.makespan_ns.tolist()))


def theirs(device: Any) -> float:
    """Median in ns of NVBench's cold samples for the same kernel.  Raises `ImportError`."""
    from cuda import bench  # noqa: TID251

    function = Kernels(device).function("spin")
    arguments = [ctypes.c_uint64(0), ctypes.c_uint64(COMPARED_US * 1000)]
    pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(item) for item in arguments))
    where = ctypes.addressof(pointers)

    def spin(state: Any) -> None:
        def launch(given: Any) -> None:
            stream = given.get_stream().addressof()
            driver.check(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, where, 0))

        state.exec(launch, batched=False)

    bench.register(spin)
    with TemporaryDirectory(prefix="poolbench-") as folder:
        path = Path(folder) / "spin.json"
        bench.run_all_benchmarks(["accuracy", "--jsonbin", str(path), "--quiet"])
        return 1e9 * statistics.median(_samples(path))


def _samples(path: Path) -> list[float]:
    """Seconds, from the file of samples that the JSON names."""
    state = json.loads(path.read_text())["benchmarks"][0]["states"][0]
    for summary in state["summaries"]:
        if summary["tag"] == "nv/json/bin:nv/cold/sample_times":
            told = {item["name"]: item["value"] for item in summary["data"]}
            data = (path.parent / told["filename"]).read_bytes()
            n = int(told["size"])
            return list(struct.unpack(f"<{n}f", data[: 4 * n]))
    raise SystemExit("cuda-bench wrote no samples")


def compared(runner: Runner, device: Any) -> dict[str, Any]:
    try:
        nvbench_ns = theirs(device)
    except ImportError as fault:
        return {"left_out": f"cuda-bench cannot be imported: {fault}"}
    poolbench_ns = ours(runner)
    return {
        "kernel_us": COMPARED_US,
        "poolbench_ns": poolbench_ns,
        "cuda_bench_ns": nvbench_ns,
        "is_within": abs(poolbench_ns / nvbench_ns - 1) <= MEDIANS_WITHIN,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How true poolbench's times are.")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument(
        "--output", type=Path, default=ROOT / "results" / "h200-580" / "accuracy.json"
    )
    chosen = parser.parse_args()
    why = why_unusable()
    if why:
        raise SystemExit(f"accuracy: left out: {why}")
    device, _ = driver.initialise(0)
    runner = Runner(0)
    document = {
        "command": ["python", "benchmarks/accuracy.py", *sys.argv[1:]],
        "environment": asdict(runner.environment()),
        "spins": spins(runner),
        "clocks": clocks(device, chosen.seconds),
        "cuda_bench": compared(runner, device),
    }
    text = json.dumps(document, indent=1)
    print(text)
    chosen.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
