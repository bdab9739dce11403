"""A calibration as a table: what was measured, beside the profile that it started from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import ProfileFile
from poolbench.calibrate.samples import Figure
from poolbench.render.console import line, prose
from poolbench.render.grid import lines_of
from poolbench.results.environment import Environment
from poolbench.results.numbers import ABSENT
from poolbench.results.table import Block, Table, TableColumn, TableRow


def print_calibration(
    console: Console,
    found: Mapping[str, Figure],
    made: ProfileFile,
    base: ProfileFile,
    environment: Environment,
) -> None:
    width = console.width if console.is_terminal else None
    for one in lines_of(_table(found, made, base), width):
        line(console, one)
    line(console)
    where = f"{environment.device}, driver {environment.driver}, CUDA {environment.cuda}"
    if environment.backend != "cuda":
        where = f"{environment.device}: read off the model itself, not measured"
    line(console, Text.assemble(("device  ", "bold"), where))
    kept = [key for key, _ in _flat(made.profile) if key not in found]
    what = f"Kept from {base.profile.name}, because it is not measured: {', '.join(kept)}."
    prose(console, what)


def _flat(profile: DeviceProfile) -> Iterator[tuple[str, float]]:
    for key, value in asdict(profile).items():
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", one) for inner, one in value.items())
        elif not isinstance(value, str):
            yield key, value


def _table(found: Mapping[str, Figure], made: ProfileFile, base: ProfileFile) -> Table:
    """Nanoseconds, and bytes or operations per nanosecond, as the names say."""

    def column(key: str, header: str, *, is_number: bool = True) -> TableColumn:
        group = 0 if is_number else -1
        return TableColumn(key=key, header=(header,), unit="", is_number=is_number, group=group)

    before = dict(_flat(base.profile))
    rows = []
    for key, value in _flat(made.profile):
        if key not in found:
            continue
        one, old = found[key], before[key]
        ratio = f"{value / old:.2f}" if old else ABSENT
        cells = (key, _told(value), f"{one.spread:.0%}", str(one.n), _told(old), ratio)
        rows.append(TableRow(status="", cells=cells))
    return Table(
        columns=(
            column("figure", "figure", is_number=False),
            column("value", "measured"),
            column("spread", "± half IQR"),
            column("n", "samples"),
            column("base", base.profile.name),
            column("ratio", "ratio"),
        ),
        blocks=(Block(title="", rows=tuple(rows)),),
    )


def _told(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
