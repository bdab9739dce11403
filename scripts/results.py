"""Measure on this machine's GPU into results/<gpu>-<driver>/: all parts, or those that are named.

    python scripts/results.py [scenarios] [self-test] [probe] [fuzz] [calibration]

scenarios: every shipped one; self-test: effects of known size; probe: the driver's rules; fuzz: a
thousand random scenarios, to which the model is held; calibration: a profile for the model.  What
is there of a part already is replaced, but only once the part is whole.  Exits as `poolbench run`
does; with 3 where there is no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from poolbench.backends.cuda import detect
from poolbench.errors import ExitCode

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
RUN = "run.json"
N_RANDOM = 1000
KEPT = (ExitCode.DONE, ExitCode.EXPECTATION_FAILED)
"""Exit codes of a part that is whole."""


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


def scenarios(making: Path, final: Path) -> int:
    """Replaces every run below `final`; its other parts stay."""
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("scenarios/*.yaml"))
    code = poolbench("run", *files, "--backend", "cuda", "--output", str(making))
    if code in KEPT:
        for run in final.glob(f"*/{RUN}"):
            shutil.rmtree(run.parent)
        for run in sorted(making.iterdir()):
            run.rename(final / run.name)
        making.rmdir()
    return code


def self_test(making: Path, final: Path) -> int:
    planted = ("run", "self-test/planted", "--attributes", "111", "--repeats", "1000")
    waits = ("run", "self-test/known-waits", "--attributes", "preallocated,all")
    codes = [poolbench(*command, "--output", str(making)) for command in (planted, waits)]
    return _put(max(codes), making, final / "self-test")


def probe(making: Path, final: Path) -> int:
    code = poolbench("probe", "--backend", "cuda", "--save", str(making))
    return _put(code, making, final / "probe")


def fuzz(making: Path, final: Path) -> int:
    seed = str(int(time.time()))
    arguments = ("--cases", str(N_RANDOM), "--seed", seed, "--output", str(making))
    return _put(poolbench("fuzz", *arguments), making, final / "fuzz")


def calibration(making: Path, final: Path) -> int:
    making.mkdir()
    code = poolbench("calibrate", "--output", str(making / "profile.json"))
    return _put(code, making, final / "calibration")


def _put(code: int, making: Path, where: Path) -> int:
    if code in KEPT:
        shutil.rmtree(where, ignore_errors=True)
        making.rename(where)
    return code


def poolbench(*arguments: str) -> int:
    """Paths relative to the root: results keep their command, and no machine's folders."""
    command = [sys.executable, "-m", "poolbench", *(_relative(text) for text in arguments)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _relative(text: str) -> str:
    path = Path(text)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else text


PARTS: dict[str, Callable[[Path, Path], int]] = {
    "scenarios": scenarios,
    "self-test": self_test,
    "probe": probe,
    "fuzz": fuzz,
    "calibration": calibration,
}


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"make results: no such part: {', '.join(unknown)}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    machine = this_machine()
    if machine is None:
        return ExitCode.NO_BACKEND
    final = RESULTS / machine
    final.mkdir(parents=True, exist_ok=True)
    codes = []
    for name in names or PARTS:
        making = RESULTS / f".{machine}-{name}-in-progress"
        shutil.rmtree(making, ignore_errors=True)
        codes.append(PARTS[name](making, final))
        if codes[-1] not in KEPT:
            print(f"make results: what was measured is in {making}", file=sys.stderr)
            break
        print(f"make results: {name} in {final.relative_to(ROOT)}", file=sys.stderr)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
