"""How many steps a second the model simulates, and how much memory a step takes.

    python benchmarks/model_speed.py

Plans of 10^4 to 10^6 steps, four streams with allocations, kernels, frees and events, on one core
of the CPU; the exponents say how time and memory grow with the number of steps (1 is linear).
`make compiled` makes the model's engine about twice as quick.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

from poolbench.backends.model import issue
from poolbench.backends.model.profile_file import load as load_profile
from poolbench.backends.model.run import simulate
from poolbench.domain import COMBINATIONS, Case
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.scenario.load import load_text

SIZES = (10_000, 100_000, 1_000_000)
N_STEPS_A_ROUND = 11
SCENARIO = """
question: how quick is the model?
pool: {max_size: 2GiB, release_threshold: max}
streams: {s: {count: 4}}
steps:
  - repeat: %d
    index: i
    steps:
      - {alloc: p$i, size: 64MiB, stream: s0}
      - {kernel: spin, duration: 20us, writes: [p$i], stream: s0}
      - {free: p$i, stream: s0}
      - {alloc: q$i, size: {log_uniform: [1MiB, 64MiB]}, stream: s1}
      - {kernel: spin, duration: {cycle: [10us, 20us]}, writes: [q$i], stream: s1}
      - {record: e$i, stream: s1}
      - {wait: e$i, stream: s2}
      - {free: q$i, stream: s2}
      - {alloc: r$i, size: 2MiB, stream: s3}
      - {kernel: spin, duration: 10us, writes: [r$i], stream: s3}
      - {free: r$i, stream: s3}
"""


def plan_of(n_steps: int) -> Plan:
    text = SCENARIO % (n_steps // N_STEPS_A_ROUND)
    scenario = load_text(text, file="speed.yaml", folder=Path(), default_name="speed")
    return build_plan(scenario, Case(scenario="speed", row=COMBINATIONS[-1]))


def seconds(plan: Plan) -> float:
    """CPU time of the quickest of three runs."""
    profile = load_profile().profile
    took = []
    for _ in range(3):
        began = time.process_time()
        simulate(plan, profile, is_traced=False)
        took.append(time.process_time() - began)
    return min(took)


def peak_bytes(plan: Plan) -> int:
    """Python objects alone; the timed pass."""
    profile = load_profile().profile
    tracemalloc.start()
    simulate(plan, profile, is_traced=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def one(n_steps: int) -> None:
    plan = plan_of(n_steps)
    took = seconds(plan)
    print(plan.n_steps, took, peak_bytes(plan))


def main() -> None:
    """Each size in a process of its own, so that one's garbage does not slow the next down."""
    is_compiled = not issue.__file__.endswith(".py")
    print(f"the model's engine is {'compiled' if is_compiled else 'Python'}")
    found = []
    for n_steps in SIZES:
        command = [sys.executable, __file__, str(n_steps)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        n, took, peak = int(answer[0]), float(answer[1]), int(answer[2])
        found.append((n, took, peak))
        print(f"{n:>9,} steps  {n / took:>9,.0f} steps/s  {peak / n:>6,.0f} B/step")
    (n_first, t_first, m_first), (n_last, t_last, m_last) = found[0], found[-1]
    grown = math.log(n_last / n_first)
    print(f"time grows with exponent {math.log(t_last / t_first) / grown:.2f}, ", end="")
    print(f"memory with {math.log(m_last / m_first) / grown:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(int(sys.argv[1]))
    else:
        main()
