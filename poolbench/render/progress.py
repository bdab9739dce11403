"""How far a measurement is, on stderr: a bar on a terminal, one line elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from poolbench import measure
from poolbench.render.console import line


@contextmanager
def progress_bar(
    console: Console, name: str, *, n_cases: int, n_runs: int
) -> Iterator[Callable[[measure.Progress], None]]:
    """What `measure` tells its progress to while the bar is on the screen."""
    if not console.is_terminal:
        line(console, f"{name}: {n_cases} cases, {n_runs} runs")
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[case]}", markup=False),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(name, total=n_runs, left="", case="")

        def show(now: measure.Progress) -> None:
            bar.update(task, completed=now.n_done, left=left_text(now.left_s), case=now.case.key)

        yield show


@contextmanager
def count_bar(console: Console, name: str, n_all: int) -> Iterator[Callable[[], None]]:
    """What to call after each of `n_all` things."""
    if not console.is_terminal:
        yield lambda: None
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(name, total=n_all)
        yield lambda: bar.advance(task)


@contextmanager
def spinner(console: Console, name: str) -> Iterator[Callable[[int], None]]:
    """What to tell how many things are done, where nobody knows how many there are."""
    if not console.is_terminal:
        line(console, name)
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.completed:,.0f} events"),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(name, total=None)
        yield lambda n: bar.update(task, completed=n)


def left_text(seconds: float | None) -> str:
    """`about 40 s left`; rough, and silent where there is nothing to tell."""
    if seconds is None or seconds < 1:
        return ""
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left"
