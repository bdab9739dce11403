"""Runs of parts of one sweep as one run.

Pure.  Only what was run of the same scenario, with the same settings, on the same backend, device
and driver is one run; `by_environment` keeps the rest apart.  A case that two of them have must be
the same in both, which it is where the model ran it, and is not where it was measured twice.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from poolbench.domain import Case, Row
from poolbench.errors import BadUsage
from poolbench.findings import CaseResult
from poolbench.results.environment import Environment
from poolbench.results.record import PartRecord, RunRecord

MAX_TOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A results directory as it was read; `name` stands for it in messages.  `files` are the
    scenario and what lies beside it, by path, as they are kept."""

    name: str
    record: RunRecord
    samples: str
    steps: str
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """`missing` are cases of the sweep that no piece has, `n_doubles` those that several had."""

    record: RunRecord
    samples: str
    steps: str
    files: dict[str, bytes]
    missing: tuple[Case, ...]
    n_doubles: int


def environment_name(where: Environment) -> str:
    """`NVIDIA H200, driver 580.159.04, CUDA 13.0`."""
    parts = [where.device]
    if where.driver:
        parts.append(f"driver {where.driver}")
    if where.cuda:
        parts.append(f"CUDA {where.cuda}")
    return ", ".join(parts)


def by_environment(pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
    """Name of an environment -> the pieces that came about in it, in their order."""
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(environment_name(piece.record.before), []).append(piece)
    return found


def merge(pieces: Sequence[Piece], *, command: tuple[str, ...]) -> Merged:
    """Pieces of one scenario and one environment.

    Raises `BadUsage` where they are not parts of one run.
    """
    first = pieces[0]
    for other in pieces[1:]:
        _refuse_different(first, other)
    order = _order_of([piece.record for piece in pieces])
    pieces = sorted(pieces, key=lambda piece: _place(piece, order))
    found, dropped = _cases(pieces)
    missing = tuple(case for case in order if case not in found)
    records = [piece.record for piece in pieces]
    is_whole = all(record.after is not None for record in records)
    settled = [record.is_settled for record in records if record.is_settled is not None]
    record = replace(
        records[0],
        command=command,
        started=min(record.started for record in records),
        repeats=min(record.repeats for record in records),
        warmup=max(record.warmup for record in records),
        n_planned=len(order),
        after=records[-1].after if is_whole and not missing else None,
        cases=tuple(found[case] for case in order if case in found),
        is_settled=all(settled) if settled else None,
        throttled=(),
        sm_mhz=(),
        set_aside=(),
        shard=None,
        parts=tuple(itertools.chain.from_iterable(map(_parts, records))),
    )
    return Merged(
        record=record,
        samples=_joined([(piece.name, piece.samples) for piece in pieces], dropped),
        steps=_joined([(piece.name, piece.steps) for piece in pieces], dropped),
        files=first.files,
        missing=missing,
        n_doubles=sum(len(keys) for keys in dropped),
    )


def _refuse_different(one: Piece, two: Piece) -> None:
    facts = (
        ("scenario", one.files, two.files),
        ("backend", one.record.backend, two.record.backend),
        ("seed", one.record.seed, two.record.seed),
        ("axes", one.record.axes, two.record.axes),
        ("--set", _sets(one.record), _sets(two.record)),
        ("poolbench", one.record.version, two.record.version),
    )
    different = [what for what, left, right in facts if left != right]
    if different:
        raise BadUsage(
            f"{one.name} and {two.name} are not parts of one run: they differ in "
            f"{', '.join(different)}",
            hint="`poolbench compare` sets two runs side by side",
        )


def _sets(record: RunRecord) -> frozenset[str]:
    """What `--set` was given on the command line."""
    found = []
    for word, following in itertools.pairwise((*record.command, "")):
        if word == "--set":
            found.append(following)
        elif word.startswith("--set="):
            found.append(word.removeprefix("--set="))
    return frozenset(found)


def _order_of(records: Sequence[RunRecord]) -> list[Case]:
    """Every case of the sweep: all combinations of axis values with all rows that there are."""
    rows: dict[Row, None] = {}
    for record in sorted(records, key=lambda one: -len(one.cases)):
        rows.update(dict.fromkeys(result.case.row for result in record.cases))
    names = [name for name, _ in records[0].axes]
    combinations = itertools.product(*(values for _, values in records[0].axes))
    return [
        Case(scenario=records[0].scenario, row=row, axes=tuple(zip(names, texts, strict=True)))
        for texts in combinations
        for row in rows
    ]


def _place(piece: Piece, order: Sequence[Case]) -> int:
    place = {case: at for at, case in enumerate(order)}
    return min((place[result.case] for result in piece.record.cases), default=len(order))


def _cases(pieces: Sequence[Piece]) -> tuple[dict[Case, CaseResult], list[set[str]]]:
    """(results by case, by piece the keys of cases that another piece has already).

    Raises `BadUsage` where they differ.
    """
    found: dict[Case, CaseResult] = {}
    owner: dict[Case, str] = {}
    dropped: list[set[str]] = []
    clashes: list[str] = []
    for piece in pieces:
        again: set[str] = set()
        for result in piece.record.cases:
            if result.case not in found:
                found[result.case] = result
                owner[result.case] = piece.name
                continue
            again.add(result.case.key)
            if found[result.case] != result:
                clashes.append(f"{result.case.key} ({owner[result.case]} and {piece.name})")
        dropped.append(again)
    if clashes:
        told = "; ".join(clashes[:MAX_TOLD])
        more = f"; and {len(clashes) - MAX_TOLD} more" if len(clashes) > MAX_TOLD else ""
        raise BadUsage(
            f"cases that were run twice, with different results: {told}{more}",
            hint="two measurements of a case are two runs: leave one of them out",
        )
    return found, dropped


def _parts(record: RunRecord) -> tuple[PartRecord, ...]:
    if record.parts:
        return record.parts
    return (
        PartRecord(
            shard=record.shard,
            started=record.started,
            n_cases=len(record.cases),
            repeats=record.repeats,
            before=record.before,
            after=record.after,
            throttled=record.throttled,
            set_aside=record.set_aside,
        ),
    )


def _joined(named: Sequence[tuple[str, str]], dropped: Sequence[set[str]]) -> str:
    """Tables with one head; lines of dropped cases are left out."""
    head = ""
    bodies: list[str] = []
    for (name, text), without in zip(named, dropped, strict=True):
        own, _, body = text.partition("\n")
        if not head:
            head = own
        elif own != head:
            raise BadUsage(f"the tables of {name} have other columns than those before it")
        bodies.append("".join(_kept(body, without)) if without else body)
    return f"{head}\n{''.join(bodies)}"


def _kept(body: str, without: set[str]) -> Iterator[str]:
    """The first cell of a line is its case."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in csv.reader(io.StringIO(body)):
        if row and row[0] not in without:
            writer.writerow(row)
    yield out.getvalue()
