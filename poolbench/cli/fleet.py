"""`poolbench run --on` and `--devices`: the parts of a sweep, each where there is a free device."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolbench.backends.select import Choice
from poolbench.cli.session import DEFAULT_OUTPUT, Session, effort_of, print_all, refuse_unwritable
from poolbench.errors import BadUsage, DeviceFailed, ExitCode, NoBackend

if TYPE_CHECKING:
    from poolbench.fleet.engine import Site
    from poolbench.fleet.pieces import Growing
    from poolbench.results.record import RunRecord


def measure_on(session: Session, *, on: str | None, devices: str | None) -> ExitCode:
    """Every part on one of the workers; what has come back is on disk, and is kept."""
    from poolbench.experiment import fresh_directory
    from poolbench.fleet import engine
    from poolbench.results.store import refuse_used

    if session.once:
        raise BadUsage("--once is for a profiler beside one run; it does not go to workers")
    engine.require()
    base = session.output or fresh_directory(DEFAULT_OUTPUT, datetime.now)
    refuse_used(base)
    refuse_unwritable("--csv", session.csv)
    refuse_unwritable("--report", session.report)
    where: AbstractContextManager[Any]
    if on is not None:
        where = engine.at_address(engine.read_address(on))
    else:
        where = engine.on_devices(_devices(session.choice, devices or ""))
    with where as client:
        here = engine.sites(client, session.choice, session.profile, session.run_limit_s)
        return _measure(session, client, here, base)


def _devices(choice: Choice, text: str) -> tuple[int, ...]:
    """Raises `NoBackend` for a device that is not there; the model takes any number."""
    from poolbench.backends.cuda.detect import device_count
    from poolbench.fleet.engine import read_devices

    found = read_devices(text)
    count = device_count()
    if choice is Choice.MODEL or (choice is Choice.AUTO and not count):
        return found
    missing = [device for device in found if device >= count]
    if missing:
        seen = f"the driver sees {count}" if count else "the driver sees no GPU"
        raise NoBackend(f"there is no device {missing[0]}: {seen}")
    return found


def _measure(session: Session, client: Any, here: tuple[Site, ...], base: Path) -> ExitCode:
    from poolbench.experiment import worst
    from poolbench.fleet.engine import run_parts
    from poolbench.fleet.parts import parts_of
    from poolbench.fleet.worker import Settings
    from poolbench.render.console import for_words, line
    from poolbench.render.progress import count_bar

    words = for_words()
    for site in here:
        kind = "" if site.is_measured else " (the model: nothing is measured)"
        line(words, f"{len(site.workers)} x {site.environment}{kind}")
    parts = [part for experiment in session.experiments for part in parts_of(experiment)]
    settings = Settings(
        choice=session.choice,
        profile=session.profile,
        run_limit_s=session.run_limit_s,
        effort=effort_of(session, is_measured=any(site.is_measured for site in here)),
        command=session.command,
    )
    growing = _directories(session, here, base)
    codes: list[ExitCode] = []
    try:
        with count_bar(words, "parts", len(parts) * len(here)) as advance:
            for came in run_parts(client, here, parts, settings):
                advance()
                if came.piece is not None:
                    growing[came.site.environment, came.part.scenario.name].add(came.piece)
                    continue
                axes = came.part.plans[0].case.key.rpartition("/")[0]
                line(words, f"poolbench: {axes} on {came.site.environment}: {came.fault}")
                codes.append(DeviceFailed.exit_code)
    except KeyboardInterrupt:
        line(words, "poolbench: interrupted; what has come back is kept")
        codes.append(ExitCode.INTERRUPTED)
    records = [(one.directory, one.record()) for one in growing.values() if one.n_cases]
    return worst([*codes, *print_all(session, records)])


def _directories(
    session: Session, here: tuple[Site, ...], base: Path
) -> dict[tuple[str, str], Growing]:
    """One environment needs no folder of its own."""
    from poolbench.fleet.pieces import Growing

    return {
        (site.environment, experiment.scenario.name): Growing(
            (base / folder_of(site.environment) if len(here) > 1 else base)
            / experiment.scenario.name,
            len(experiment.plans),
            session.command,
        )
        for site in here
        for experiment in session.experiments
    }


def folder_of(environment: str) -> str:
    """`nvidia-h200-driver-580-159-04-cuda-13-0`."""
    return re.sub(r"[^a-z0-9]+", "-", environment.lower()).strip("-")[:80] or "environment"


def merge_runs(directories: list[Path], output: Path, command: tuple[str, ...]) -> ExitCode:
    """Raises `BadUsage` for what does not belong together; nothing is written then."""
    from poolbench.fleet.merge import by_environment, merge
    from poolbench.fleet.pieces import read_pieces, write_merged
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.fleet import print_environments
    from poolbench.results.store import refuse_used

    refuse_used(output)
    environments = by_environment(read_pieces(directories))
    merged = {}
    for environment, pieces in environments.items():
        by_scenario: dict[str, list[Any]] = {}
        for piece in pieces:
            by_scenario.setdefault(piece.record.scenario, []).append(piece)
        folder = output / folder_of(environment) if len(environments) > 1 else output
        for scenario, ones in by_scenario.items():
            merged[environment, scenario] = (folder / scenario, merge(ones, command=command))
    for directory, one in merged.values():
        write_merged(directory, one)
    words = for_words()
    for (environment, scenario), (directory, one) in merged.items():
        told = f"{scenario}, {environment}: {len(one.record.cases)} cases"
        told += f" of {len(one.record.parts)} runs" if len(one.record.parts) > 1 else ""
        if one.n_doubles:
            told += f"; {one.n_doubles} of them twice, and equal"
        line(words, f"{told}: {directory}")
        if one.missing:
            line(words, f"  missing: {_keys([case.key for case in one.missing])}")
    if len(environments) > 1:
        records: dict[str, dict[str, RunRecord]] = {}
        for (environment, scenario), (_, one) in merged.items():
            records.setdefault(scenario, {})[environment] = one.record
        print_environments(for_data(), records)
    return ExitCode.DONE


def _keys(keys: list[str]) -> str:
    more = f" and {len(keys) - 6} more" if len(keys) > 6 else ""
    return f"{', '.join(keys[:6])}{more}"
