"""`probe`: what this driver does, in seconds and with causal proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poolbench.backends.select import Choice, open_backend
from poolbench.cli.options import BackendOption, ProfileOption
from poolbench.errors import ExitCode


def probe(
    backend: BackendOption = Choice.AUTO,
    profile: ProfileOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="DIR", help="Keep what was found in DIR.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="DIR", help="Compare with a kept probe; exit 1 if a rule differs."
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Show what each cell of the first table rests on.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Longest single run on the GPU.")
    ] = 20.0,
) -> None:
    """Find out this driver's rules of reuse.

    Small scenarios in which a latch proves who depends on whom: who may reuse a block, which calls
    wait for running work, how the pool lays memory out. Each answer stands beside what NVIDIA
    documents. The scenarios are `probe/NAME`, and `poolbench run` runs them like any other.
    """
    from poolbench.probe import record
    from poolbench.probe.changes import changes
    from poolbench.probe.conduct import conduct
    from poolbench.probe.questions import runs
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.probe import print_changes, print_probe
    from poolbench.render.progress import count_bar
    from poolbench.results.store import refuse_used

    before = None if against is None else record.read(against)
    if save is not None:
        refuse_used(save)
    opened, reason = open_backend(backend, time_limit_s=time_limit, profile=profile)
    line(for_words(), f"backend {opened.kind.value}: {reason}")
    try:
        with count_bar(for_words(), "probe", len(runs())) as on_progress:
            found = conduct(opened, on_progress=on_progress)
    finally:
        opened.close()
    if save is not None:
        record.write(save, found)
    print_probe(for_data(), found, has_evidence=evidence)
    if before is None:
        return
    differing = changes(before, found)
    print_changes(for_data(), before, differing)
    if differing.found:
        raise typer.Exit(int(ExitCode.EXPECTATION_FAILED))
