"""The probe on the model, and what it says of drivers that work otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from poolbench.analysis.expectations import evaluate
from poolbench.analysis.findings import find as find_results
from poolbench.backends.model.backend import ModelBackend
from poolbench.backends.model.profile_file import load as load_profile
from poolbench.cli.app import app
from poolbench.domain import COMBINATIONS, Case, Pass, Status
from poolbench.errors import BadUsage, ExitCode
from poolbench.explain import explain
from poolbench.plan.build import build_plan
from poolbench.plan.cases import DEFAULT_ROWS, cases
from poolbench.probe import record
from poolbench.probe.answers import call_answer, cell, layout_answer
from poolbench.probe.changes import changes
from poolbench.probe.conduct import conduct
from poolbench.probe.documented import Reuse, Verdict, Waiting, verdict
from poolbench.probe.questions import CALLS, LAYOUT, REUSE, Reading, runs
from poolbench.probe.reading import depends_on, reading, reuse_verdict, verdicts
from poolbench.probe.record import Probe
from poolbench.probe.tables import calls_table, evidence_table, reuse_table
from poolbench.scenario.find import find, probes
from poolbench.scenario.load import load
from poolbench.trace import Trace

MIB = 1 << 20
OTHER = ModelBackend(replace(load_profile().profile, chunk_size=16 * MIB, n_launches_queued=512))
"""A driver whose pools grow by half as much, and whose queues are half as long."""


@pytest.fixture(scope="module")
def model() -> Probe:
    return conduct(ModelBackend())


# --- scenarios ------------------------------------------------------------------------------


def test_every_scenario_is_asked_for() -> None:
    """No file without a question, no question without a file; `probe/NAME` finds it."""
    asked = {question.scenario for question in (*REUSE, *CALLS, *LAYOUT)}
    assert {path.stem for path in probes()} == asked
    for path in probes():
        assert find(f"probe/{path.stem}") == path
        first = path.read_text("utf-8").splitlines()[0]
        assert first == "# yaml-language-server: $schema=../schema.json"
        scenario = load(path)
        assert scenario.name == path.stem
        assert scenario.head.question.strip().endswith("?")
    with pytest.raises(BadUsage) as fault:
        find("probe/same-steam")
    assert fault.value.hint == "did you mean probe/same-stream?"


@pytest.mark.parametrize("path", probes(), ids=lambda path: path.stem)
def test_scenarios_meet_their_expectations(path: Path) -> None:
    """As ordinary scenarios, in all rows, on the model."""
    scenario, backend = load(path), ModelBackend()
    floors = backend.environment().floors
    found = []
    for case in cases(scenario, DEFAULT_ROWS):
        plan = build_plan(scenario, case)
        trace = backend.run(plan, measured=Pass.TRACED, repetition=1)
        timed = backend.run(plan, measured=Pass.TIMED, repetition=1)
        found.append((plan, trace, find_results(plan, [timed, trace], floors=floors)))
    judged = [one for result in evaluate(scenario, found) for one in result.expectations]
    assert judged
    assert [one for one in judged if not one.is_met] == []


def test_everything_is_run_once_and_what_disturbs_comes_last() -> None:
    """A full device is filled once; the legacy stream changes the process."""
    names = [name for name, _ in runs()]
    assert len(set(runs())) == len(runs())
    assert names[-8:] == ["legacy-stream"] * 8
    assert names[-16:-8] == ["pending-on-full-device"] * 8


# --- answers --------------------------------------------------------------------------------


def row_of(probe: Probe, scenario: str) -> str:
    letters = {
        Reuse.REUSES: "r", Reuse.WAITS: "w", Reuse.GROWS: "g", Reuse.FAILS: "f", Reuse.REMAPS: "m"
    }  # fmt: skip
    return "".join(letters[probe.cell(scenario, row.name).answer] for row in COMBINATIONS)


def test_the_model_answers_as_it_was_built(model: Probe) -> None:
    """000 to 111 for each question of the first table."""
    assert {question.scenario: row_of(model, question.scenario) for question in REUSE} == {
        "same-stream": "rrrrrrrr",
        "event-ordered": "ggggrrrr",
        "completed": "ggrrggrr",
        "synchronised-stream": "rrrrrrrr",
        "synchronised-event": "rrrrrrrr",
        "synchronised-context": "rrrrrrrr",
        "queried": "ggrrggrr",
        "pending-with-room": "gggggggg",
        "pending-at-maximum": "fwfwfwfw",
        "pending-on-full-device": "fwfwfwfw",
        "neighbours-completed": "ggrrggrr",
        "neighbours-mixed": "ggrrggrr",
        "neighbours-own-and-ordered": "gggggggg",
        "two-pending": "ffffffff",
        "destroyed-stream": "fwfwfwfw",
        "legacy-stream": "ggggrrrr",
    }


def test_cells_have_their_evidence(model: Probe) -> None:
    """A reuse has the freed address and no growth; a wait did not run, a growth did."""
    for one in model.cells:
        if one.answer in (Reuse.REUSES, Reuse.WAITS):
            assert one.distance is not None
            assert one.distance >= 0
            assert one.reserved_before == one.reserved_after
        if one.answer is Reuse.WAITS:
            assert one.ran_while_held is False
        if one.answer is Reuse.FAILS:
            assert one.distance is None
        if one.answer is Reuse.GROWS:
            assert one.reserved_before is not None
            assert one.reserved_after is not None
            assert one.reserved_after > one.reserved_before
    assert all(model.cell("pending-with-room", row.name).ran_while_held for row in COMBINATIONS)


def test_calls_that_wait_do_so_until_the_watchdog(model: Probe) -> None:
    """20 ms, the scenario's limit; the others return long before."""
    waiting = {one.question for one in model.calls if one.answer is Waiting.WAITS}
    assert waiting == {
        "plain-free",
        "sync-stream",
        "sync-event",
        "sync-context",
        "host-free",
        "module-load",
    }
    for one in model.calls:
        assert one.host_ns is not None
        assert (one.host_ns > 19_000_000) is (one.question in waiting)


