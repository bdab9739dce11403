"""A results directory that has been opened: the record, and the steps when somebody wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord
from poolbench.results.samples import SAMPLES, STEPS, read_makespans, read_steps
from poolbench.results.store import read, runs_in
from poolbench.timeline.build import cases_of, iterations_of, timeline_of, usual_iteration
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

    @property
    def makespans_us(self) -> dict[str, list[tuple[float | None, ...]]]:
        """Key of a case -> by iteration, the makespans of its timed runs that ended ok."""
        if self.directory is None or not (self.directory / SAMPLES).is_file():
            return {}
        return read_makespans(self.directory)

    def timeline(self, result: CaseResult, iteration: int | None = None) -> Timeline | None:
        """One iteration of a case, the second unless said otherwise; `None` where it was not
        traced, or has no such iteration."""
        frame = self.steps.get(result.case.key)
        if frame is None:
            return None
        n_iterations = iterations_of(frame)
        chosen = usual_iteration(n_iterations) if iteration is None else iteration
        if chosen >= n_iterations:
            return None
        floor_us = self.record.before.floors.event_pair_ns / 1000
        return timeline_of(result, frame, chosen, floor_us=floor_us)

    def timelines(self, result: CaseResult) -> Iterator[Timeline]:
        """Every iteration of a case that was traced."""
        frame = self.steps.get(result.case.key)
        for iteration in range(0 if frame is None else iterations_of(frame)):
            found = self.timeline(result, iteration)
            if found is not None:
                yield found


def open_all(directory: Path) -> Sequence[Kept]:
    """All runs that `directory` is or holds; raises `BadUsage`."""
    return [Kept(record=read(path), directory=path) for path in runs_in(directory)]
