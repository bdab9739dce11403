"""Programs to record, with a CUPTI and a driver that are fakes: what a GPU is not needed for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "fake"

LOOP = """
import sys
import poolbench
from cupti import cupti as gpu

stream = gpu.create_stream()
kept = gpu.alloc(3 << 20, stream)
for i in range(6):
    with poolbench.record():
        x = gpu.alloc(1 << 20, stream)
        gpu.copy(4096, stream)
        gpu.launch(1000 * (i + 1), stream, f"step{i}")
        gpu.free(x, stream)
    gpu.launch(77, stream, "between")
gpu.synchronise(stream)
"""
"""Six marked iterations, a kernel after each."""


def setting(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """The fake is what the program imports as CUPTI, and there is a "GPU"."""
    monkeypatch.setattr("poolbench.backends.cuda.detect.why_missing", lambda: None)
    monkeypatch.setattr("poolbench.backends.cuda.detect.machine", lambda: ("Fake GPU", "1.2"))
    monkeypatch.setenv("PYTHONPATH", f"{FAKE}{os.pathsep}{ROOT}")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


Program = Callable[..., tuple[str, ...]]


def program(folder: Path, text: str = LOOP, name: str = "prog.py") -> tuple[str, ...]:
    """The command that runs it."""
    (folder / name).write_text(text, encoding="utf-8")
    return ("--", sys.executable, name)
