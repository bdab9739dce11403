"""JSON documents that say which version of their format they are.

Pure.  The version stands first; older versions are read, newer ones refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from poolbench.errors import BadUsage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_VERSION_KEY = "format_version"
T = TypeVar("T")


def to_plain(value: T, adapter: TypeAdapter[T], version: int) -> dict[str, Any]:
    return {_VERSION_KEY: version, **adapter.dump_python(value, mode="json")}


def to_text(value: T, adapter: TypeAdapter[T], version: int) -> str:
    plain = to_plain(value, adapter, version)
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)


def of_text(text: str, adapter: TypeAdapter[T], version: int, *, name: str, remedy: str = "") -> T:
    """What a document holds; `name` stands for it in messages.

    Raises `BadUsage` for a newer format and for anything that is not a whole document.
    """
    from pydantic import ValidationError

    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise BadUsage(f"{name} is damaged: {fault}", hint=remedy) from fault
    found = plain.get(_VERSION_KEY) if isinstance(plain, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise BadUsage(f"{name} is damaged: it has no {_VERSION_KEY}", hint=remedy)
    if found > version:
        raise BadUsage(
            f"{name} has format {found}; this poolbench reads up to format {version}",
            hint="it was written by a newer poolbench: upgrade to read it",
        )
    del plain[_VERSION_KEY]
    try:
        return adapter.validate_python(plain)
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadUsage(f"{name} is damaged: {where}: {first['msg']}", hint=remedy) from fault
