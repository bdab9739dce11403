"""What poolbench's own issuing costs: host time of its timed pass over that of a C++ program.

    python benchmarks/issue_rate.py             on a GPU; writes results/h200-580/issue-rate.json
    python benchmarks/issue_rate.py --stub NS   against a driver whose calls only take NS ns

Plans of 10,000 steps and more, which C++ (`replay.cpp`) and poolbench issue in turn, in one run:
`host_ratio` is the median of poolbench's host time over C++'s, `makespan_ratio` the same of the
time between the events around the steps.  The traced pass is held to the timed one likewise.  With
`--stub` nothing is written: what it prints is no measurement of a GPU.
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import stub
import workloads

from poolbench.export.plan import to_json
from poolbench.plan.plan import Plan

ROOT = Path(__file__).parents[1]
TARGETS = {"host_ratio": 1.10, "makespan_ratio": 1.03}
N_ROUNDS = 7
N_ITERATIONS = 5
HEAD = f"""
question: what does issuing cost?
iterations: {N_ITERATIONS}
pool: {{max_size: 1GiB, release_threshold: max}}
streams: {{s: {{count: 4}}}}
steps:
"""
ROUNDS = {
    "alloc-free": ["{alloc: a$i, size: 2MiB, stream: s0}", "{free: a$i, stream: s0}"],
    "launches": [
        "{kernel: spin, duration: 1us, stream: s0}",
        "{kernel: spin, duration: 1us, stream: s1}",
    ],
    "events": ["{record: e$i, stream: s0}", "{wait: e$i, stream: s1}"],
}


def recipe(steps: tuple[str, ...], n_rounds: int) -> Plan:
    """The plan of a scenario that repeats `steps`."""
    body = "".join(f"\n      - {step}" for step in steps)
    text = f"{HEAD}  - repeat: {n_rounds}\n    index: i\n    steps:{body}\n"
    return workloads.plan_of(text, Path())


def plan_of(name: str, n_steps: int, folder: Path) -> Plan:
    if name != "recorded":
        return recipe(ROUNDS[name], n_steps // 2)
    workloads.write_recording(folder, n_steps)
    return workloads.plan_of(workloads.text_of(N_ITERATIONS), folder)


def steady(answer: dict[str, Any], what: str) -> float:
    """The first iteration grows the pool."""
    if answer["status"] != "ok":
        raise SystemExit(f"a run ended with {answer['status']}: {answer.get('reason', '')}")
    return statistics.median(item[what] for item in answer["iterations"][1:])


def compare(
    plan: Plan, replayer: Path, folder: Path, env: dict[str, str], loops: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """By loop: the ratios of each round's medians, their median, and times per step in ns."""
    packed, exported = folder / "plan.pickle", folder / "plan.json"
    packed.write_bytes(pickle.dumps(plan))
    kernels = files("poolbench.backends.cuda").joinpath("kernels.cu").read_text("utf8")
    exported.write_text(to_json(plan, kernels))
    pairs: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {loop: [] for loop in loops}
    for _ in range(N_ROUNDS):
        for loop in loops:
            theirs = stub.run_replayer(replayer, exported, env)
            pairs[loop].append((stub.run_poolbench(packed, loop, env), theirs))
    made = {}
    for loop, answers in pairs.items():
        ratios = {
            f"{what}_ratio": [
                steady(ours, f"{what}_ns") / steady(theirs, f"{what}_ns")
                for ours, theirs in answers
            ]
            for what in ("host", "makespan")
        }
        made[loop] = {
            **{name: round(statistics.median(values), 4) for name, values in ratios.items()},
            "host_ratios": [round(value, 4) for value in ratios["host_ratio"]],
            "n_steps": plan.n_steps,
            "loop": answers[0][0]["loop"],
            "host_ns_per_step": [
                round(statistics.median(steady(a, "host_ns") for a in side) / plan.n_steps, 1)
                for side in zip(*answers, strict=True)
            ],
        }
    return made


def tracing(folder: Path, env: dict[str, str]) -> dict[str, Any]:
    """The traced pass over the timed one, for kernels of 20 and 100 us; needs a GPU."""
    found = {}
    for us in (20, 100):
        step = (
            f"{{kernel: spin, duration: {us}us, grid: {{blocks: 1, threads: 32}}, writes: [a$i], "
        )
        steps = [
            "{alloc: a$i, size: 2MiB, stream: s0}",
            step + "stream: s0}",
            "{free: a$i, stream: s0}",
        ]
        body = "".join(f"\n      - {text}" for text in steps)
        plan = plan_of(f"{HEAD}  - repeat: 3334\n    index: i\n    steps:{body}\n")
        packed = folder / "traced.pickle"
        packed.write_bytes(pickle.dumps(plan))
        ratios = []
        for _ in range(N_ROUNDS):
            timed = stub.run_poolbench(packed, "compiled", env)
            traced = stub.run_poolbench(packed, "compiled", env, measured="traced")
            ratios.append(steady(traced, "makespan_ns") / steady(timed, "makespan_ns"))
        found[f"{us}us"] = {
            "makespan_ratio": round(statistics.median(ratios), 4),
            "target": {20: 1.25, 100: 1.05}[us],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--stub", type=int, metavar="NS")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--loops", default="compiled,python")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "results" / "h200-580" / "issue-rate.json"
    )
    chosen = parser.parse_args()
    why = stub.why_no_replayer() or (stub.why_not() if chosen.stub is not None else "")
    if why:
        raise SystemExit(f"issue rate: left out: {why}")
    with TemporaryDirectory(prefix="poolbench-") as name:
        folder = Path(name)
        if chosen.stub is None:
            env = stub.environment()
        else:
            stub.build_stub(folder)
            env = stub.environment(folder, STUB_CUDA_CALL_NS=str(chosen.stub))
            print(f"against a driver that does nothing, {chosen.stub} ns a call: no measurement")
        replayer = stub.build_replayer(folder)
        plans = {}
        for plan_name in (*ROUNDS, "recorded"):
            plan = plan_of(plan_name, chosen.steps, folder)
            plans[plan_name] = compare(plan, replayer, folder, env, tuple(chosen.loops.split(",")))
            for loop, found in plans[plan_name].items():
                ours, theirs = found["host_ns_per_step"]
                line = f"{plan_name:12}{loop:10}{found['host_ratio']:7.3f} of C++'s host time"
                print(f"{line}  ({ours:,.0f} and {theirs:,.0f} ns/step)", flush=True)
        if chosen.stub is None:
            document = {
                "command": ["python", "benchmarks/issue_rate.py", *sys.argv[1:]],
                "environment": stub.where(env),
                "targets": TARGETS,
                "plans": plans,
                "tracing": tracing(folder, env),
            }
            chosen.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
