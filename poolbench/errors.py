"""Faults, where they stand, and the exit codes that they lead to.

Pure.  A fault in a file is a `Problem`; all problems of a file are raised at once as `BadInput`.
Formatting happens in one place: `poolbench.render.problems`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller; `docs/exit-codes.md`."""

    DONE = 0
    EXPECTATION_FAILED = 1
    BAD_INPUT = 2
    NO_BACKEND = 3
    DEVICE_FAILED = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A position in a file; lines and columns count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Another place that belongs to a problem ("freed here first")."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of one file.

    `code` is a stable kebab-case name that `poolbench explain CODE` knows; the codes are
    listed in `poolbench.scenario.codes` and `poolbench.plan.codes`.  A warning does not stop a run.
    """

    file: str
    place: Place
    message: str
    code: str
    notes: tuple[Note, ...] = ()
    is_warning: bool = False

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        return (self.file, self.place.line, self.place.column, self.code, self.message)


class PoolbenchError(Exception):
    """Base of every fault that poolbench reports without a traceback."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(PoolbenchError):
    """A file is wrong; carries every problem found in it, sorted, and the text for the carets."""

    def __init__(self, problems: tuple[Problem, ...], texts: dict[str, str]) -> None:
        super().__init__(f"{len(problems)} problem(s)")
        self.problems = tuple(sorted(problems, key=lambda problem: problem.sort_key))
        self.texts = texts


class BadUsage(PoolbenchError):
    """A command line argument is wrong."""


class NoBackend(PoolbenchError):
    """There is no such backend or device here."""

    exit_code = ExitCode.NO_BACKEND


class DeviceFailed(PoolbenchError):
    """The device, the driver or the worker failed in a way that ends the run."""

    exit_code = ExitCode.DEVICE_FAILED


class Interrupted(PoolbenchError):
    """The user pressed Ctrl-C; finished cases are on disk."""

    exit_code = ExitCode.INTERRUPTED
