"""A run of one scenario as it is kept on disk, and as every renderer reads it.

Pure values.  `poolbench.results.store` writes and reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.domain import BackendKind
from poolbench.findings import CaseResult
from poolbench.results.environment import Environment

FORMAT_VERSION = 1
"""Version of the results directory.

1: first version (run.json, samples.csv, steps.csv, the scenario).
"""


PREDICTED = "Predicted, not measured:"
"""How every text begins that rests on the model's figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """One of the runs that a record was put together from: when and where, and how it went there.

    `shard` is (index, of) where the command line said so.
    """

    shard: tuple[int, int] | None
    started: str
    n_cases: int
    repeats: int
    before: Environment
    after: Environment | None
    throttled: tuple[int, ...] = ()
    set_aside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """`backend_reason` says why this backend was taken.  `before` and `after` are the environment
    at both ends; `after` is `None` while the run goes on or where it was cut short.  `cases` are in
    the order of the table; `n_planned` counts the cases that were to run."""

    scenario: str
    question: str
    known: str
    backend: BackendKind
    backend_reason: str
    command: tuple[str, ...]
    seed: int
    started: str
    version: str
    repeats: int
    warmup: int
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    n_planned: int
    before: Environment
    after: Environment | None
    cases: tuple[CaseResult, ...]
    is_settled: bool | None = None
    """Whether times had settled when warm-up ended; `None` where nobody looked."""
    precision: float | None = None
    """Aimed at by `--repeats auto`."""
    throttled: tuple[int, ...] = ()
    """Timed blocks during which the device was slowed down."""
    sm_mhz: tuple[int | None, ...] = ()
    """The SM clock just after each timed block."""
    set_aside: tuple[int, ...] = ()
    """Those of them that were run again and do not count."""

    recorded_us: float | None = None
    """Makespan of the program that the steps were recorded from, where it is known."""

    shard: tuple[int, int] | None = None
    """(index, of): this run is a part of a sweep."""
    parts: tuple[PartRecord, ...] = ()
    """Where the record was put together: from what.  Then `before` is that of the first part."""

    @property
    def is_predicted(self) -> bool:
        return not self.backend.is_measured
