"""Recorded answers: one gzip file of JSON lines, one scenario a line.

Reads and writes files; the answers are `compare.Answer`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from poolbench.domain import Status
from poolbench.fuzz.compare import Answer

FORMAT_VERSION = 1
_COLUMNS = ("outcome", "waited_for", "place", "reserved", "used")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A scenario file, the row that it was run as, and what the hardware did."""

    name: str
    bits: str
    text: str
    answer: Answer


def write(path: Path, recorded: Iterable[Recorded]) -> None:
    """The same recordings make the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        for one in recorded:
            packed.write((json.dumps(_as_json(one), separators=(",", ":")) + "\n").encode())


def read(path: Path) -> tuple[Recorded, ...]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return tuple(_of_json(json.loads(line)) for line in lines)


def _as_json(one: Recorded) -> dict[str, object]:
    answer = one.answer
    return {
        "format": FORMAT_VERSION,
        "name": one.name,
        "row": one.bits,
        "status": answer.status.value,
        "reason": answer.reason,
        "is_whole": answer.is_whole,
        **{column: getattr(answer, column) for column in _COLUMNS},
        "scenario": one.text,
    }


def _of_json(raw: dict[str, object]) -> Recorded:
    if raw["format"] != FORMAT_VERSION:
        raise ValueError(f"a recording of format {raw['format']}, not {FORMAT_VERSION}")
    outcome, waited_for, place, reserved, used = (_column(raw[name]) for name in _COLUMNS)
    return Recorded(
        name=str(raw["name"]),
        bits=str(raw["row"]),
        text=str(raw["scenario"]),
        answer=Answer(
            status=Status(str(raw["status"])),
            reason=str(raw["reason"]),
            outcome=_whole(outcome),
            waited_for=_whole(waited_for),
            place=place,
            reserved=_whole(reserved),
            used=_whole(used),
            is_whole=bool(raw["is_whole"]),
        ),
    )


def _column(raw: object) -> tuple[int | None, ...]:
    assert isinstance(raw, list)
    return tuple(raw)


def _whole(column: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(value for value in column if value is not None)
