"""samples.csv and steps.csv: every number of a trace, exactly, whatever ends the run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from poolbench.analysis.detail import Traced
from poolbench.domain import COMBINATIONS, OUTCOMES, BackendKind, Case, Outcome, Pass, Status
from poolbench.findings import Detail
from poolbench.results import samples
from poolbench.trace import Trace, empty_steps
from tests.measure.plans import small_plan

CASE = Case(scenario="s", row=COMBINATIONS[1], axes=(("n", "1,5"), ("note", 'say "[x]"')))


def trace_of(status: Status, makespan_ns: list[int], host_ns: list[int]) -> Trace:
    return Trace(
        case=CASE,
        backend=BackendKind.CUDA,
        measured=Pass.TIMED,
        repetition=3,
        status=status,
        makespan_ns=np.array(makespan_ns, dtype=np.int64),
        host_ns=np.array(host_ns, dtype=np.int64),
        reserved_high=2**40,
        used_high=5,
        n_out_of_memory=1,
    )


def test_a_sample_is_a_line_an_iteration(tmp_path: Path) -> None:
    """Times come back as whole nanoseconds, axis values as text."""
    samples.start(tmp_path, ("n", "note"))
    samples.append_sample(tmp_path, trace_of(Status.OK, [10**15 + 1, 7], [2, 3]))
    found = samples.read_samples(tmp_path)
    assert found["makespan_ns"].tolist() == [10**15 + 1, 7]
    assert found["host_ns"].tolist() == [2, 3]
    assert found["iteration"].tolist() == [0, 1]
    assert found["reserved_high"].tolist() == [2**40, 2**40]
    first = found.iloc[0]
    assert (first["case"], first["row"], first["axis_n"]) == (CASE.key, "001", "1,5")
    assert (first["axis_note"], first["status"], first["pass"]) == ('say "[x]"', "ok", "timed")


def test_a_run_without_times_is_there(tmp_path: Path) -> None:
    """A run that failed before its first makespan has a line; its time is missing, not 0 or -1."""
    samples.start(tmp_path, ("n", "note"))
    samples.append_sample(tmp_path, trace_of(Status.ERROR, [], []))
    samples.append_sample(tmp_path, trace_of(Status.OUT_OF_MEMORY, [-1, -1], [9, -1]))
    found = samples.read_samples(tmp_path)
    assert found["status"].tolist() == ["error", "out_of_memory", "out_of_memory"]
    assert found["makespan_ns"].isna().all()
    assert found["host_ns"].dropna().tolist() == [9]


def test_steps_keep_every_column(tmp_path: Path) -> None:
    """A line a step and iteration, with its place, its stream and the outcome's name."""
    plan = replace(small_plan(CASE))
    steps = empty_steps(6)
    steps.host_begin_ns[:4] = [0, 10, 20, 30]
    steps.address[0] = 2**47 + 512
    steps.outcome[0] = OUTCOMES.index(Outcome.GROWN)
    steps.outcome[3] = OUTCOMES.index(Outcome.SAME_STREAM)
    steps.waited_for[3] = 1
    samples.start(tmp_path, ("n", "note"))
    blocked = np.array([False, False, True, False, False, False])
    examined = Traced(splits=(), detail=Detail(), blocked=blocked, record_of=(-1, -1, 1))
    samples.append_steps(tmp_path, plan, steps, examined)
    found = samples.read_steps(tmp_path)
    assert found["iteration"].tolist() == [0, 0, 0, 1, 1, 1]
    assert found["step"].tolist() == [0, 1, 2, 0, 1, 2]
    assert found["blocked"].fillna(0).tolist() == [0, 0, 1, 0, 0, 0]
    assert found["record"].fillna(-1).tolist() == [-1, -1, 1, -1, -1, 4]
    assert found["size"].fillna(-1).tolist()[:3] == [found["size"][1], found["size"][1], -1]
    assert found["line"].tolist() == [10, 11, 12, 10, 11, 12]
    assert found["kind"].tolist() == ["alloc", "free", "sync"] * 2
    assert found["stream"].fillna("").tolist() == ["a", "a", ""] * 2
    assert found["address"].dropna().tolist() == [2**47 + 512]
    assert found["outcome"].dropna().tolist() == ["grown", "same_stream"]
    assert found["waited_for"].dropna().tolist() == [1]
    assert found["host_begin_ns"].dropna().tolist() == [0, 10, 20, 30]
    assert found["n_failures"].tolist() == [0] * 6


def test_a_line_cut_short_is_not_read(tmp_path: Path) -> None:
    """What a crash left half written does not count; everything before it does."""
    samples.start(tmp_path, ("n", "note"))
    samples.append_sample(tmp_path, trace_of(Status.OK, [5, 6], [1, 1]))
    whole = samples.read_samples(tmp_path)
    path = tmp_path / samples.SAMPLES
    with path.open("a") as out:
        out.write('"s[n=1",1,no')
    pd.testing.assert_frame_equal(samples.read_samples(tmp_path), whole)


def test_a_hundred_thousand_steps_are_quick(tmp_path: Path) -> None:
    """steps.csv of a large case is written and read back without a pause to speak of."""
    n_iterations = 30_000
    plan = replace(small_plan(CASE), n_iterations=n_iterations)
    samples.start(tmp_path, ("n", "note"))
    started = time.process_time()
    nothing = np.zeros(3 * n_iterations, dtype=bool)
    examined = Traced(splits=(), detail=Detail(), blocked=nothing, record_of=(-1, -1, -1))
    samples.append_steps(tmp_path, plan, empty_steps(3 * n_iterations), examined)
    assert len(samples.read_steps(tmp_path)) == 3 * n_iterations
    assert time.process_time() - started < 5
