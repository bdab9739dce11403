"""`poolbench run --find-limit`: the smallest pool of each row instead of a table of times."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.backends.select import open_backend
from poolbench.cli.session import DEFAULT_OUTPUT, Session
from poolbench.errors import DeviceFailed, ExitCode, Interrupted

if TYPE_CHECKING:
    from poolbench.backends.base import Backend
    from poolbench.errors import PoolbenchError
    from poolbench.limits import Limit, Limits
    from poolbench.prepare import Experiment

MEASURED_REPEATS = 3
"""Runs of each limit on a GPU, where a wait may depend on the moment."""


def find_all(session: Session) -> ExitCode:
    """One scenario after another; what was found before a failure is kept and printed."""
    from poolbench.experiment import fresh_directory, worst
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.limits import print_limits
    from poolbench.results.store import refuse_used

    base = session.output or fresh_directory(DEFAULT_OUTPUT, datetime.now)
    for experiment in session.experiments:
        refuse_used(base / experiment.scenario.name)
    backend, reason = open_backend(
        session.choice, time_limit_s=session.run_limit_s, profile=session.profile
    )
    line(for_words(), f"backend {backend.kind.value}: {reason}")
    repeats = session.repeats or (MEASURED_REPEATS if backend.kind.is_measured else 1)
    codes: list[ExitCode] = []
    console = for_data()
    try:
        for index, experiment in enumerate(session.experiments):
            directory = base / experiment.scenario.name
            limits, fault = _find(experiment, backend, repeats, directory)
            if limits is not None:
                if index:
                    line(console)
                print_limits(console, limits, directory=str(directory))
            codes.append(ExitCode.DONE if fault is None else fault.exit_code)
            if fault is not None:
                _report(fault)
            if isinstance(fault, Interrupted):
                break
    finally:
        backend.close()
    return worst(codes)


def _find(
    experiment: Experiment, backend: Backend, repeats: int, directory: Path
) -> tuple[Limits | None, PoolbenchError | None]:
    from poolbench.domain import AttributeSet
    from poolbench.limits import Limits, find_limits, write
    from poolbench.render.console import for_words
    from poolbench.render.progress import count_bar

    found: list[Limit] = []
    name = experiment.scenario.name

    def limits_so_far() -> Limits:
        return Limits(
            scenario=name,
            environment=environment,
            is_predicted=not backend.kind.is_measured,
            repeats=repeats,
            found=tuple(found),
        )

    try:
        backend.renew()
        environment = backend.environment()
    except DeviceFailed as failed:
        return None, failed
    n_all = sum(isinstance(plan.case.row, AttributeSet) for plan in experiment.plans)
    try:
        with count_bar(for_words(), name, n_all) as advance:

            def keep(one: Limit) -> None:
                found.append(one)
                write(directory, limits_so_far())
                advance()

            find_limits(experiment.plans, backend, repeats=repeats, on_found=keep)
    except KeyboardInterrupt:
        return limits_so_far(), Interrupted(f"{name}: interrupted; finished rows are kept")
    except DeviceFailed as failed:
        return limits_so_far(), failed
    return limits_so_far(), None


def _report(fault: PoolbenchError) -> None:
    from poolbench.cli.report import report

    report(fault)
