"""`fuzz`: random scenarios on which the model is held to the hardware."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolbench.backends.base import Backend
    from poolbench.fuzz.campaign import Found
    from poolbench.fuzz.drawn import Drawn


class Against(StrEnum):
    CUDA = "cuda"
    MODEL_SELF = "model-self"


def fuzz(
    n_cases: Annotated[
        int, typer.Option("--cases", min=1, max=100_000, help="Scenarios to draw.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="What they are drawn from.")] = 0,
    against: Annotated[
        Against, typer.Option("--against", help="The model is compared with this.")
    ] = Against.CUDA,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="For figures and answers.")
    ] = None,
    time_limit_s: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds; ends early after them.")
    ] = None,
    shrink_limit_s: Annotated[
        float, typer.Option("--shrink-limit", min=0, help="Seconds for shrinking, in all.")
    ] = 30.0,
) -> None:
    """Hold the model against the hardware on random scenarios.

    Both answer each scenario, and every allocation is compared.

    A disagreement is reduced to the smallest scenario that still has it.
    """
    from poolbench.backends.model.backend import ModelBackend
    from poolbench.backends.select import Choice, open_backend
    from poolbench.fuzz.campaign import cases, figures, run
    from poolbench.fuzz.table import table
    from poolbench.fuzz.write import write
    from poolbench.render.console import for_words, line

    is_measured = against is Against.CUDA
    left, reason = open_backend(Choice.CUDA if is_measured else Choice.MODEL, time_limit_s=20.0)
    line(for_words(), f"backend {left.kind.value}: {reason}; {n_cases} scenarios of seed {seed}")
    right = ModelBackend()
    try:
        drawn = cases(seed, n_cases)
        found = list(run(drawn, left, right, time_limit_s=time_limit_s))
        smallest = _smallest(drawn, found, left, right, limit_s=shrink_limit_s)
        environment = left.environment()
    finally:
        left.close()
    totals = figures(found)
    if output is not None:
        write(
            output,
            found,
            totals,
            seed=seed,
            environment=environment,
            against=against.value,
            smallest=smallest,
        )
    typer.echo(table(totals), nl=False)


def _smallest(
    drawn: Sequence[Drawn],
    found: Sequence[Found],
    left: Backend,
    right: Backend,
    *,
    limit_s: float,
) -> dict[str, str]:
    """One scenario of each kind of disagreement, as small as the time allows."""
    import time

    from poolbench.fuzz.shrink import report, shrink

    first: dict[str, Drawn] = {}
    by_name = {one.name: one for one in drawn}
    for one in found:
        if one.comparison is not None and one.comparison.disagreements:
            kind = one.comparison.disagreements[0].kind
            kept = first.setdefault(kind, by_name[one.recorded.name])
            if len(by_name[one.recorded.name].steps) < len(kept.steps):
                first[kind] = by_name[one.recorded.name]
    over = time.monotonic() + limit_s
    texts = {}
    for n_done, (kind, case) in enumerate(first.items()):
        left_s = over - time.monotonic()
        if left_s <= 0:
            break
        small = shrink(case, left, right, time_limit_s=left_s / (len(first) - n_done))
        name = "".join(c if c.isalnum() else "-" for c in kind)
        texts[f"{name}.yaml"] = report(small, left, right)
    return texts
