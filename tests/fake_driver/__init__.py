"""A driver that runs nothing, built by the C compiler of the machine; see `driver.c`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def header_folder() -> Path | None:
    """Where `cuda.h` is."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for home in filter(None, homes):
        if (Path(home) / "include" / "cuda.h").is_file():
            return Path(home) / "include"
    return None


def why_not() -> str:
    """Why it cannot be built here; empty if it can."""
    if shutil.which("gcc") is None:
        return "there is no C compiler (gcc)"
    return "" if header_folder() else "there is no cuda.h (CUDA toolkit)"


def build(folder: Path) -> None:
    """Puts `libcuda.so.1` into `folder`: the driver of a process that starts with `LD_LIBRARY_PATH`
    pointing there."""
    headers = header_folder()
    assert headers is not None
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
         f"-I{headers}", "-o", str(folder / "libcuda.so.1"), str(HERE / "driver.c"),
         "-lpthread", "-ldl"],
        check=True,
    )  # fmt: skip
