"""`poolbench import`: another tool's trace to a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.errors import BadUsage

if TYPE_CHECKING:
    from poolbench.imports.detect import Format
    from poolbench.imports.fidelity import Fidelity


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A log, snapshot, trace or export.")],
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="NAME", help="Of the scenario, or its path. Default: FILE's."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="rmm, torch-snapshot, kineto, nsys, lines. Default: told by what is in it.",
        ),
    ] = None,
    assume_kernel: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="A kernel of this length after each allocation, where the format knows of no "
            "kernels; 0us: none.",
        ),
    ] = "50us",
    host: Annotated[
        bool,
        typer.Option("--host/--no-host", help="Keep the program's own time between its calls."),
    ] = True,
    first: Annotated[
        int,
        typer.Option("--from", min=1, metavar="N", help="The first step that is wanted, from 1."),
    ] = 1,
    n_steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, metavar="K", help="How many steps. Default: all."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Of a damaged file, keep what comes before the damage."),
    ] = False,
) -> None:
    """Make a scenario of another tool's trace.

    RMM logs, PyTorch memory snapshots and profiler traces, Nsight Systems exports, JSON lines. Ends
    with what was kept, what was guessed and what was lost.
    """
    from poolbench.imports import detect
    from poolbench.imports.builder import Assumed, Builder
    from poolbench.imports.damage import Damaged
    from poolbench.imports.write import Head, write
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.progress import spinner
    from poolbench.scenario.workload import MAX_ROWS

    chosen = _format(format_) or detect.format_of(file)
    folder, name = target_of(file, output)
    assumed = Assumed(kernel_ns=_duration(assume_kernel), keeps_host=host)
    builder = Builder(skip=first - 1, most=n_steps or MAX_ROWS)
    damage: Damaged | None = None
    recorded: dict[str, object] = {}
    with spinner(for_words(), f"{file.name}: {detect.WHAT[chosen]}") as on_line:
        try:
            recorded = detect.read(file, chosen, builder, assumed, on_line)
        except Damaged as fault:
            damage = fault
    if damage is not None and not (partial and len(builder)):
        hint = "--partial keeps what comes before" if len(builder) else ""
        raise BadUsage(damage.at(str(file)), hint=hint)
    built = builder.build(recorded)
    if damage is not None:
        builder.fidelity.note(f"read up to the damage at {damage.at(file.name)}")
    head = Head(origin=f"Imported from {file.name} ({chosen})")
    path = write(folder, name, built, builder.fidelity, head)
    console = for_data()
    line(console, f"{path}: {built.workload.n_rows:,} steps on {len(built.kinds)} streams")
    _print(builder.fidelity)
    line(for_words(), f"next: poolbench run {path}")


def _print(fidelity: Fidelity) -> None:
    from poolbench.render.console import for_data, terms

    terms(for_data(), fidelity.lines(), style="bold")


def _format(text: str | None) -> Format | None:
    from poolbench.imports.detect import Format

    if text is None:
        return None
    try:
        return Format(text)
    except ValueError:
        known = ", ".join(Format)
        raise BadUsage(f"--format {text[:60]}: expected one of {known}") from None


def _duration(text: str) -> int:
    from poolbench.units import UnitError, parse_duration

    try:
        return parse_duration(text)
    except UnitError as fault:
        raise BadUsage(f"--assume-kernel {text[:60]}: {fault}") from None


def target_of(file: Path, output: str | None) -> tuple[Path, str]:
    """Folder and name of the scenario; characters that no name has become `-`."""
    given = Path(output) if output is not None else Path(file.name)
    stem = given.name.removesuffix(".yaml")
    if output is None:
        stem = stem.split(".")[0]
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in stem)
    name = name.strip("-_")[:60]
    if not name:
        raise BadUsage(f"{given.name!r} makes no name for a scenario", hint="name it with -o")
    folder = given.parent
    if not folder.is_dir():
        raise BadUsage(f"there is no directory {folder}")
    return folder, name
