"""One part of a sweep, run where a worker is, and sent back as a piece.

Everything here is called on a worker, which has a device to itself and runs one part at a time.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from poolbench import __version__
from poolbench.backends.base import Backend
from poolbench.backends.select import Choice, open_backend
from poolbench.errors import DeviceFailed
from poolbench.experiment import Circumstances, Effort, conduct
from poolbench.fleet.merge import Piece, environment_name
from poolbench.fleet.pieces import read_piece
from poolbench.prepare import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is the same for all parts; the fields are those of `poolbench run`."""

    choice: Choice
    profile: str | None
    run_limit_s: float
    effort: Effort
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a worker says of itself; `environment` and `is_measured` only if it can run anything,
    else `fault` says why not."""

    python: str
    poolbench: str
    environment: str = ""
    is_measured: bool = False
    fault: str = ""


@cache
def _backend(choice: Choice, profile: str | None, run_limit_s: float) -> tuple[Backend, str]:
    """One for the life of the worker's process."""
    return open_backend(choice, time_limit_s=run_limit_s, profile=profile)


def look(choice: Choice, profile: str | None, run_limit_s: float) -> Place:
    """Who runs here, and on what."""
    python = platform.python_version()
    try:
        backend, _ = _backend(choice, profile, run_limit_s)
        environment = environment_name(backend.environment())
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is told where it can be read
        return Place(python=python, poolbench=__version__, fault=str(fault) or type(fault).__name__)
    return Place(
        python=python,
        poolbench=__version__,
        environment=environment,
        is_measured=backend.kind.is_measured,
    )


def run_part(part: Experiment, settings: Settings) -> Piece:
    """Raises `DeviceFailed` where the part has no result."""
    backend, reason = _backend(settings.choice, settings.profile, settings.run_limit_s)
    with TemporaryDirectory(prefix="poolbench-") as folder:
        directory = Path(folder) / part.scenario.name
        _, fault = conduct(
            part,
            backend,
            directory=directory,
            effort=settings.effort,
            circumstances=Circumstances(backend_reason=reason, command=settings.command),
            on_progress=None,
        )
        if fault is not None:
            raise DeviceFailed(fault.message)
        return read_piece(directory)
