"""How long poolbench takes to start: CPU seconds of whole commands.

    python benchmarks/start_speed.py

The best and the median of several runs, with the bytecode of the first one kept.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
N_RUNS = 9
N_STEPS = 200


def scenario() -> str:
    """About 200 steps that stand in the file one by one."""
    steps = "".join(
        f"  - {{alloc: w{k}, size: 1MiB, stream: s{k % 4}}}\n"
        f"  - {{kernel: spin, duration: 5us, writes: [w{k}], stream: s{k % 4}}}\n"
        f"  - {{free: w{k}, stream: s{k % 4}}}\n"
        for k in range(N_STEPS // 3 + 1)
    )
    head = "question: how quick is check?\npool: {max_size: 1GiB}\nstreams: {s: {count: 4}}\n"
    return f"{head}steps:\n{steps}"


def cpu_seconds(arguments: list[str], folder: Path) -> list[float]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "poolbench", *arguments]
    taken = []
    for _ in range(N_RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=env, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return taken[1:]


def main() -> None:
    with TemporaryDirectory(prefix="poolbench-") as name:
        folder = Path(name)
        (folder / "long.yaml").write_text(scenario())
        for title, arguments, target in (
            ("--help", ["--help"], 0.15),
            (f"check, {N_STEPS} steps", ["check", "long.yaml"], 0.4),
            ("run hand-over on the model", ["run", "hand-over", "--backend", "model"], 1.0),
        ):
            taken = cpu_seconds(arguments, folder)
            best, median = min(taken), statistics.median(taken)
            print(f"{title:30}{best:6.2f} s at best, {median:.2f} s median (target {target:g} s)")


if __name__ == "__main__":
    main()
