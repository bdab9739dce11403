"""Graphs on the model: the order of their steps, their memory, and what they leave alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from poolbench.backends.model.backend import ModelBackend
from poolbench.backends.model.profile_file import load
from poolbench.domain import COMBINATIONS, Baseline, Case, Outcome, Pass, Status
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.trace import Trace
from tests.model.predicted import Predicted
from tests.plan.building import scenario_of

MIB = 2**20
US = 1000


def planned(steps: str, row: Any = COMBINATIONS[7], head: str = "") -> Plan:
    text = f"streams: {{a: , b: , c: }}\nbuffers: {{w: {{size: 64MiB}}}}\n{head}\nsteps:\n{steps}"
    scenario = scenario_of(text)
    return build_plan(scenario, Case(scenario=scenario.name, row=row))


def run(plan: Plan, measured: Pass = Pass.TRACED) -> Trace:
    trace = ModelBackend().run(plan, measured=measured, repetition=0)
    assert trace.status is Status.OK, trace.reason
    return trace


def graph(*steps: str, stream: str = "a", name: str = "g") -> str:
    return f"- graph: {name}\n  stream: {stream}\n  steps:\n" + "".join(
        f"  - {step}\n" for step in steps
    )


def spin(us: int, stream: str = "a") -> str:
    return f"{{kernel: spin, duration: {us}us, stream: {stream}}}"


def span_us(trace: Trace, row: int = 0) -> float:
    assert trace.steps is not None
    return float(trace.steps.device_end_ns[row] - trace.steps.device_begin_ns[row]) / US


def test_steps_of_one_stream_run_one_after_the_other() -> None:
    """And the span of the launch holds them all."""
    found = span_us(run(planned(graph(spin(100), spin(200)))))
    assert 300 < found < 330


def test_branches_run_side_by_side_and_meet() -> None:
    """100 us, then 200 beside 250, then 50."""
    body = (
        spin(100), "{record: e, stream: a}", "{wait: e, stream: b}", spin(250, "b"), spin(200),
        "{record: f, stream: b}", "{wait: f, stream: a}", spin(50),
    )  # fmt: skip
    found = span_us(run(planned(graph(*body))))
    assert 400 < found < 440


def test_a_branch_of_a_graph_is_not_the_stream_it_is_named_after() -> None:
    """What stream b does otherwise is neither waited for nor kept waiting."""
    body = (
        "{record: e, stream: a}", "{wait: e, stream: b}", spin(100, "b"),
        "{record: f, stream: b}", "{wait: f, stream: a}",
    )  # fmt: skip
    trace = run(planned(f"- {spin(900, 'b')}\n" + graph(*body) + f"- {spin(10, 'b')}\n"))
    assert trace.steps is not None
    assert trace.steps.device_end_ns[1] < trace.steps.device_end_ns[0]
    assert span_us(trace, 1) < 150


def test_launches_of_one_graph_come_one_after_the_other() -> None:
    """Also on two streams; two graphs that are alike but for their stream do not wait."""
    plan = planned(graph(spin(300), stream="a") + graph(spin(300), stream="a"))
    assert len(plan.graphs) == 1
    trace = run(plan)
    assert trace.steps is not None
    assert trace.steps.device_end_ns[1] - trace.steps.device_begin_ns[0] > 600 * US
    other = planned(graph(spin(300), stream="a") + graph(spin(300, "b"), stream="b"))
    assert len(other.graphs) == 2
    trace = run(other)
    assert trace.steps is not None
    assert trace.steps.device_end_ns[1] - trace.steps.device_begin_ns[0] < 400 * US


@pytest.mark.parametrize("row", [COMBINATIONS[0], COMBINATIONS[7]])
def test_memory_of_a_graph_is_not_the_pools(row: Any) -> None:
    """The pool never hears of it: neither reserved nor used, and no block of it is handed out."""
    body = ("{alloc: x, size: 96MiB, stream: a}", spin(100), "{free: x, stream: a}")
    plan = planned(
        graph(*body) + "- {alloc: y, size: 64MiB, stream: b}\n- {free: y, stream: b}\n", row
    )
    trace = run(plan)
    assert (trace.reserved_high, trace.used_high) == (64 * MIB, 64 * MIB)
    assert (trace.graph_reserved_high, trace.graph_used_high) == (96 * MIB, 96 * MIB)
    assert Predicted(plan, trace).outcomes == {"y": Outcome.GROWN}


def test_graphs_of_one_stream_share_memory_and_of_two_do_not() -> None:
    """The driver can give the same memory to graphs that never run at once."""

    def body(name: str, size: int, stream: str) -> str:
        return graph(
            f"{{alloc: x, size: {size}MiB, stream: {stream}}}",
            spin(10, stream),
            f"{{free: x, stream: {stream}}}",
            stream=stream,
            name=name,
        )

    one = run(planned(body("g", 64, "a") + body("h", 32, "a")))
    assert (one.graph_reserved_high, one.graph_used_high) == (64 * MIB, 64 * MIB)
    two = run(planned(body("g", 64, "a") + body("h", 32, "b")))
    assert (two.graph_reserved_high, two.graph_used_high) == (96 * MIB, 96 * MIB)


@pytest.mark.parametrize("row", list(Baseline))
def test_baselines_have_the_memory_before_the_first_step(row: Any) -> None:
    """They allocate nothing, and no graph memory is counted."""
    body = ("{alloc: x, size: 96MiB, stream: a}", spin(100), "{free: x, stream: a}")
    trace = run(planned(graph(*body), row))
    assert (trace.graph_reserved_high, trace.graph_used_high) == (0, 0)
    assert span_us(trace) > 100


def test_memory_of_graphs_is_taken_from_the_device() -> None:
    """What they hold is not there for the pool to grow into."""
    steps = (
        graph("{alloc: x, size: 64MiB, stream: a}", spin(10), "{free: x, stream: a}")
        + "- {alloc: y, size: 96MiB, stream: b}\n- {free: y, stream: b}\n"
    )
    room = "device: {leave_free: 96MiB}\npool: {release_threshold: max}"
    trace = ModelBackend().run(planned(steps, head=room), measured=Pass.TRACED, repetition=0)
    assert trace.status is Status.OK
    tight = planned(steps, head="device: {leave_free: 64MiB}")
    trace = ModelBackend().run(tight, measured=Pass.TRACED, repetition=0)
    assert trace.status is Status.OUT_OF_MEMORY


def test_a_free_behind_a_graph_is_pending_until_it_is_over() -> None:
    """A graph is work of its stream like any other."""
    steps = (
        "- {alloc: x, size: 64MiB, stream: a}\n"
        + graph(spin(400))
        + "- {free: x, stream: a}\n- {alloc: y, size: 64MiB, stream: b}\n- {free: y, stream: b}\n"
    )
    plan = planned(steps, head="pool: {max_size: 64MiB}")
    found = Predicted(plan, run(plan))
    assert found.outcome("y") is Outcome.INTERNAL_DEPENDENCY
    assert found.device_us("y") > 350


def test_the_host_pays_for_one_call() -> None:
    """By the number of steps, and far less than for as many launches."""
    many = planned(graph(*[spin(1)] * 200))
    trace = run(many)
    assert trace.steps is not None
    call = int(trace.steps.host_end_ns[0] - trace.steps.host_begin_ns[0])
    host = load().profile.host
    assert host.graph_launch_ns + 200 * host.graph_node_ns <= call < 100 * host.launch_ns


def test_timed_and_traced_runs_agree() -> None:
    """Two timing events are all that tracing adds."""
    plan = planned(graph(spin(100), spin(200)) * 3)
    timed, traced = run(plan, Pass.TIMED), run(plan)
    assert np.all(traced.makespan_ns >= timed.makespan_ns)
    assert np.all(traced.makespan_ns < timed.makespan_ns + 20 * US)


def test_a_check_after_a_graph_sees_what_it_wrote() -> None:
    """A copy in a graph destroys what a fill wrote before."""
    head = "streams: {a: }\nbuffers: {w: {size: 1MiB}, v: {size: 1MiB}}\nsteps:\n"
    text = head + (
        "- {fill: w, stream: a}\n- {fill: v, stream: a}\n"
        + graph("{memcpy: d2d, dst: v, src: w, stream: a}")
        + "- {check: w, stream: a}\n"
    )
    scenario = scenario_of(text)
    plan = build_plan(scenario, Case(scenario=scenario.name, row=COMBINATIONS[7]))
    assert run(plan).n_corrupt == {3: 0}
