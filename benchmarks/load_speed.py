"""How long a recorded plan takes to load, and how much memory a step takes.

    python benchmarks/load_speed.py

From the scenario and its file of steps to the plan, for 10^4 to 10^6 steps; CPU time, and what the
process grew by.  The exponent says how time grows with the number of steps (1 is linear).
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))
import workloads

SIZES = (10_000, 100_000, 1_000_000)


def one(folder: Path) -> None:
    text = workloads.text_of(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    plan = workloads.plan_of(text, folder)
    took = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(plan.n_steps, took, grown * 1024)


def main() -> None:
    found = []
    for n_rows in SIZES:
        with TemporaryDirectory(prefix="poolbench-") as folder:
            workloads.write_recording(Path(folder), n_rows)
            command = [sys.executable, __file__, folder]
            runs = [
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                for _ in range(3)
            ]
        n, took, grown = min(((int(a), float(b), int(c)) for a, b, c in runs), key=lambda x: x[1])
        found.append((n, took))
        print(f"{n:>9,} steps  loaded in {took:6.2f} s  {grown / n:>6,.0f} B/step")
    (n_first, t_first), (n_last, t_last) = found[0], found[-1]
    exponent = math.log(t_last / t_first) / math.log(n_last / n_first)
    print(f"time grows with exponent {exponent:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(Path(sys.argv[1]))
    else:
        main()
