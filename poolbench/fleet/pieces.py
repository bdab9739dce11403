"""Results directories as pieces, read and written whole or piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.fleet.merge import Merged, Piece, merge
from poolbench.results.files import append_text, read_text, whole_lines, write_bytes, write_text
from poolbench.results.record import RunRecord
from poolbench.results.samples import SAMPLES, STEPS
from poolbench.results.store import RUN, read, refuse_used, runs_in, write_record

_TABLES = (RUN, SAMPLES, STEPS)


def read_piece(directory: Path) -> Piece:
    """One results directory; raises `BadUsage`."""
    files = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in _TABLES
    }
    return Piece(
        name=str(directory),
        record=read(directory),
        samples=whole_lines(read_text(directory / SAMPLES)),
        steps=whole_lines(read_text(directory / STEPS)),
        files=files,
    )


def read_pieces(directories: Sequence[Path]) -> list[Piece]:
    """All runs that the directories are or hold, each once; raises `BadUsage`."""
    paths = [path for directory in directories for path in runs_in(directory)]
    once = {path.resolve(): path for path in reversed(paths)}
    return [read_piece(path) for path in paths if once[path.resolve()] is path]


def write_merged(directory: Path, merged: Merged) -> None:
    """Raises `BadUsage` if something is there already, or it cannot be written."""
    refuse_used(directory)
    for name, data in merged.files.items():
        write_bytes(directory / name, data)
    write_bytes(directory / SAMPLES, merged.samples.encode())
    write_text(directory / STEPS, merged.steps)
    write_record(directory, merged.record)


class Growing:
    """A results directory that gets one piece after the other, readable all the while."""

    def __init__(self, directory: Path, n_planned: int, command: tuple[str, ...]) -> None:
        self.directory = directory
        self._n_planned = n_planned
        self._command = command
        self._pieces: list[Piece] = []

    @property
    def n_cases(self) -> int:
        return sum(len(piece.record.cases) for piece in self._pieces)

    def add(self, piece: Piece) -> None:
        """Raises `BadUsage` where it cannot be written."""
        if not self._pieces:
            for name, data in piece.files.items():
                write_bytes(self.directory / name, data)
            write_bytes(self.directory / SAMPLES, piece.samples.encode())
            write_text(self.directory / STEPS, piece.steps)
        else:
            for name, text in ((SAMPLES, piece.samples), (STEPS, piece.steps)):
                append_text(self.directory / name, text.partition("\n")[2])
        self._pieces.append(piece)
        write_record(self.directory, self.record())

    def record(self) -> RunRecord:
        """Raises `BadUsage` before the first piece."""
        if not self._pieces:
            raise BadUsage(f"nothing was run for {self.directory}")
        found = merge(self._pieces, command=self._command).record
        is_whole = len(found.cases) == self._n_planned
        after = self._pieces[-1].record.after if is_whole else None
        return replace(found, n_planned=self._n_planned, after=after)
