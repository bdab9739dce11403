"""Record the programs of benchmarks/programs/ on this machine's GPU, and measure what they become.

    python scripts/record_library.py [--no-run] [PROGRAM ...]

Each program is run once as it is (does it work here?), then recorded into scenarios/recorded/, then
its scenarios are run into results/<gpu>-<driver>/recorded/.  What is there already is replaced, but
only by what is whole.  A program that fails is told, and the others go on; what each of them said
is in build/record/NAME.log.  Exits with the worst code; with 3 where there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from poolbench.errors import ExitCode
from results import KEPT, RESULTS, ROOT, this_machine

PROGRAMS = ROOT / "benchmarks" / "programs"
RECORDED = ROOT / "scenarios" / "recorded"
LOGS = ROOT / "build" / "record"
LIMIT_S = 540
"""Of one step: a run, a recording, or a measurement."""
_TOO_LONG = 124


@dataclass(frozen=True, slots=True)
class Part:
    """Which iterations of a program are recorded; its marks say what an iteration is."""

    first: int = 3
    steps: int = 10


PARTS: dict[str, Part] = {
    "train": Part(steps=8),
    "generate": Part(steps=24),
    "load": Part(first=9, steps=60),
    "streams": Part(steps=24),
    "tables": Part(steps=16),
}


def library(names: Sequence[str], machine: str, *, runs: bool) -> dict[str, int]:
    """Exit code of each program's last step that was tried."""
    for folder in (RECORDED, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    codes = {}
    for name in names:
        log = LOGS / f"{name}.log"
        log.write_text("", encoding="utf-8")
        codes[name] = _one(name, machine, log, runs=runs)
        _tell(f"{name}: {'done' if codes[name] in KEPT else f'failed with {codes[name]}'}")
    return codes


def _one(name: str, machine: str, log: Path, *, runs: bool) -> int:
    program = f"benchmarks/programs/{name}.py"
    began = time.monotonic()
    code = step([sys.executable, program], log)
    if code:
        return code
    _tell(f"{name}: {time.monotonic() - began:.1f} s as it is")
    making = RECORDED / f".{name}-in-progress"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    part = PARTS.get(name, Part())
    began = time.monotonic()
    code = poolbench(
        log, "record", "-o", str(making / name), "--from", str(part.first), "--steps",
        str(part.steps), "--", sys.executable, program,
    )  # fmt: skip
    if code:
        return code
    _tell(f"{name}: {time.monotonic() - began:.1f} s recorded")
    made = sorted(making.glob("*.yaml"))
    for path in (*RECORDED.glob(f"{name}.yaml"), *RECORDED.glob(f"{name}-framework.yaml")):
        path.unlink()
        path.with_name(f"{path.stem}.steps.npz").unlink(missing_ok=True)
    for path in sorted(making.iterdir()):
        path.rename(RECORDED / path.name)
    making.rmdir()
    codes = [_measure(RECORDED / path.name, machine, log) for path in made] if runs else []
    return max(codes, default=ExitCode.DONE)


def _measure(scenario: Path, machine: str, log: Path) -> int:
    final = RESULTS / machine / "recorded"
    making = RESULTS / f".{machine}-recorded-in-progress"
    shutil.rmtree(making, ignore_errors=True)
    code = poolbench(log, "run", str(scenario), "--backend", "cuda", "--output", str(making))
    if code not in KEPT:
        return code
    final.mkdir(parents=True, exist_ok=True)
    for run in sorted(making.iterdir()):
        shutil.rmtree(final / run.name, ignore_errors=True)
        run.rename(final / run.name)
    shutil.rmtree(making)
    return code


def poolbench(log: Path, *arguments: str) -> int:
    """Paths relative to the root: results keep their command, and no machine's folders."""
    texts = [_relative(text) for text in arguments]
    return step([sys.executable, "-m", "poolbench", *texts], log)


def step(command: Sequence[str], log: Path) -> int:
    """Its exit code; what it says goes to the terminal and to the log."""
    _tell(" ".join([Path(command[0]).name, *command[1:]]))
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    with log.open("r+", encoding="utf-8") as file:
        start = file.seek(0, os.SEEK_END)
        print("$", *command[1:], file=file, flush=True)
        try:
            code = subprocess.run(
                command, cwd=ROOT, check=False, stdout=file, stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path}, timeout=LIMIT_S,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = _TOO_LONG
        file.seek(start)
        print(file.read(), end="", file=sys.stderr)
    if code not in KEPT:
        _tell(f"ended with {code}")
    return code


def _relative(text: str) -> str:
    path = Path(text)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else text


def _tell(text: str) -> None:
    print(f"record library: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    known = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(known))
    parser.add_argument("--no-run", action="store_true", help="record, and measure nothing")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.programs if name not in known]
    if unknown:
        _tell(f"no such program: {', '.join(unknown)}")
        return ExitCode.BAD_INPUT
    machine = this_machine()
    if machine is None:
        return ExitCode.NO_BACKEND
    codes = library(chosen.programs or known, machine, runs=not chosen.no_run)
    return max((abs(code) for code in codes.values()), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
