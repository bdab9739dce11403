"""The program, started with the recorder inside, as if it had been started without.

Arguments, standard streams and exit code are its own; the environment has two entries more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from poolbench.errors import BadUsage, DeviceFailed, NoBackend, PoolbenchError
from poolbench.recording import raw
from poolbench.recording.inside import FOLDER
from poolbench.recording.read import has_started, refusal

_INJECT = Path(__file__).parent / "inject"
_INTERRUPTED = (-signal.SIGINT, 130)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of the program; `first` and `steps` count iterations that it marks, from 1."""

    first: int | None = None
    steps: int | None = None
    seconds: float | None = None
    range: str | None = None

    @property
    def waits_for_marks(self) -> bool:
        return bool(self.first or self.steps or self.range)


def run(command: Sequence[str], folder: Path, wanted: Wanted) -> int:
    """The program's exit code, below 0 for a signal; `folder` (empty) then holds the recording.

    Raises `BadUsage` where it cannot be started, and what `why_refused` says.
    """
    (folder / raw.PLAN).write_text(json.dumps(asdict(wanted)), encoding="utf-8")
    try:
        program = subprocess.Popen(command, env=_environment(os.environ, folder))
    except OSError as fault:
        raise BadUsage(f"cannot start {command[0]}: {fault.strerror or fault}") from None
    code = _wait(program)
    refused = why_refused(folder)
    if refused is not None:
        raise refused
    if not has_started(folder):
        raise BadUsage(
            f"the recorder did not start in {command[0]}, which ended with {code}",
            hint="it has to be Python, and without -I, -E and -S",
        )
    return code


def was_interrupted(code: int) -> bool:
    return code in _INTERRUPTED


def _environment(inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    path = inherited.get("PYTHONPATH", "")
    return {
        **inherited,
        "PYTHONPATH": f"{_INJECT}{os.pathsep}{path}" if path else str(_INJECT),
        FOLDER: str(folder.resolve()),
    }


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Ctrl-C is the program's to answer: it ends, and what was recorded is kept."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return program.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def why_refused(folder: Path) -> PoolbenchError | None:
    """The recorder's reason not to start the program, as a fault with what to do."""
    told = refusal(folder)
    if told is None:
        return None
    reason = str(told.get("reason", ""))
    match told.get("kind"):
        case "missing":
            hint = f"for {told.get('python', 'python')}: pip install 'poolbench[record]'"
            return BadUsage(f"the program was not started: {reason}", hint=hint)
        case "driver":
            return NoBackend(f"the program was not started: {reason}")
        case _ if "MULTIPLE_SUBSCRIBERS" in reason:
            return DeviceFailed(
                "the program was not started: another profiler is attached to it, and CUPTI takes "
                "only one",
                hint="record without nsys, ncu, compute-sanitizer and the like",
            )
        case _:
            return DeviceFailed(f"the program was not started: CUPTI answers {reason}")
