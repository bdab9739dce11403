"""What would run: cases with their steps, without running them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.domain import row_name
from poolbench.plan.plan import Plan
from poolbench.plan.steps import KIND_NAMES
from poolbench.prepare import Experiment
from poolbench.render.console import line
from poolbench.render.grid import lines_of
from poolbench.results.numbers import threshold_text
from poolbench.results.table import Block, Table, TableColumn, TableRow, axes_text
from poolbench.units import format_size

_HEADERS = (
    ("row", False),
    ("steps", True),
    ("iterations", True),
    ("allocs", True),
    ("kernels", True),
    ("streams", True),
    ("max size", True),
    ("threshold", True),
)


def print_plan(console: Console, experiments: Sequence[Experiment]) -> None:
    for index, experiment in enumerate(experiments):
        if index:
            line(console)
        plans = experiment.plans
        n_steps = sum(plan.n_steps * plan.n_iterations for plan in plans)
        text = f"{experiment.scenario.name}: {len(plans)} cases, {n_steps} steps in all"
        line(console, Text(text, style="bold"))
        for row in lines_of(_table(plans), console.width):
            line(console, row)


def _table(plans: Sequence[Plan]) -> Table:
    blocks: dict[str, list[TableRow]] = {}
    for plan in plans:
        blocks.setdefault(axes_text(plan.case), []).append(TableRow(status="", cells=_cells(plan)))
    columns = tuple(
        TableColumn(
            key=name, header=(name,), unit="", is_number=is_number, group=index - (index == 0)
        )
        for index, (name, is_number) in enumerate(_HEADERS)
    )
    return Table(
        columns=columns,
        blocks=tuple(Block(title=title, rows=tuple(rows)) for title, rows in blocks.items()),
    )


def _cells(plan: Plan) -> tuple[str, ...]:
    kinds = Counter(KIND_NAMES[type(step)] for step in plan.steps)
    return (
        row_name(plan.case.row),
        str(plan.n_steps),
        str(plan.n_iterations),
        str(kinds["alloc"]),
        str(kinds["kernel"]),
        str(len(plan.streams)),
        format_size(plan.max_size) if plan.max_size else "none",
        threshold_text(plan.release_threshold),
    )
