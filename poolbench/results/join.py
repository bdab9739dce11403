"""Which run of one directory belongs to which of another."""

from __future__ import annotations

from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.results.record import RunRecord
from poolbench.results.store import read, runs_in

Pairs = tuple[tuple[RunRecord, RunRecord | None], ...]


def joined(first: Path, second: Path | None) -> tuple[Pairs, tuple[str, ...]]:
    """Records side by side, by scenario; and the scenarios that only one side has.

    Without a second directory each record is alone.  Two single runs are paired whatever they are.
    Raises `BadUsage` if nothing pairs.
    """
    left = [read(path) for path in runs_in(first)]
    if second is None:
        return tuple((record, None) for record in left), ()
    right = [read(path) for path in runs_in(second)]
    if len(left) == len(right) == 1:
        return ((left[0], right[0]),), ()
    _refuse_doubles(first, left)
    _refuse_doubles(second, right)
    known = {record.scenario: record for record in right}
    pairs = tuple((record, known[record.scenario]) for record in left if record.scenario in known)
    if not pairs:
        raise BadUsage(f"{first} and {second} have no scenario in common")
    paired = {record.scenario for record, _ in pairs}
    alone = [record.scenario for record in (*left, *right) if record.scenario not in paired]
    return pairs, tuple(dict.fromkeys(alone))


def _refuse_doubles(directory: Path, records: list[RunRecord]) -> None:
    names = [record.scenario for record in records]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise BadUsage(
            f"{directory} has several runs of {double}",
            hint="name the directory of one run, for example one by its time",
        )
