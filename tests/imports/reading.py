"""Files read as the command reads them, without the command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from poolbench.imports import detect
from poolbench.imports.builder import Assumed, Builder, Built
from poolbench.scenario.workload import OPS

REAL = Path(__file__).parent / "real"
NO_KERNELS = Assumed(kernel_ns=0, keeps_host=False)


def read(path: Path, assumed: Assumed = NO_KERNELS) -> tuple[Builder, Built]:
    builder = Builder()
    recorded = detect.read(path, detect.format_of(path), builder, assumed, lambda _: None)
    return builder, builder.build(recorded)


def text_file(folder: Path, text: str, name: str = "file") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def ops(built: Built) -> list[str]:
    return [OPS[code] for code in built.workload.columns["op"].tolist()]


def counts(built: Built) -> dict[str, int]:
    return dict(Counter(ops(built)))


def column(built: Built, name: str) -> list[int]:
    found: list[int] = built.workload.columns[name].tolist()
    return found
