"""The steps of a recorded program, read for a scenario: whole, and fitting its head.

Pure but for reading the file beside the scenario.
"""

from __future__ import annotations

from pathlib import Path as FilePath

from poolbench.scenario.fields import Faults
from poolbench.scenario.schema import HeadModel
from poolbench.scenario.workload import BadWorkload, Workload, read

_STEPS = ("recorded", "steps")


def read_workload(head: HeadModel, folder: FilePath | None, faults: Faults) -> Workload | None:
    """`None` without `recorded`, or where it has a fault."""
    if head.recorded is None:
        return None
    if folder is None:
        faults.add(_STEPS, "there is no folder to read this file from", "recorded-file")
        return None
    try:
        base = folder.resolve()
        target = (base / head.recorded.steps).resolve()
        if not target.is_relative_to(base):
            faults.add(_STEPS, "the file lies outside the scenario's folder", "recorded-file")
            return None
        if not target.is_file():
            faults.add(_STEPS, f"there is no file {head.recorded.steps}", "recorded-file")
            return None
        workload = read(target)
    except BadWorkload as fault:
        faults.add(_STEPS, f"{head.recorded.steps}: {fault}", "recorded-file")
        return None
    except (OSError, ValueError, MemoryError) as fault:
        faults.add(_STEPS, f"the file cannot be read: {fault}", "recorded-file")
        return None
    for key, names in (("streams", workload.streams), ("buffers", workload.buffers)):
        missing = [name for name in names if name not in getattr(head, key)]
        if missing:
            message = f"{head.recorded.steps} uses {missing[0]}, which `{key}` does not name"
            faults.add(_STEPS, message, "recorded-file")
            return None
    return workload
