"""Faults to exit codes, for every command alike."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from poolbench.errors import ExitCode, PoolbenchError


class Commands(TyperGroup):
    """The group of all commands: reports a `PoolbenchError` and ends with its exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PoolbenchError as fault:
            from poolbench.cli.report import report

            report(fault)
            raise typer.Exit(int(fault.exit_code)) from fault
        except KeyboardInterrupt as stop:
            typer.echo("interrupted", err=True)
            raise typer.Exit(int(ExitCode.INTERRUPTED)) from stop
