"""A fault as words on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from poolbench.errors import BadInput, PoolbenchError, Problem


def report(fault: PoolbenchError) -> None:
    from poolbench.render.console import for_words, line

    if isinstance(fault, BadInput):
        report_problems(fault.problems, fault.texts)
        return
    console = for_words()
    line(console, f"poolbench: {fault.message}")
    if fault.hint:
        line(console, f"  {fault.hint}")


def report_problems(problems: Sequence[Problem], texts: Mapping[str, str]) -> None:
    from poolbench.render.console import for_words
    from poolbench.render.problems import format_problems

    console = for_words()
    colour = console.is_terminal and not console.no_color
    typer.echo(format_problems(problems, texts, colour=colour), err=True)
