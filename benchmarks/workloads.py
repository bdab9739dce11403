"""Recorded plans of any length, for benchmarks: four streams that take turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poolbench.domain import COMBINATIONS, Case
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.scenario.load import load_text
from poolbench.scenario.workload import COLUMNS, OP, Workload, write

_ROUND = ("alloc", "kernel", "free", "record", "wait")


def write_recording(folder: Path, n_rows: int) -> None:
    """Puts `long.steps.npz` with a multiple of five rows into `folder`."""
    n = n_rows // len(_ROUND)
    columns = {name: np.full((n, len(_ROUND)), -1).astype(kind) for name, kind in COLUMNS.items()}
    number = np.arange(n)
    columns["op"][:] = [OP[name] for name in _ROUND]
    columns["stream"][:] = (number % 4)[:, None]
    columns["stream"][:, 4] = (number + 1) % 4
    columns["buffer"][:, 0] = columns["buffer"][:, 2] = number
    columns["size"][:, 0] = (512 + number * 37 % 4096) * 1024
    columns["duration_ns"][:, 1] = 1000 + number % 5 * 1000
    columns["blocks"][:, 1] = 1
    columns["threads"][:, 1] = 32
    columns["event"][:, 3:] = number[:, None]
    streams = ("s0", "s1", "s2", "s3")
    flat = {name: column.reshape(-1) for name, column in columns.items()}
    write(folder / "long.steps.npz", Workload(columns=flat, streams=streams))


def text_of(n_iterations: int) -> str:
    """The scenario beside the recording."""
    return (
        "question: how long does a recorded plan take?\n"
        f"iterations: {n_iterations}\n"
        "pool: {max_size: 1GiB, release_threshold: max}\n"
        "streams: {s0: {}, s1: {}, s2: {}, s3: {}}\n"
        "recorded: {steps: long.steps.npz}\n"
    )


def plan_of(text: str, folder: Path) -> Plan:
    scenario = load_text(text, file="long.yaml", folder=folder, default_name="long")
    return build_plan(scenario, Case(scenario="long", row=COMBINATIONS[-1]))
