"""Profiles as files: JSON, each figure with its source.

    {"format_version": 1, "name": "H200", "made_by": "...",
     "figures": {"chunk_size": 33554432, ..., "pool": {...}, "host": {...}, "device": {...}},
     "sources": {"pool.alloc_ns": "...", ...}}

What is shipped is in `profiles/`, found by its name in small letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from poolbench.backends.model.profile import DeviceCosts, DeviceProfile, HostCosts, PoolCosts
from poolbench.errors import BadUsage

FORMAT_VERSION = 1
DEFAULT = "h200"
_FOLDER = Path(__file__).with_name("profiles")
_LATER = (
    "host.callback_ns",
    "host.graph_launch_ns",
    "host.graph_node_ns",
    "device.callback_ns",
    "device.graph_start_ns",
)
"""Figures that files of an older poolbench lack: they are taken from what is shipped."""
_PARTS: Mapping[str, type] = {"pool": PoolCosts, "host": HostCosts, "device": DeviceCosts}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFile:
    """`sources`: figure (`pool.alloc_ns`) -> where it comes from."""

    profile: DeviceProfile
    made_by: str
    sources: Mapping[str, str]


def shipped() -> tuple[str, ...]:
    """The names of the profiles that come with the program."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


@cache
def load(name_or_path: str = DEFAULT) -> ProfileFile:
    """A shipped profile by its name, or a file.  Raises `BadUsage`, with every fault."""
    known = _FOLDER / f"{name_or_path.lower()}.json"
    path = Path(name_or_path)
    if known.is_file() and known.parent == _FOLDER:
        path = known
    elif not path.is_file():
        raise BadUsage(
            f"there is no profile {name_or_path}",
            hint=f"shipped: {', '.join(shipped())}; or a file that `poolbench calibrate` wrote",
        )
    return _read(path)


def _read(path: Path) -> ProfileFile:
    try:
        plain = json.loads(path.read_text("utf-8"))
    except OSError as fault:
        raise BadUsage(f"cannot read {path}: {fault.strerror}") from fault
    except ValueError as fault:
        raise BadUsage(f"{path} is no profile: {fault}") from fault
    version = plain.get("format_version") if isinstance(plain, dict) else None
    if version != FORMAT_VERSION:
        raise BadUsage(f"{path} is no profile of format {FORMAT_VERSION}")
    if path.parent != _FOLDER:
        _complete(plain)
    faults = list(_faults(plain))
    if faults:
        raise BadUsage("\n".join(f"{path}: {fault}" for fault in faults))
    figures = dict(plain["figures"])
    pool, host, device = (figures.pop(name) for name in _PARTS)
    profile = DeviceProfile(
        name=plain["name"],
        pool=PoolCosts(**_values(PoolCosts, pool)),
        host=HostCosts(**_values(HostCosts, host)),
        device=DeviceCosts(**_values(DeviceCosts, device)),
        **_values(DeviceProfile, figures),
    )
    return ProfileFile(
        profile=profile,
        made_by=str(plain.get("made_by", "")),
        sources={str(key): str(text) for key, text in plain.get("sources", {}).items()},
    )


def _complete(plain: dict[str, Any]) -> None:
    """Fills in what the file is too old to have."""
    figures, sources = plain.get("figures"), plain.get("sources")
    shipped_file = load()
    for key in _LATER:
        part, _, name = key.partition(".")
        found = figures.get(part) if isinstance(figures, dict) else None
        if isinstance(found, dict) and name not in found:
            found[name] = getattr(getattr(shipped_file.profile, part), name)
            if isinstance(sources, dict):
                sources[key] = f"kept: {shipped_file.sources[key]}"


def _values(kind: type, found: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers where whole numbers are meant."""
    hints = get_type_hints(kind)
    return {key: int(one) if hints[key] is int else one for key, one in found.items()}


def _faults(plain: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(plain.get("name"), str):
        yield "name: a text is missing"
    figures = plain.get("figures")
    if not isinstance(figures, dict):
        yield "figures: a mapping is missing"
        return
    top = {field.name for field in fields(DeviceProfile)} - {"name"}
    yield from _faults_of("", figures, top - _PARTS.keys(), DeviceProfile, allowed=set(_PARTS))
    for name, kind in _PARTS.items():
        part = figures.get(name)
        if not isinstance(part, dict):
            yield f"figures.{name}: a mapping is missing"
            continue
        wanted = {field.name for field in fields(kind)}
        yield from _faults_of(f"{name}.", part, wanted, kind, allowed=set())


def _faults_of(
    prefix: str, found: Mapping[str, Any], wanted: set[str], kind: type, *, allowed: set[str]
) -> Iterator[str]:
    hints = get_type_hints(kind)
    for key in sorted(wanted - found.keys()):
        yield f"figures.{prefix}{key} is missing"
    for key in sorted(found.keys() - wanted - allowed):
        yield f"figures.{prefix}{key} is not known"
    for key in sorted(wanted & found.keys()):
        value = found[key]
        if hints[key] is str:
            is_right = isinstance(value, str)
        else:
            is_right = type(value) in (int, float) and 0 <= value < 2**63
        if not is_right:
            yield f"figures.{prefix}{key}: {value!r} is not a number from 0 on"


def to_text(file: ProfileFile) -> str:
    figures = asdict(file.profile)
    name = figures.pop("name")
    plain = {
        "format_version": FORMAT_VERSION,
        "name": name,
        "made_by": file.made_by,
        "figures": figures,
        "sources": dict(file.sources),
    }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
