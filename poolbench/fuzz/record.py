"""Recorded answers: one gzip file of JSON lines, one scenario a line.

Reads and writes files; the answers are `compare.Answer`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from poolbench.domain import Status
from poolbench.errors import BadUsage
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
    """Raises `BadUsage` if the file cannot be read or is not one of these."""
    recorded: list[Recorded] = []
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                recorded.append(_of_json(json.loads(line)))
    except OSError as failed:
        raise BadUsage(f"{path} cannot be read: {failed}") from None
    except (EOFError, zlib.error) as failed:
        raise BadUsage(f"{path} ends early or is damaged: {failed}") from None
    except (ValueError, KeyError, TypeError) as failed:
        raise BadUsage(f"{path}:{len(recorded) + 1}: not a recorded answer: {failed}") from None
    return tuple(recorded)


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


def _of_json(raw: object) -> Recorded:
    if not isinstance(raw, dict):
        raise TypeError("a line that is no mapping")
    if raw["format"] != FORMAT_VERSION:
        raise ValueError(f"a recording of format {raw['format']}, not {FORMAT_VERSION}")
    outcome, waited_for, place, reserved, used = (_column(raw[name]) for name in _COLUMNS)
    if len({len(column) for column in (outcome, waited_for, place, reserved, used)}) != 1:
        raise ValueError("its columns have different lengths")
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
    if not isinstance(raw, list) or not all(one is None or type(one) is int for one in raw):
        raise TypeError("a column that is no list of whole numbers")
    return tuple(raw)


def _whole(column: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(value for value in column if value is not None)
