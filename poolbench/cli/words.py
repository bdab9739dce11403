"""`list`, `doctor` and `explain`: what there is, what works, what it means."""

from __future__ import annotations

from typing import Annotated

import typer


def list_all() -> None:
    """List scenarios, attribute sets, profiles, kernels and steps."""
    from poolbench.backends.model import profile_file
    from poolbench.render.catalogue import print_catalogue
    from poolbench.render.console import for_data
    from poolbench.scenario.find import FOLDERS, shipped, within
    from poolbench.scenario.load import load

    print_catalogue(
        for_data(),
        [load(path) for path in shipped()],
        folders={name: [path.stem for path in within(name)] for name in FOLDERS},
        profiles=profile_file.shipped(),
    )


def doctor() -> None:
    """Say what works on this machine, what is missing and what to do."""
    from poolbench.diagnosis import examine
    from poolbench.render.catalogue import print_diagnosis
    from poolbench.render.console import for_data

    diagnosis = examine()
    print_diagnosis(for_data(), diagnosis)
    if not diagnosis.model_works:
        raise typer.Exit(1)


def explain(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="An attribute, outcome, column, error code, ..."),
    ] = None,
) -> None:
    """Explain an attribute, outcome, column or error code.

    Also presets, baselines, statuses and step kinds. Without a name: list all that there are.
    """
    from poolbench.explain import all_explanations
    from poolbench.explain import explain as explanations_of
    from poolbench.render.catalogue import print_explanations, print_names
    from poolbench.render.console import for_data

    if name is None:
        print_names(for_data(), tuple(all_explanations()))
    else:
        print_explanations(for_data(), explanations_of(name))
