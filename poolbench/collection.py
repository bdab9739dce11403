"""Python's garbage collector, kept away from where it finds nothing.

It looks through all objects again and again while millions of them are made, a fourth of the time;
values without cycles go by their reference counts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Leaves the collector as it was."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
