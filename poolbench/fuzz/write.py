"""What a campaign leaves: `fuzz.json`, the answers, and a file for each disagreement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from poolbench.fuzz.campaign import Figures, Found
from poolbench.fuzz.record import write as write_recorded
from poolbench.results.environment import Environment
from poolbench.results.files import write_text

FIGURES = "fuzz.json"
TRACES = "traces.jsonl.gz"


def write(
    directory: Path,
    found: Sequence[Found],
    totals: Figures,
    *,
    seed: int,
    environment: Environment,
    against: str,
    smallest: Mapping[str, str],
) -> None:
    """`smallest`: file name -> scenario text with both answers."""
    directory.mkdir(parents=True, exist_ok=True)
    document = {
        "seed": seed,
        "against": against,
        "scenarios": totals.n_scenarios,
        "scenarios_void": totals.n_void,
        "scenarios_same": totals.n_same,
        "allocations": totals.n_allocs,
        "allocations_issued": totals.n_issued,
        "allocations_agreeing": totals.n_agreeing,
        "agreement": totals.agreement,
        "disagreements": dict(totals.kinds),
        "environment": asdict(environment),
    }
    write_text(directory / FIGURES, json.dumps(document, indent=1) + "\n")
    write_recorded(directory / TRACES, (one.recorded for one in found))
    for name, text in smallest.items():
        write_text(directory / name, text)
