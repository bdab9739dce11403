"""`check` and `schema`: scenario files, without running them."""

from __future__ import annotations

from typing import Annotated

import typer


def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE-OR-NAME", help="Files, or shipped scenarios.")
    ],
) -> None:
    """Find every fault of scenario files; run nothing."""
    from poolbench.cli.report import report_problems
    from poolbench.prepare import load_all, summary

    loaded = load_all(files)
    if loaded.warnings:
        report_problems(loaded.warnings, loaded.texts)
    for scenario in loaded.scenarios:
        typer.echo(f"{scenario.file}: {summary(scenario)}")


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    import json

    from poolbench.scenario.json_schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
