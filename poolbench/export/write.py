"""An export by the ending of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.results.files import write_text
from poolbench.results.record import RunRecord


def formatter_for(path: Path) -> Callable[[Sequence[RunRecord]], str]:
    """What makes the text of such a file; raises `BadUsage` for an ending that we do not know."""
    match path.suffix.lower():
        case ".csv":
            from poolbench.export.csv import to_csv

            return to_csv
        case ".json":
            from poolbench.export.json import to_json

            return to_json
        case ".md":
            from poolbench.export.markdown import to_markdown

            return to_markdown
        case ending:
            raise BadUsage(
                f"{path}: do not know how to write {ending or 'a file without an ending'}",
                hint="known endings: .csv, .json, .md",
            )


def export(records: Sequence[RunRecord], path: Path) -> None:
    """Write the records; what is there under this name is replaced, for it can be made again."""
    write_text(path, formatter_for(path)(records))
