"""`poolbench run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.backends.select import Choice
from poolbench.cli.options import BackendOption, ProfileOption
from poolbench.cli.parsing import (
    AUTO,
    read_axes,
    read_precision,
    read_repeats,
    read_sets,
    without_limit,
)
from poolbench.cli.report import report_problems
from poolbench.cli.session import (
    DEFAULT_OUTPUT,
    MEASURED_REPEATS,
    PREDICTED_REPEATS,
    Session,
    measure_all,
)
from poolbench.errors import BadUsage, ExitCode

if TYPE_CHECKING:
    from poolbench.prepare import Experiment


def run(
    scenarios: Annotated[
        list[str], typer.Argument(metavar="FILE-OR-NAME", help="Files, or shipped scenarios.")
    ],
    backend: BackendOption = Choice.AUTO,
    profile: ProfileOption = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROWS",
            help="Rows, separated by commas: 111, 1x0, default, pytorch, cudamalloc, all, presets. "
            "Default: all eight combinations and both baselines.",
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another value for a parameter or setting."
        ),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="NAME=V1,V2", help="Several values: a block of rows each."),
    ] = None,
    repeats: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help=f"Timed repetitions of each case. Default: {MEASURED_REPEATS}; "
            f"{PREDICTED_REPEATS} on the model, where all are equal. auto: until --precision or "
            "--time-limit is reached.",
        ),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            metavar="X%",
            help="With --repeats auto: how precisely each row is to be known against 111.",
        ),
    ] = "2%",
    time_limit: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="With --repeats auto: of each scenario. What has begun is ended properly.",
        ),
    ] = 300.0,
    warmup: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=100,
            metavar="N",
            help="Runs of each case before, not kept. Default: until times settle, at least 2; "
            "0 on the model.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Of the scenario's draws and of the order of runs. Default: the scenario's.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Also write a CSV, a row per case."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=f"Results go to DIR/<scenario>/. Default: {DEFAULT_OUTPUT}/<time>.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write an HTML report of what was run."),
    ] = None,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="One timed run of each case, nothing else: for a profiler, with NVTX ranges.",
        ),
    ] = False,
    find_limit: Annotated[
        bool,
        typer.Option(
            "--find-limit",
            help="Find the smallest pool.max_size of each row without a failure, and without a "
            "wait, instead of timing.",
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the cases and their steps; run nothing.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="With --plan, of one case: write its steps as JSON, to be replayed.",
        ),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One table, however wide; do not fold it.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Only the I-th of N parts of the sweep; `poolbench merge` puts them together.",
        ),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(metavar="0,1,...", help="Spread the sweep over these GPUs of this host."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="dask://ADDRESS", help="Spread the sweep over the workers of a Dask cluster."
        ),
    ] = None,
    run_limit: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Longest single run on the GPU.")
    ] = 60.0,
) -> None:
    """Run scenarios under every attribute set.

    Shows what each of them costs beside two baselines, and keeps the results in a directory.
    """
    from poolbench.plan.cases import select_rows
    from poolbench.prepare import load_all, prepare

    if export is not None and not plan:
        raise BadUsage("--export writes a plan", hint="add --plan")
    rows = select_rows(attributes or [])
    set_values, axis_values = read_sets(sets or []), read_axes(axes or [])
    if find_limit:
        set_values = without_limit(set_values, axis_values)
    loaded = load_all(scenarios)
    experiments = prepare(loaded.scenarios, rows=rows, sets=set_values, axes=axis_values, seed=seed)
    part = None
    if shard is not None:
        part, experiments = _shard(shard, experiments)
    if loaded.warnings:
        report_problems(loaded.warnings, loaded.texts)
    if plan:
        from poolbench.render.console import for_data
        from poolbench.render.plan import print_plan

        print_plan(for_data(), experiments)
        if export is not None:
            from poolbench.cli.plan_file import write_plan

            write_plan(export, experiments)
        return
    session = Session(
        experiments=experiments,
        choice=backend,
        profile=profile,
        run_limit_s=run_limit,
        time_limit_s=time_limit,
        precision=read_precision(precision) if repeats == AUTO else None,
        repeats=read_repeats(repeats),
        warmup=warmup,
        once=once,
        output=output,
        csv=csv,
        report=report,
        command=("poolbench", *sys.argv[1:]),
        is_wide=wide,
        shard=part,
    )
    if on is not None or devices is not None:
        code = _spread(session, on=on, devices=devices, find_limit=find_limit)
    elif not experiments:
        code = ExitCode.DONE
    elif find_limit:
        from poolbench.cli.limits import find_all

        code = find_all(session)
    else:
        code = measure_all(session)
    if code is not ExitCode.DONE:
        raise typer.Exit(int(code))


def _shard(
    text: str, experiments: tuple[Experiment, ...]
) -> tuple[tuple[int, int], tuple[Experiment, ...]]:
    """Of a sweep with fewer parts than shards, some shards have nothing to do."""
    from poolbench.fleet.parts import of_shard, parts_of, read_shard

    shard = read_shard(text)
    mine = of_shard(experiments, shard)
    if not mine:
        n_parts = sum(len(parts_of(one)) for one in experiments)
        typer.echo(f"shard {shard} has nothing to do: there are {n_parts} parts", err=True)
    return (shard.index, shard.of), mine


def _spread(session: Session, *, on: str | None, devices: str | None, find_limit: bool) -> ExitCode:
    from poolbench.cli.fleet import measure_on
    from poolbench.errors import BadUsage

    if find_limit or session.shard is not None or (on is not None and devices is not None):
        raise BadUsage("--on, --devices, --shard and --find-limit do not go together")
    return measure_on(session, on=on, devices=devices)
