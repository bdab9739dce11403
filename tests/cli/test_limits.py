"""The smallest pool of each row, on the model, where the answer is known by construction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import OnOom, Pass, row_name
from poolbench.limits import STEP, Limit, find_limits, of_text
from poolbench.plan.plan import Plan
from poolbench.trace import Trace
from tests.analysis.hand_made import MIB, plan_of, stream
from tests.cli.conftest import Cli
from tests.cli.fakes import FakeBackend, write_scenario

MODEL = ModelBackend()


def hand_over(row: str, on_oom: OnOom = OnOom.FAIL) -> Plan:
    """b asks for 64 MiB while a's are freed but pending."""
    size = 64 * MIB
    return plan_of(
        [
            ("alloc", "x", "a", size),
            ("kernel", "a", 500),
            ("free", "x", "a"),
            ("alloc", "y", "b", size),
            ("kernel", "b", 300),
            ("free", "y", "b"),
        ],
        row=row,
        streams=(stream("a"), stream("b")),
        on_oom=on_oom,
    )


def limits_of(*plans: Plan, repeats: int = 1) -> dict[str, Limit]:
    found: list[Limit] = []
    find_limits(plans, MODEL, repeats=repeats, on_found=found.append)
    return {row_name(one.case.row): one for one in found}


def test_internal_dependencies_halve_the_pool_and_wait_for_it() -> None:
    """64 MiB with a wait; 128 MiB without one, or without internal dependencies."""
    found = limits_of(hand_over("111"), hand_over("110"), hand_over("preallocated"))
    assert set(found) == {"111", "110"}
    assert found["111"].unlimited == found["110"].unlimited == 128 * MIB
    assert (found["111"].no_failure, found["111"].no_wait) == (64 * MIB, 128 * MIB)
    assert (found["110"].no_failure, found["110"].no_wait) == (128 * MIB, 128 * MIB)


def test_a_retried_failure_is_a_failure() -> None:
    """Getting through behind a synchronisation is not to run without a failure."""
    found = limits_of(hand_over("110", OnOom.SYNC_RETRY))
    assert found["110"].no_failure == 128 * MIB


def test_the_answer_is_the_smallest() -> None:
    """Tried against every limit, one by one."""
    sizes = [3, 40, 70, 20, 33]
    steps: list[tuple[object, ...]] = [
        ("alloc", f"x{k}", "ab"[k % 2], size * MIB) for k, size in enumerate(sizes)
    ]
    steps += [("free", f"x{k}", "ab"[k % 2]) for k in range(5)]
    plan = plan_of(steps, streams=(stream("a"), stream("b")))
    found = limits_of(plan)["111"]
    assert found.no_failure is not None
    for n in range(1, 12):
        trace = MODEL.run(replace(plan, max_size=n * STEP), measured=Pass.TRACED, repetition=1)
        assert (trace.status == "ok") == (n * STEP >= found.no_failure)


class Failing(FakeBackend):
    """Every run times out."""

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        return replace(
            super().run(plan, measured=measured, repetition=repetition),
            status="timeout",  # type: ignore[arg-type]
            reason="after 1 s",
        )


def test_no_answer_says_why() -> None:
    """A run that ends otherwise says nothing about limits."""
    found: list[Limit] = []
    find_limits([hand_over("111")], Failing(), repeats=1, on_found=found.append)
    assert (found[0].no_failure, found[0].no_wait) == (None, None)
    assert "timeout: after 1 s" in found[0].reason


@pytest.mark.parametrize("option", ["--set", "--axis"])
def test_the_limit_is_not_the_users_then(cli: Cli, tmp_path: Path, option: str) -> None:
    """`--find-limit` sets it itself."""
    path = write_scenario(tmp_path)
    ended = cli("run", path, "--find-limit", option, "pool.max_size=64MiB")
    assert ended.code == 2
    assert "--find-limit sets pool.max_size itself" in ended.err


def test_find_limit_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    """A scenario whose own axis is the limit; table, sentence and file."""
    ended = cli("run", "pressure", "--backend", "model", "--find-limit", "--output", "out")
    assert ended.code == 0
    assert "Predicted, not measured: 001 011 101 111 run without a failure in 64MiB" in ended.out
    text = (tmp_path / "out" / "pressure" / "limits.json").read_text()
    kept = of_text(text, name="limits.json")
    assert [one.no_failure for one in kept.found] == [256 * MIB, 64 * MIB] * 4
    again = cli("run", "pressure", "--backend", "model", "--find-limit", "--output", "out")
    assert again.code == 2


def test_an_interrupt_keeps_what_was_found(
    cli: Cli, tmp_path: Path, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the first row."""

    def stop(plan: Plan) -> None:
        if row_name(plan.case.row) == "001":
            raise KeyboardInterrupt

    backend.before_run = stop
    monkeypatch.setattr("poolbench.cli.limits.open_backend", lambda *_, **__: (backend, "a fake"))
    ended = cli("run", write_scenario(tmp_path), "--find-limit", "--output", "out")
    assert ended.code == 130
    text = (tmp_path / "out" / "tiny" / "limits.json").read_text()
    assert len(of_text(text, name="limits.json").found) == 1
