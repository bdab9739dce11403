"""`poolbench record`: a running program to a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poolbench.errors import BadUsage, ExitCode, NoBackend

if TYPE_CHECKING:
    from poolbench.recording.make import Made
    from poolbench.recording.memory import Plain


def record(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- python PROGRAM ...", help="The program and its arguments."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="NAME", help="Of the scenario, or its path. Default: PROGRAM."
        ),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(
            "--from", min=1, metavar="N", help="The first iteration that is wanted, from 1."
        ),
    ] = None,
    n_steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, metavar="K", help="How many iterations. Default: all."),
    ] = None,
    range_: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="NAME",
            help="An iteration is an NVTX range of this name, or poolbench.record(NAME).",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.001, metavar="S", help="At most so long."),
    ] = None,
    plain: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="cuMemAlloc: pool, as if from a pool; drop; auto: drop if there are others.",
        ),
    ] = "auto",
    host: Annotated[
        bool,
        typer.Option("--host/--no-host", help="Keep the program's own time between its calls."),
    ] = True,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep what was taken down, in a new directory."),
    ] = None,
) -> None:
    """Make a scenario of a running CUDA program.

    The program marks iterations with `with poolbench.record():`; without marks all of it is
    recorded. Everything that poolbench says is on stderr: stdout is the program's. Ends with what
    was kept, what was guessed and what was lost.
    """
    import shutil
    import tempfile

    from poolbench.backends.cuda import detect
    from poolbench.cli.importing import target_of
    from poolbench.recording import launch
    from poolbench.recording.make import Program, history_of, make
    from poolbench.recording.read import read
    from poolbench.recording.window import window_of

    folder, name = target_of(Path(_name_of(command)), output)
    treatment = _plain(plain)
    _refuse_overwriting(folder, name, keep)
    missing = detect.why_missing()
    if missing is not None:
        raise NoBackend(f"no GPU to record on: {missing}")
    wanted = launch.Wanted(first=first, steps=n_steps, seconds=seconds, range=range_)
    with tempfile.TemporaryDirectory(prefix="poolbench-record-") as temporary:
        raw = Path(temporary)
        code = launch.run(command, raw, wanted)
        if keep is not None:
            shutil.copytree(raw, keep)
        device, driver = detect.machine()
        program = Program(command=tuple(command), device=device, driver=driver)
        recording = read(raw)
        if wanted.waits_for_marks and not window_of(recording).n_marks:
            raise BadUsage(_no_marks(recording.about.get("n_marks", 0), code), hint=_HOW_TO_MARK)
        history = history_of(raw)
        made = make(recording, history, (folder, name), program, keeps_host=host, plain=treatment)
    _say(made)
    _end(code)


_HOW_TO_MARK = "with poolbench.record(): around an iteration, or an NVTX range and --range NAME"


def _no_marks(n_marks: int, code: int) -> str:
    told = f"no such iteration, of {n_marks:,} in all" if n_marks else "no iteration"
    return f"nothing was recorded: the program marked {told} (it ended with {code})"


def _end(code: int) -> None:
    from poolbench.recording.launch import was_interrupted
    from poolbench.render.console import for_words, line

    if not code:
        return
    line(for_words(), f"the program ended with {code}; what it did until then is recorded")
    interrupted = was_interrupted(code)
    raise typer.Exit(int(ExitCode.INTERRUPTED if interrupted else ExitCode.EXPECTATION_FAILED))


def _say(made: list[Made]) -> None:
    from poolbench.render.console import for_words, line, terms

    console = for_words()
    for one in made:
        n_rows, n_streams = one.built.workload.n_rows, len(one.built.kinds)
        line(console, f"{one.path}: {n_rows:,} steps on {n_streams} streams")
        terms(console, one.fidelity.lines(), style="bold")
    line(console, f"next: poolbench run {made[0].path}")


def _name_of(command: list[str]) -> str:
    """A name for the scenario out of the command: the script, the module, or the program."""
    for index, text in enumerate(command[1:], 1):
        if text.endswith(".py"):
            return Path(text).name
        if text == "-m" and index + 1 < len(command):
            return command[index + 1].replace(".", "-")
    return "recording"


def _plain(text: str) -> Plain:
    from poolbench.recording.memory import Plain

    try:
        return Plain(text)
    except ValueError:
        raise BadUsage(f"--plain {text[:60]}: expected one of {', '.join(Plain)}") from None


def _refuse_overwriting(folder: Path, name: str, keep: Path | None) -> None:
    """Before the program runs, and not after it."""
    from poolbench.scenario.workload import ENDING

    paths = [folder / f"{name}.yaml", folder / f"{name}{ENDING}"]
    for path in [*paths, *([keep] if keep is not None else [])]:
        if path.exists():
            raise BadUsage(f"{path} is there already", hint="name another with -o, or remove it")