def test_layout_is_read_off_addresses(model: Probe) -> None:
    """The model's own constants come back."""
    assert model.laid("chunk").text == "32MiB"
    assert model.laid("granule").text == "512B"
    assert model.laid("fit").text == "the smallest that is large enough"
    assert model.laid("queue").text == "1020"
    assert 0.7 < float(model.laid("growth_cost").text.removesuffix(" us")) < 1.5


def test_a_run_without_an_answer_is_no_answer() -> None:
    """A lost worker: the cell says why, and counts as not measured."""
    scenario = load(find("probe/completed"))
    plan = build_plan(scenario, Case(scenario=scenario.name, row=COMBINATIONS[0]))
    trace = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
    lost: Trace = replace(trace, status=Status.TIMEOUT, reason="no answer", steps=None)
    found = cell(REUSE[2], plan, lost)
    assert (found.answer, found.note) == (Reuse.UNKNOWN, "no answer")
    assert call_answer(CALLS[0], plan, lost).answer is Waiting.UNKNOWN
    assert layout_answer(LAYOUT[0], plan, lost).text == ""
    assert call_answer(CALLS[0], plan, trace).note == "it was not issued"
    assert verdict(None, Reuse.REUSES) is Verdict.UNKNOWN


# --- beside the documentation ---------------------------------------------------------------


def altered(probe: Probe, scenario: str, row: str, answer: Reuse) -> Probe:
    cells = tuple(
        replace(one, answer=answer) if (one.question, one.row) == (scenario, row) else one
        for one in probe.cells
    )
    return replace(probe, cells=cells)


def test_verdicts(model: Probe) -> None:
    """One cell that breaks a promise makes its row different; open questions stay open."""
    assert reuse_verdict(model, "completed") is Verdict.AS_PROMISED
    broken = altered(model, "completed", "000", Reuse.REUSES)
    assert reuse_verdict(broken, "completed") is Verdict.DIFFERENT
    unknown = altered(model, "completed", "000", Reuse.UNKNOWN)
    assert reuse_verdict(unknown, "completed") is Verdict.UNKNOWN
    open_ = altered(model, "two-pending", "000", Reuse.WAITS)
    assert reuse_verdict(open_, "two-pending") is Verdict.UNSPECIFIED
    queried = altered(model, "queried", "000", Reuse.REUSES)
    assert reuse_verdict(queried, "queried") is Verdict.AS_PROMISED
    found = dict(verdicts(model))
    assert found["cuMemFree"] is Verdict.AS_PROMISED
    assert found["cuMemAlloc of 64MiB"] is Verdict.DIFFERENT


def test_reading_says_what_the_tables_say(model: Probe) -> None:
    """And stops saying it once the tables say otherwise."""
    told = " ".join(reading(model))
    assert "allow_opportunistic alone decides: completed, unordered;" in told
    assert "An inserted wait is the last resort" in told
    assert "Growing the pool waits for no running work" in told
    assert depends_on(model, "completed") == "allow_opportunistic"
    assert depends_on(model, "same-stream") == ""
    other = altered(model, "pending-with-room", "001", Reuse.WAITS)
    assert "last resort" not in " ".join(reading(other))
    assert depends_on(other, "pending-with-room") is None


@pytest.mark.parametrize("question", [*REUSE, *CALLS, *LAYOUT], ids=lambda one: one.title)
def test_questions_are_explained(question: object) -> None:
    """`poolbench explain probe/...` names the chapter."""
    name = getattr(question, "key", None) or getattr(question, "scenario", "")
    (found,) = explain(f"probe/{name}")
    assert "Documented (" in found.text


# --- tables ---------------------------------------------------------------------------------


