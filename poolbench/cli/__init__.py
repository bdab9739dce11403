"""The command line: commands parse, call, render and choose the exit code; no logic lives here."""

from __future__ import annotations


def main() -> None:
    """Entry point of `poolbench` and `python -m poolbench`; always ends in `SystemExit`."""
    import os
    import sys

    # numpy's linear algebra would start a thread a core, which nothing here uses: a tenth of a
    # second of CPU at every start, and threads beside the one that issues
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would look through all installed packages for plugins of its own
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    from poolbench.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # a terminal without `×` gets a `?`, not a traceback
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="poolbench")
