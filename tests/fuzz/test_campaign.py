"""Comparing, shrinking and recording: what a campaign says of two backends that differ."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from poolbench.backends.model.backend import ModelBackend
from poolbench.backends.model.profile_file import load
from poolbench.cli.app import app
from poolbench.domain import Pass, Status
from poolbench.errors import BadUsage, ExitCode
from poolbench.fuzz import record
from poolbench.fuzz.campaign import cases, figures, hold_against, run
from poolbench.fuzz.compare import NONE, What, answer_of, compare
from poolbench.fuzz.drawn import Drawn
from poolbench.fuzz.generate import draw
from poolbench.fuzz.shrink import first_disagreement, report, shrink

MIB = 1 << 20
OTHER_CHUNKS = ModelBackend(replace(load().profile, chunk_size=16 * MIB))
"""A driver whose pools grow by half as much."""


def test_the_model_agrees_with_itself() -> None:
    """Everything that is issued is compared, and agrees."""
    totals = figures(list(run(cases(5, 40), ModelBackend(), ModelBackend())))
    assert totals.n_scenarios == totals.n_same == 40
    assert totals.n_issued == totals.n_allocs == totals.n_agreeing > 500
    assert totals.agreement == 1
    assert totals.kinds == ()


def test_another_driver_is_told_apart() -> None:
    """Half the chunk: the first allocation that grows differs, and nothing after it counts."""
    totals = figures(list(run(cases(5, 40), ModelBackend(), OTHER_CHUNKS)))
    assert totals.n_same < 40
    assert totals.agreement < 1
    assert totals.n_agreeing < totals.n_allocs < totals.n_issued
    assert dict(totals.kinds)["reserved"] > 20


def test_comparison_ends_at_the_first_change_of_state() -> None:
    """Reserved bytes of one step are altered: that allocation is compared, no later one is."""
    plan = draw(5, 0).plan
    answer = answer_of(ModelBackend().run(plan, measured=Pass.TRACED, repetition=1))
    allocs = [row for row, code in enumerate(answer.outcome) if code != NONE]
    row = allocs[3]
    reserved = list(answer.reserved)
    reserved[row] += 1
    found = compare(plan, replace(answer, reserved=tuple(reserved)), answer)
    assert [(one.what, one.row) for one in found.disagreements] == [(What.RESERVED, row)]
    assert (found.n_allocs, found.n_agreeing, found.n_issued) == (4, 3, len(allocs))


def test_an_answer_with_a_watchdog_is_void() -> None:
    """A latch that had to be forced open, or a lost worker, says nothing about the model."""
    drawn = draw(5, 0)
    answer = answer_of(ModelBackend().run(drawn.plan, measured=Pass.TRACED, repetition=1))
    kept = record.Recorded(name=drawn.name, bits=drawn.bits, text=drawn.text, answer=answer)
    assert not hold_against(kept, ModelBackend()).is_void
    for broken in (replace(answer, is_whole=False), replace(answer, status=Status.TIMEOUT)):
        assert hold_against(replace(kept, answer=broken), ModelBackend()).is_void


def test_shrinking_leaves_what_matters() -> None:
    """A pool that grows by other steps is shown by one allocation and its free."""
    small = shrink(draw(5, 2), ModelBackend(), OTHER_CHUNKS, time_limit_s=20)
    assert [next(iter(step)) for step in small.steps] == ["alloc", "free"]
    assert len(small.streams) == 1
    found = first_disagreement(small, ModelBackend(), OTHER_CHUNKS)
    assert found is not None
    assert found.what is What.RESERVED
    assert "<-- differs" in report(small, ModelBackend(), OTHER_CHUNKS)


def test_shrinking_keeps_to_its_time() -> None:
    """With no time left the scenario stays as it was."""
    drawn = draw(5, 2)
    ticks = iter(range(1000))
    clock = lambda: float(next(ticks))  # noqa: E731
    kept: Drawn = shrink(drawn, ModelBackend(), OTHER_CHUNKS, time_limit_s=0, clock=clock)
    assert kept == drawn


def test_recordings_come_back_as_they_were(tmp_path: Path) -> None:
    """Written and read, equal; written twice, the same bytes."""
    found = [one.recorded for one in run(cases(6, 5), ModelBackend(), ModelBackend())]
    for name in ("first.gz", "second.gz"):
        record.write(tmp_path / name, found)
    assert record.read(tmp_path / "first.gz") == tuple(found)
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()


def test_command_prints_a_table_and_writes_the_figures(tmp_path: Path) -> None:
    """`fuzz --against model-self`: full agreement, on stdout and in fuzz.json."""
    arguments = ["fuzz", "--cases", "8", "--seed", "2", "--against", "model-self"]
    result = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "100.00%" in result.stdout
    told = json.loads((tmp_path / "out" / "fuzz.json").read_text("utf-8"))
    assert told["scenarios"] == 8
    assert told["seed"] == 2
    assert told["agreement"] == 1
    assert told["allocations"] == told["allocations_issued"] > 50
    assert len(record.read(tmp_path / "out" / "traces.jsonl.gz")) == 8


def test_replay_needs_no_gpu(tmp_path: Path) -> None:
    """What was recorded is compared again, and gives the same table."""
    out = tmp_path / "out"
    arguments = ["fuzz", "--cases", "6", "--seed", "3", "--against", "model-self"]
    first = CliRunner().invoke(app, [*arguments, "--output", str(out)])
    again = CliRunner().invoke(app, ["fuzz", "--replay", str(out / "traces.jsonl.gz")])
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert first.stdout == again.stdout


def test_a_used_directory_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """Results are not overwritten."""
    (tmp_path / "mine.txt").write_text("keep", "utf-8")
    result = CliRunner().invoke(app, ["fuzz", "--against", "model-self", "--output", str(tmp_path)])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert "not overwritten" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no gzip", "cannot be read"),
        (gzip.compress(b'{"format": 1'), "recorded.gz:1: not a recorded answer"),
        (gzip.compress(b"[]"), "no mapping"),
        (gzip.compress(b'{"format": 9}'), "format 9, not 1"),
        (gzip.compress(b'{"format": 1, "outcome": [1.5]}'), "whole numbers"),
        (gzip.compress(b'{"format": 1}' * 99)[:-9], "ends early"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_foreign_recording_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    """No traceback: the file, the line and what is wrong."""
    path = tmp_path / "recorded.gz"
    path.write_bytes(content)
    with pytest.raises(BadUsage, match=re.escape(told)):
        record.read(path)


def test_an_interruption_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the fourth scenario: three are written, and the exit code says so."""
    answers = ModelBackend.run
    n_calls = iter(range(100))

    def run_until_interrupted(self: ModelBackend, *args: object, **kwargs: object) -> object:
        if next(n_calls) == 6:
            raise KeyboardInterrupt
        return answers(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelBackend, "run", run_until_interrupted)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["fuzz", "--against", "model-self", "--seed", "4", "--output", str(out)]
    )
    assert result.exit_code == ExitCode.INTERRUPTED
    assert json.loads((out / "fuzz.json").read_text("utf-8"))["scenarios"] == 3


def test_runs_with_the_legacy_stream_come_last() -> None:
    """They leave the process in another state; those on a full device cost a filling each time."""
    drawn = cases(8, 200)
    is_legacy = ["legacy_default" in one.streams.values() for one in drawn]
    assert is_legacy == sorted(is_legacy)
    assert 0 < sum(is_legacy) < 100
    full = [bool(one.device) for one in drawn]
    assert sum(first != second for first, second in pairwise(full)) <= 3


@pytest.mark.gpu
def test_the_model_agrees_with_the_hardware() -> None:
    """Forty scenarios on the GPU: nearly all allocations as predicted, and every answer counts."""
    from poolbench.backends.cuda.backend import CudaBackend

    backend = CudaBackend(time_limit_s=20)
    try:
        totals = figures(list(run(cases(11, 40), backend, ModelBackend())))
    finally:
        backend.close()
    assert totals.n_void == 0
    assert totals.agreement > 0.98
