"""The command line: commands parse, call, render and choose the exit code; no logic lives here."""

from __future__ import annotations


def main() -> None:
    """Entry point of `poolbench` and `python -m poolbench`; always ends in `SystemExit`."""
    from poolbench.cli.app import app

    app(prog_name="poolbench")
