"""The command line: commands parse, call, render and choose the exit code; no logic lives here."""

from __future__ import annotations


def main() -> None:
    """Entry point of `poolbench` and `python -m poolbench`; always ends in `SystemExit`."""
    import sys

    from poolbench.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # a terminal without `×` gets a `?`, not a traceback
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="poolbench")
