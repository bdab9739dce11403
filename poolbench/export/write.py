"""An export by the ending of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.results.files import write_bytes, write_text
from poolbench.results.record import RunRecord

_Writer = Callable[[Sequence[RunRecord], Path], None]
NVBENCH = ".nvbench.json"
ENDINGS = (".csv", ".json", ".md", NVBENCH, ".bench.txt")


def writer_for(path: Path) -> _Writer:
    """What writes such a file; raises `BadUsage` for an ending that we do not know."""
    name = path.name.lower()
    if name.endswith(NVBENCH):
        return _write_nvbench
    if name.endswith(".bench.txt"):
        from poolbench.export.gobench import to_gobench

        return _text(to_gobench)
    match path.suffix.lower():
        case ".csv":
            from poolbench.export.csv import to_csv

            return _text(to_csv)
        case ".json":
            from poolbench.export.json import to_json

            return _text(to_json)
        case ".md":
            from poolbench.export.markdown import to_markdown

            return _text(to_markdown)
        case ending:
            raise BadUsage(
                f"{path}: do not know how to write {ending or 'a file without an ending'}",
                hint=f"known endings: {', '.join(ENDINGS)}",
            )


def _text(formatter: Callable[[Sequence[RunRecord]], str]) -> _Writer:
    return lambda records, path: write_text(path, formatter(records))


def _write_nvbench(records: Sequence[RunRecord], path: Path) -> None:
    """The files of samples first: whoever finds the document finds them too."""
    from poolbench.export.nvbench import document, pack, sample_file

    found = document(records, path)
    for number, samples in enumerate(found.samples):
        write_bytes(sample_file(path, number), pack(samples))
    write_text(path, found.text)


def export(records: Sequence[RunRecord], path: Path) -> None:
    """Write the records; what is there under this name is replaced, for it can be made again."""
    writer_for(path)(records, path)
