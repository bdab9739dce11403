"""Versions of what took part in a run.  Reads the installed distributions, imports none of them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_NAMES = ("cuda-python", "cuda-bindings", "numpy", "pandas", "pydantic", "nvidia-ml-py")


def packages() -> tuple[tuple[str, str], ...]:
    """(distribution, version) of those that are installed."""
    found = []
    for name in _NAMES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def platform_name() -> str:
    """Operating system and processor; neither the host's name nor a build's own suffix."""
    release = platform.release().split("-")[0]
    return f"{platform.system()} {release} {platform.machine()}"


def python_version() -> str:
    return platform.python_version()
