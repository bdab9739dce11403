"""All commands together.  Everything that takes time to import is imported inside them."""

from __future__ import annotations

from typing import Annotated

import typer

from poolbench import __version__
from poolbench.cli.calibrate import calibrate
from poolbench.cli.files import check, schema
from poolbench.cli.fuzz import fuzz
from poolbench.cli.group import Commands
from poolbench.cli.importing import import_file
from poolbench.cli.look import advise, compare, export, open_report
from poolbench.cli.merge import merge
from poolbench.cli.probe import probe
from poolbench.cli.recording import record
from poolbench.cli.run import run
from poolbench.cli.show import show
from poolbench.cli.words import doctor, explain, list_all

EPILOG = """\b
Exit codes: 0 done, whatever was found; 1 an expectation failed; 2 bad input;
3 no such backend or device; 4 the device failed; 130 interrupted.

\b
Results are printed on stdout, words on stderr."""

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"poolbench {__version__}")
        raise typer.Exit()


@app.callback()
def poolbench(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """What do the reuse attributes of a CUDA memory pool cost and save, for this workload, on this
    driver and GPU?

    Start with `poolbench list`, then `poolbench run hand-over`.
    """


for command in (run, check, schema, show, advise, export, compare, merge):
    app.command()(command)
app.command("import")(import_file)
app.command(context_settings={"allow_interspersed_args": False})(record)
app.command("open")(open_report)
app.command("list")(list_all)
app.command()(doctor)
app.command()(explain)
app.command()(probe)
app.command()(fuzz)
app.command()(calibrate)
