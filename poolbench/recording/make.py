"""A recording to scenarios on disk: one of the driver's calls, one of the framework's if there is
any.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poolbench.domain import THRESHOLD_MAX
from poolbench.imports import detect, torch_snapshot
from poolbench.imports.builder import Assumed, Builder, Built
from poolbench.imports.damage import Damaged
from poolbench.imports.fidelity import Fidelity
from poolbench.imports.write import Head, write
from poolbench.recording import raw
from poolbench.recording.decode import Decoded, decode
from poolbench.recording.framework import joined
from poolbench.recording.memory import Plain
from poolbench.recording.read import Recording
from poolbench.scenario.workload import MAX_ROWS
from poolbench.units import format_size

_CHUNK = 32 * 2**20
"""A pool grows by so much at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What was recorded, and where."""

    command: tuple[str, ...]
    device: str = ""
    driver: str = ""

    @property
    def origin(self) -> str:
        where = [self.device, f"driver {self.driver}" if self.driver else ""]
        told = ", ".join(text for text in where if text)
        command = shlex.join([Path(self.command[0]).name, *self.command[1:]])[:200]
        return f"Recorded from {command}{f' on {told}' if told else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A scenario that was written."""

    path: Path
    built: Built
    fidelity: Fidelity


def make(
    recording: Recording,
    history: Path | None,
    target: tuple[Path, str],
    program: Program,
    *,
    keeps_host: bool,
    plain: Plain,
) -> list[Made]:
    """`history` is PyTorch's own, `target` folder and name.  Raises `BadUsage`."""
    folder, name = target
    assumed = Assumed(kernel_ns=0, keeps_host=keeps_host)
    made = [_write(folder, name, recording, program, assumed, plain)]
    if history is not None:
        second = f"{name}-framework"
        told = made[0].fidelity
        made += _framework(folder, second, recording, history, program, assumed, told)
    return made


def _write(
    folder: Path,
    name: str,
    recording: Recording,
    program: Program,
    assumed: Assumed,
    plain: Plain,
    notes: Sequence[str] = (),
) -> Made:
    builder = Builder(most=MAX_ROWS)
    decoded = decode(recording, builder, assumed, plain=plain)
    fidelity = builder.fidelity
    for note in (*notes, *_notes(decoded, recording)):
        fidelity.note(note)
    head = Head(
        origin=program.origin, pool=_pool(decoded), comments=tuple(_comments(name, decoded))
    )
    path = write(folder, name, decoded.built, fidelity, head)
    return Made(path=path, built=decoded.built, fidelity=fidelity)


def _framework(
    folder: Path,
    name: str,
    recording: Recording,
    history: Path,
    program: Program,
    assumed: Assumed,
    fidelity: Fidelity,
) -> list[Made]:
    """The history among the recorded calls; alone, with assumed kernels, where they do not fit.

    `fidelity` is that of the first scenario: a history that cannot be used is no fault of it.
    """
    try:
        with history.open("rb") as file:
            whole = joined(recording, torch_snapshot.load(file))
        if whole is not None:
            note = "allocations are those of PyTorch's caching allocator, as if from the pool"
            return [_write(folder, name, whole, program, assumed, Plain.DROP, (note,))]
        builder = Builder(most=MAX_ROWS)
        alone = Assumed(keeps_host=assumed.keeps_host)
        detect.read(history, detect.Format.TORCH_SNAPSHOT, builder, alone, lambda _: None)
    except Damaged as fault:
        fidelity.note(f"PyTorch's history could not be used: {fault.at(history.name)}")
        return []
    if not len(builder):
        return []
    builder.fidelity.note("its times do not fit those of the recording: it stands alone")
    built = builder.build({})
    path = write(folder, name, built, builder.fidelity, Head(origin=program.origin))
    return [Made(path=path, built=built, fidelity=builder.fidelity)]


def _pool(decoded: Decoded) -> dict[str, Any]:
    pool, begin = decoded.pool, decoded.state.reserved_at_begin
    found: dict[str, Any] = {"release_threshold": _threshold(pool.release_threshold)}
    if pool.max_size:
        found["max_size"] = format_size(pool.max_size)
    if decoded.window.n_marks and begin:
        prime = -(-begin // _CHUNK) * _CHUNK
        found["prime"] = format_size(min(prime, pool.max_size) if pool.max_size else prime)
    return found


def _threshold(size: int) -> str | int:
    if size == THRESHOLD_MAX:
        return "max"
    return format_size(size) if size else 0


def _comments(name: str, decoded: Decoded) -> list[str]:
    row = decoded.pool.bits
    found = [f"As the program had its pool: poolbench run {name}.yaml --attributes {row}"]
    if "prime" in _pool(decoded):
        found += [
            "The pool was warm when the recorded part began, hence pool.prime.  One that starts",
            "empty, or is smaller: --set pool.prime=0",
        ]
    return found


def _notes(decoded: Decoded, recording: Recording) -> list[str]:
    pool, recorded = decoded.pool, decoded.recorded
    own = "a pool of its own" if pool.is_own else "the device's pool"
    limit = f", at most {format_size(pool.max_size)}" if pool.max_size else ""
    threshold = _threshold(pool.release_threshold)
    found = [f"the program had {own}: {pool.bits}, release threshold {threshold}{limit}"]
    if pool.n_pools > 1:
        found.append(f"it allocated from {pool.n_pools} pools; they are taken as one")
    if decoded.window.n_marks:
        found.append(f"{decoded.window.n_marks} iterations, as the program marks them")
    found.append(_overhead(recorded))
    packages = recording.about.get("packages")
    if isinstance(packages, dict) and packages:
        found.append("with " + ", ".join(f"{name} {text}" for name, text in packages.items()))
    return found


def _overhead(recorded: dict[str, object]) -> str:
    """What the recording itself took: the part that is known."""
    whole, own = (_number(recorded.get(key)) for key in ("makespan_ns", "overhead_ns"))
    share = f" ({100 * own / whole:.1f} %)" if whole else ""
    cupti = _number(recorded.get("cupti_ns"))
    more = f", and CUPTI {cupti / 1e6:.1f} ms on its own threads" if cupti else ""
    return (
        f"of {whole / 1e6:.1f} ms recorded, the recorder's callbacks took {own / 1e6:.1f} ms{share}"
        f"{more}; it is not part of the host's time in the steps"
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def history_of(folder: Path) -> Path | None:
    """PyTorch's history, if the recorder wrote one."""
    path = folder / raw.FRAMEWORK
    return path if path.is_file() else None
