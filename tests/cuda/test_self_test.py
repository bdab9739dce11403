"""Effects of known size on a real device: waits, and slowdowns of 3 %."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.experiment import Circumstances, Effort, conduct
from poolbench.plan.cases import select_rows
from poolbench.prepare import load_all, prepare
from poolbench.results.record import RunRecord
from tests import planted

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def backend() -> Iterator[CudaBackend]:
    made = CudaBackend(time_limit_s=20)
    yield made
    made.close()


def measured(backend: CudaBackend, folder: Path, name: str, rows: str, repeats: int) -> RunRecord:
    loaded = load_all([name])
    (experiment,) = prepare(loaded.scenarios, rows=select_rows([rows]), sets={}, axes={}, seed=None)
    record, fault = conduct(
        experiment,
        backend,
        directory=folder / "run",
        effort=Effort(repeats=repeats, warmup=None, once=False, time_limit_s=math.inf),
        circumstances=Circumstances(backend_reason="test", command=()),
        on_progress=None,
    )
    assert fault is None
    return record


def test_waits_of_known_length(backend: CudaBackend, tmp_path: Path) -> None:
    """Within 5 % or 5 us of what was planted, in every row with internal dependencies."""
    record = measured(backend, tmp_path, "self-test/known-waits", "all", 3)
    assert sum(len(result.waits) for result in record.cases) == 16
    for result in record.cases:
        assert all(claim.is_met for claim in result.expectations), result.expectations


def test_a_planted_slowdown(backend: CudaBackend, tmp_path: Path) -> None:
    """Found in 95 of 100 comparisons of ten blocks; none is found that is not there."""
    planted.check(measured(backend, tmp_path, "self-test/planted", "111", 1000))
