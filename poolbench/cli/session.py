"""What `poolbench run` does once everything is prepared: one scenario after another, each printed
as soon as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.backends.select import Choice, open_backend
from poolbench.errors import DeviceFailed, ExitCode, Interrupted

if TYPE_CHECKING:
    from poolbench.backends.base import Backend
    from poolbench.experiment import Effort
    from poolbench.prepare import Experiment
    from poolbench.results.record import RunRecord

DEFAULT_OUTPUT = Path("poolbench-results")
MEASURED_REPEATS = 10
"""Enough for verdicts on the nine rows beside the one that they are compared with."""
PREDICTED_REPEATS = 1
"""The model is deterministic: a second run says nothing that the first has not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The options of `poolbench run` that are left when scenarios have become experiments."""

    experiments: tuple[Experiment, ...]
    choice: Choice
    profile: str | None
    run_limit_s: float
    time_limit_s: float
    precision: float | None
    repeats: int | None
    warmup: int | None
    once: bool
    output: Path | None
    csv: Path | None
    report: Path | None
    command: tuple[str, ...]
    is_wide: bool
    shard: tuple[int, int] | None = None


def measure_all(session: Session) -> ExitCode:
    """Run and print every experiment; a failure in one does not lose the others."""
    from poolbench.experiment import fresh_directory
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.run import print_legend
    from poolbench.results.store import refuse_used

    base = session.output or fresh_directory(DEFAULT_OUTPUT, datetime.now)
    for experiment in session.experiments:
        refuse_used(base / experiment.scenario.name)
    refuse_unwritable("--csv", session.csv)
    refuse_unwritable("--report", session.report)
    if session.report is not None:
        from poolbench.report.write import require

        require()
    backend, reason = open_backend(
        session.choice,
        time_limit_s=session.run_limit_s,
        profile=session.profile,
        has_ranges=session.once,
    )
    line(for_words(), f"backend {backend.kind.value}: {reason}")
    if session.once and backend.kind.is_measured and find_spec("nvtx") is None:
        line(for_words(), "no NVTX ranges: the package nvtx is missing ('poolbench[nvtx]')")
    records: list[RunRecord] = []
    try:
        code = _each(session, backend, reason, base, records)
    finally:
        backend.close()
    print_legend(for_data(), records)
    _write_report(session, [(base / one.scenario, one) for one in records])
    return code


def _each(
    session: Session,
    backend: Backend,
    reason: str,
    base: Path,
    records: list[RunRecord],
) -> ExitCode:
    from poolbench.analysis.answer import answer
    from poolbench.cli.report import report
    from poolbench.experiment import Circumstances, conduct, exit_code_of, worst
    from poolbench.render.console import for_data, for_words, line
    from poolbench.render.progress import progress_bar
    from poolbench.render.run import print_run

    console = for_data()
    effort = effort_of(session, is_measured=backend.kind.is_measured)
    codes: list[ExitCode] = []
    for experiment in session.experiments:
        name, n_cases = experiment.scenario.name, len(experiment.plans)
        try:
            with progress_bar(
                for_words(), name, n_cases=n_cases, n_runs=n_cases * effort.n_blocks
            ) as on_progress:
                record, fault = conduct(
                    experiment,
                    backend,
                    directory=base / name,
                    effort=effort,
                    circumstances=Circumstances(
                        backend_reason=reason, command=session.command, shard=session.shard
                    ),
                    on_progress=on_progress,
                )
        except DeviceFailed as failed:
            report(failed)
            codes.append(failed.exit_code)
            continue
        if records:
            line(console)
        records.append(record)
        print_run(
            console,
            record,
            sentences=answer(record),
            directory=base / name,
            is_wide=session.is_wide,
        )
        codes.append(exit_code_of(record) if fault is None else fault.exit_code)
        _write_csv(session, records)
        if fault is not None:
            report(fault)
        if isinstance(fault, Interrupted):
            break
    return worst(codes)


def print_all(session: Session, records: Sequence[tuple[Path, RunRecord]]) -> list[ExitCode]:
    """Runs that are there already, printed like those that have just ended; what each comes to."""
    from poolbench.analysis.answer import answer
    from poolbench.experiment import exit_code_of
    from poolbench.render.console import for_data, line
    from poolbench.render.run import print_legend, print_run

    console = for_data()
    for index, (directory, record) in enumerate(records):
        if index:
            line(console)
        sentences = answer(record)
        print_run(
            console, record, sentences=sentences, directory=directory, is_wide=session.is_wide
        )
    plain = [record for _, record in records]
    print_legend(console, plain)
    _write_csv(session, plain)
    _write_report(session, records)
    return [exit_code_of(record) for record in plain]


def effort_of(session: Session, *, is_measured: bool) -> Effort:
    from poolbench.experiment import Effort

    repeats, warmup = session.repeats, session.warmup
    if repeats is None:
        repeats = MEASURED_REPEATS if is_measured else PREDICTED_REPEATS
    if warmup is None and not is_measured:
        warmup = 0
    return Effort(
        repeats=repeats,
        warmup=warmup,
        once=session.once,
        precision=session.precision if is_measured else None,
        time_limit_s=session.time_limit_s,
    )


def refuse_unwritable(option: str, path: Path | None) -> None:
    """A run may take minutes: say before it that its file has nowhere to go."""
    from poolbench.errors import BadUsage

    if path is None:
        return
    if path.is_dir():
        raise BadUsage(f"{option} {path}: this is a directory")
    if not path.parent.is_dir():
        raise BadUsage(f"{option} {path}: there is no directory {path.parent}")


def _write_report(session: Session, records: Sequence[tuple[Path, RunRecord]]) -> None:
    if session.report is None:
        return
    from poolbench.report.write import write
    from poolbench.results.kept import Kept

    write([Kept(record=one, directory=where) for where, one in records], session.report)


def _write_csv(session: Session, records: list[RunRecord]) -> None:
    if session.csv is None:
        return
    from poolbench.export.csv import to_csv
    from poolbench.results.files import write_text

    write_text(session.csv, to_csv(records))