def test_tables_fit_80_columns(model: Probe) -> None:
    """Of every line that the command prints."""
    result = CliRunner().invoke(app, ["probe", "--backend", "model"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stdout.count("(predicted)") == 3
    assert "Predicted, not measured: " in result.stdout
    assert len(reuse_table(model).blocks[0].rows) == len(REUSE)


def test_equal_answers_at_the_maximum_are_one_line(model: Probe) -> None:
    """And two as soon as a combination answers otherwise."""
    told = [row.cells[0] for row in calls_table(model).blocks[0].rows]
    assert "cuMemAllocAsync, at the maximum, all eight" in told
    calls = tuple(
        replace(one, answer=Waiting.WAITS) if one.question == "at-maximum-111" else one
        for one in model.calls
    )
    told = [row.cells[0] for row in calls_table(replace(model, calls=calls)).blocks[0].rows]
    assert "cuMemAllocAsync, at the maximum, 111" in told


def test_evidence_has_every_cell(model: Probe) -> None:
    table = evidence_table(altered(model, "completed", "000", Reuse.UNKNOWN))
    assert sum(len(block.rows) for block in table.blocks) == 8 * len(REUSE)


# --- kept and compared ----------------------------------------------------------------------


def test_a_probe_comes_back_as_it_was(model: Probe, tmp_path: Path) -> None:
    record.write(tmp_path / "kept", model)
    assert record.read(tmp_path / "kept") == model
    assert changes(model, record.read(tmp_path / "kept" / "probe.json")).found == ()


def test_another_driver_is_told_apart(model: Probe) -> None:
    """Chunk and queue differ, the order of attempts does not; times are no rules."""
    found = changes(model, conduct(OTHER))
    assert {change.title for change in found.found} == {
        "grows by multiples of",
        "launches a held stream takes",
    }
    assert found.n_uncompared == 0
    costs = sum(not question.is_rule for question in LAYOUT)
    assert found.n_compared == 8 * len(REUSE) + len(CALLS) + len(LAYOUT) - costs


def test_answers_that_one_does_not_have_are_not_compared(model: Probe) -> None:
    """Neither as equal nor as different."""
    lacking = altered(model, "completed", "000", Reuse.UNKNOWN)
    found = changes(model, lacking)
    assert found.found == ()
    assert found.n_uncompared == 1


def test_changes_of_several_rows_are_one_line(model: Probe) -> None:
    now = altered(
        altered(model, "completed", "000", Reuse.REUSES), "completed", "001", Reuse.REUSES
    )
    (change,) = changes(model, now).found
    assert (change.rows, change.before, change.now) == (("000", "001"), "grows", "reuse")


def edited(probe: dict[str, object], **changed: object) -> str:
    return json.dumps({**probe, **changed})


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda _: "{", "damaged"),
        (lambda _: "[]", "it has no format_version"),
        (lambda plain: edited(plain, format_version=99), "format 99"),
        (lambda plain: edited(plain, cells=[{"question": "x"}]), "damaged: cells.0"),
    ],
)
def test_what_is_no_probe_is_refused(
    model: Probe, tmp_path: Path, edit: Callable[[dict[str, object]], str], told: str
) -> None:
    """In one line, before anything runs, with exit code 2."""
    record.write(tmp_path, model)
    file = tmp_path / "probe.json"
    file.write_text(edit(json.loads(file.read_text("utf-8"))), "utf-8")
    result = CliRunner().invoke(app, ["probe", "--backend", "model", "--against", str(tmp_path)])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert told in result.stderr
    assert result.stdout == ""


def test_command_compares_and_keeps(model: Probe, tmp_path: Path) -> None:
    """0 where no rule differs, 1 where one does; a used directory is not overwritten."""
    kept = tmp_path / "kept"
    run = CliRunner().invoke
    assert run(app, ["probe", "--backend", "model", "--save", str(kept)]).exit_code == 0
    same = run(app, ["probe", "--backend", "model", "--against", str(kept)])
    assert same.exit_code == 0
    assert "answers are the same" in same.stdout
    record.write(kept, altered(model, "completed", "000", Reuse.REUSES))
    other = run(app, ["probe", "--backend", "model", "--against", str(kept)])
    assert other.exit_code == ExitCode.EXPECTATION_FAILED
    assert "completed, unordered (000): reuse there, grows here" in " ".join(other.stdout.split())
    used = run(app, ["probe", "--backend", "model", "--save", str(kept)])
    assert used.exit_code == ExitCode.BAD_INPUT
    missing = run(app, ["probe", "--backend", "model", "--against", str(tmp_path / "none")])
    assert missing.exit_code == ExitCode.BAD_INPUT


def test_readings_are_all_asked() -> None:
    assert {question.reading for question in LAYOUT} == set(Reading)


@pytest.mark.gpu
def test_the_device_answers_within_ten_seconds() -> None:
    """Every answer is there, no documented rule of reuse is broken, and the model agrees."""
    from poolbench.backends.cuda.backend import CudaBackend

    backend = CudaBackend(time_limit_s=20)
    try:
        found = conduct(backend)
    finally:
        backend.close()
    assert found.seconds <= 10
    assert changes(found, found).n_uncompared == 0
    assert all(
        reuse_verdict(found, question.scenario) is not Verdict.DIFFERENT for question in REUSE
    )
