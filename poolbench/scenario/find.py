"""Where scenarios are: by path, or by the name of one that is shipped.

In a checkout the shipped ones are in `scenarios/` beside the package, in an installation inside it.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from poolbench.errors import BadUsage

_PACKAGE = Path(__file__).resolve().parents[1]
PROBE, CALIBRATE, SELF_TEST = FOLDERS = ("probe", "calibrate", "self-test")
"""Folders of scenarios that are not for show; as names they are `probe/NAME`."""


def folder() -> Path:
    """The folder of the shipped scenarios."""
    inside = _PACKAGE / "scenarios"
    return inside if inside.is_dir() else _PACKAGE.parent / "scenarios"


def shipped() -> tuple[Path, ...]:
    """All shipped scenarios, by name."""
    return tuple(sorted(folder().glob("*.yaml")))


def probes() -> tuple[Path, ...]:
    """The scenarios of `poolbench probe`, by name."""
    return within(PROBE)


def calibrations() -> tuple[Path, ...]:
    """The scenarios of `poolbench calibrate`, by name."""
    return within(CALIBRATE)


def within(name: str) -> tuple[Path, ...]:
    """The scenarios of one of `FOLDERS`, by name."""
    return tuple(sorted((folder() / name).glob("*.yaml")))


def _by_name() -> dict[str, Path]:
    known = {found.stem: found for found in shipped()}
    return known | {f"{name}/{found.stem}": found for name in FOLDERS for found in within(name)}


def find(name_or_path: str) -> Path:
    """A file by its path, or a shipped scenario by its bare name.

    Raises `BadUsage`, naming the nearest shipped one.
    """
    path = Path(name_or_path)
    if "\0" in name_or_path:
        raise BadUsage("a file name cannot hold a NUL")
    if path.is_file():
        return path
    if path.is_dir():
        raise BadUsage(f"{name_or_path} is a directory", hint="name its files: DIR/*.yaml")
    known = _by_name()
    is_ours = name_or_path.startswith(tuple(f"{name}/" for name in FOLDERS))
    is_name = is_ours or os.sep not in name_or_path
    is_bare = is_name and path.suffix not in (".yaml", ".yml")
    if is_bare and name_or_path in known:
        return known[name_or_path]
    near = difflib.get_close_matches(_bare(path), list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "`poolbench list` names the shipped scenarios"
    what = "no shipped scenario has the name" if is_bare else "there is no file"
    raise BadUsage(f"{what} {name_or_path}", hint=hint)


def _bare(path: Path) -> str:
    parent = path.parent.name
    return f"{parent}/{path.stem}" if parent in FOLDERS else path.stem
