"""The nearest known name, for `did you mean`.

Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, whatever the case, if any does."""
    lowered = {candidate.lower(): str(candidate) for candidate in known}
    found = difflib.get_close_matches(name[:60].lower(), lowered, n=1, cutoff=0.65)
    return lowered[found[0]] if found else None
