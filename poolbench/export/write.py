"""An export by the ending of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from poolbench.errors import BadUsage
from poolbench.results.files import write_bytes, write_text
from poolbench.results.kept import Kept
from poolbench.results.record import RunRecord

_Writer = Callable[[Sequence[Kept], Path], None]
NVBENCH = ".nvbench.json"
PERFETTO = ".perfetto.json"
ENDINGS = (".csv", ".json", ".md", NVBENCH, ".bench.txt", PERFETTO, ".html", ".svg", ".png")


def writer_for(path: Path) -> _Writer:
    """What writes such a file; raises `BadUsage` for an ending that we do not know."""
    name = path.name.lower()
    if name.endswith(NVBENCH):
        return _write_nvbench
    if name.endswith(PERFETTO):
        from poolbench.export.perfetto import to_perfetto

        return lambda runs, path: write_text(path, to_perfetto(runs))
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
        case ".html":
            from poolbench.report.write import require, write

            require()
            return write
        case ".svg" | ".png" as ending:
            from poolbench.export.figure import require as require_plot
            from poolbench.export.figure import to_picture

            require_plot()
            return lambda runs, path: write_bytes(path, to_picture(runs, ending[1:]))
        case ending:
            raise BadUsage(
                f"{path}: do not know how to write {ending or 'a file without an ending'}",
                hint=f"known endings: {', '.join(ENDINGS)}",
            )


def _text(formatter: Callable[[Sequence[RunRecord]], str]) -> _Writer:
    return lambda runs, path: write_text(path, formatter([run.record for run in runs]))


def _write_nvbench(runs: Sequence[Kept], path: Path) -> None:
    """The files of samples first: whoever finds the document finds them too."""
    from poolbench.export.nvbench import document, pack, sample_file

    found = document([run.record for run in runs], path)
    for number, samples in enumerate(found.samples):
        write_bytes(sample_file(path, number), pack(samples))
    write_text(path, found.text)


def export(runs: Sequence[Kept], path: Path) -> None:
    """Write the runs; what is there under this name is replaced, for it can be made again."""
    writer_for(path)(runs, path)
