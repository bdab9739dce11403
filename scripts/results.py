"""Measure every shipped scenario on this machine's GPU into results/<gpu>-<driver>/.

What is there for this GPU and driver already is replaced, but only once every scenario has run.
Exits as `poolbench run` does; with 3 where there is no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from poolbench.backends.cuda import detect
from poolbench.errors import ExitCode

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"


def folder_name(gpu: str, driver: str) -> str:
    """`h200-580` of `NVIDIA H200` and `580.159.04`."""
    model = re.sub(r"^(NVIDIA\s+)?(GeForce\s+)?", "", gpu)
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"{slug}-{driver.split('.')[0]}"


def this_machine() -> str | None:
    """The folder's name for this machine; `None`, with the reason on stderr, without a GPU."""
    missing = detect.why_unusable()
    if missing is not None:
        print(f"make results: no GPU to measure on: {missing}", file=sys.stderr)
        return None
    from poolbench.backends.cuda import driver, nvml

    device, _ = driver.initialise(0)
    version = nvml.driver_version() or f"cuda{driver.driver_cuda_version()}"
    return folder_name(driver.device_name(device), version)


def main() -> int:
    name = this_machine()
    if name is None:
        return ExitCode.NO_BACKEND
    making = RESULTS / f".{name}-in-progress"
    shutil.rmtree(making, ignore_errors=True)
    scenarios = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("scenarios/*.yaml"))
    output = str(making.relative_to(ROOT))
    command = ["poolbench", "run", *scenarios, "--backend", "cuda", "--output", output]
    code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
    if code not in (ExitCode.DONE, ExitCode.EXPECTATION_FAILED):
        print(f"make results: what was measured is in {output}", file=sys.stderr)
        return code
    final = RESULTS / name
    shutil.rmtree(final, ignore_errors=True)
    making.rename(final)
    print(f"make results: {final.relative_to(ROOT)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
