"""`fuzz`: random scenarios on which the model is held to the hardware."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.errors import BadUsage, DeviceFailed, ExitCode

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
        int, typer.Option("--cases", min=1, max=100_000, metavar="N", help="Scenarios to draw.")
    ] = 200,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="What they are drawn from.")
    ] = 0,
    against: Annotated[
        Against,
        typer.Option(
            "--against", help="What the model is compared with; model-self tries the method out."
        ),
    ] = Against.CUDA,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="Answers recorded earlier (traces.jsonl.gz) instead; needs no GPU.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="For figures, answers and disagreements."),
    ] = None,
    time_limit_s: Annotated[
        float | None,
        typer.Option("--time-limit", min=0, metavar="SECONDS", help="Ends early after them."),
    ] = None,
    shrink_limit_s: Annotated[
        float,
        typer.Option("--shrink-limit", min=0, metavar="SECONDS", help="For shrinking, in all."),
    ] = 30.0,
) -> None:
    """Hold the model against the hardware on random scenarios.

    Both answer each scenario, and every allocation is compared: outcome, whose block, the pool's
    bytes. A disagreement is reduced to the smallest scenario that still has it.
    """
    from poolbench.fuzz.campaign import figures
    from poolbench.fuzz.table import table

    if replay is not None:
        if output is not None:
            raise BadUsage("--replay measures nothing, so that --output would be empty")
        found, code = _replay(replay), ExitCode.DONE
    else:
        if output is not None:
            from poolbench.results.store import refuse_used

            refuse_used(output)
        found, code = _measure(
            n_cases,
            seed,
            against,
            output,
            time_limit_s=time_limit_s,
            shrink_limit_s=shrink_limit_s,
        )
    typer.echo(table(figures(found)), nl=False)
    if code is not ExitCode.DONE:
        raise typer.Exit(int(code))


def _replay(path: Path) -> list[Found]:
    from poolbench.backends.model.backend import ModelBackend
    from poolbench.fuzz import record
    from poolbench.fuzz.campaign import hold_against
    from poolbench.render.console import for_words, line

    answers = record.read(path)
    line(for_words(), f"backend model, against {len(answers)} answers recorded in {path}")
    model = ModelBackend()
    return [hold_against(one, model) for one in answers]


def _measure(
    n_cases: int,
    seed: int,
    against: Against,
    output: Path | None,
    *,
    time_limit_s: float | None,
    shrink_limit_s: float,
) -> tuple[list[Found], ExitCode]:
    """What was found before the end, an interruption or a failure; it is written in each case."""
    from poolbench.backends.model.backend import ModelBackend
    from poolbench.backends.select import Choice, open_backend
    from poolbench.cli.report import report
    from poolbench.fuzz.campaign import cases, figures, run
    from poolbench.fuzz.write import write
    from poolbench.render.console import for_words, line
    from poolbench.render.progress import count_bar

    is_measured = against is Against.CUDA
    left, reason = open_backend(Choice.CUDA if is_measured else Choice.MODEL, time_limit_s=20.0)
    line(for_words(), f"backend {left.kind.value}: {reason}; {n_cases} scenarios of seed {seed}")
    right = ModelBackend()
    drawn = cases(seed, n_cases)
    found: list[Found] = []
    smallest: dict[str, str] = {}
    code = ExitCode.DONE
    try:
        environment = left.environment()
        with count_bar(for_words(), "fuzz", n_cases) as on_progress:
            for one in run(drawn, left, right, time_limit_s=time_limit_s):
                found.append(one)
                on_progress()
        with suppress(KeyboardInterrupt):
            smallest = _smallest(drawn, found, left, right, limit_s=shrink_limit_s)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except DeviceFailed as failed:
        report(failed)
        code = failed.exit_code
    finally:
        left.close()
    if output is not None and found:
        write(
            output,
            found,
            figures(found),
            seed=seed,
            environment=environment,
            against=against.value,
            smallest=smallest,
        )
    return found, code


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
