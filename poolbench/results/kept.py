"""A results directory that has been opened: the record, and the steps when somebody wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord
from poolbench.results.samples import STEPS, read_steps
from poolbench.results.store import read, runs_in
from poolbench.timeline.build import cases_of, iterations_of, timeline_of
from poolbench.timeline.values import Timeline

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Kept:
    """`directory` is where the record was read from; `None` for one that is nowhere on disk."""

    record: RunRecord
    directory: Path | None = field(default=None)

    @cached_property
    def steps(self) -> Mapping[str, pd.DataFrame]:
        """Key of a case -> its lines of `steps.csv`; empty where there are none."""
        if self.directory is None or not (self.directory / STEPS).is_file():
            return {}
        return cases_of(read_steps(self.directory))

    def timelines(self, result: CaseResult) -> Iterator[Timeline]:
        """Every iteration of a case that was traced."""
        frame = self.steps.get(result.case.key)
        if frame is not None:
            floor_us = self.record.before.floors.event_pair_ns / 1000
            for iteration in range(iterations_of(frame)):
                yield timeline_of(result, frame, iteration, floor_us=floor_us)


def open_all(directory: Path) -> Sequence[Kept]:
    """All runs that `directory` is or holds; raises `BadUsage`."""
    return [Kept(record=read(path), directory=path) for path in runs_in(directory)]
