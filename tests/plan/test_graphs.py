"""Bodies become graphs of the plan, each once; what a capture cannot hold is refused."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.domain import COMBINATIONS, Baseline, Case
from poolbench.errors import BadInput
from poolbench.plan import steps as s
from poolbench.plan.build import build_plan
from poolbench.plan.check import check
from poolbench.plan.plan import Plan
from poolbench.plan.unroll import MAX_GRAPHS
from tests.plan.building import scenario_of

HEAD = "streams: {A: , B: }\nbuffers: {w: {size: 1MiB}, p: {size: 1MiB, memory: pageable}}\n"
SPIN = "{kernel: spin, duration: 5us, stream: A}"
FORKED = """
- graph: g
  stream: A
  steps:
  - {alloc: x, size: 8MiB, stream: A}
  - {kernel: stream, reads: [w], writes: [x], stream: A}
  - {record: e, stream: A}
  - {wait: e, stream: B}
  - {kernel: stream, reads: [x], writes: [w], stream: B}
  - {record: f, stream: B}
  - {wait: f, stream: A}
  - {free: x, stream: A}
"""


def planned(steps: str, row: Any = COMBINATIONS[7]) -> Plan:
    scenario = scenario_of(f"{HEAD}steps:\n{steps}")
    return build_plan(scenario, Case(scenario=scenario.name, row=row))


def codes(steps: str) -> list[tuple[str, int]]:
    """(code, line from the first step)."""
    text = f"{HEAD}steps:\n"
    try:
        found = check(scenario_of(text + steps))
    except BadInput as bad:
        found = bad.problems
    return [(p.code, p.place.line - text.count("\n") - 1) for p in found if not p.is_warning]


def test_a_body_becomes_a_graph_of_the_plan() -> None:
    """One step launches it; its buffers come after all others, its branches begin with the stream
    of the launch, and it uses and changes what its steps do."""
    plan = planned(f"- {{alloc: y, size: 1MiB, stream: A}}\n{FORKED}- {{free: y, stream: A}}\n")
    assert [type(step) for step in plan.steps] == [s.Alloc, s.LaunchGraph, s.Free]
    assert plan.steps[1] == s.LaunchGraph(stream=0, graph=0, writes=(0,), changes=(0,))
    (graph,) = plan.graphs
    assert graph.name == "g"
    assert graph.branches == (0, 1)
    assert graph.n_events == 2
    assert [plan.buffers[index].name for index in graph.buffers] == ["x"]
    assert graph.buffers == (3,)
    assert graph.nodes[0] == s.Alloc(stream=0, buffer=3, size=8 * 2**20)
    assert graph.nodes[1].buffers == (0, 3)  # type: ignore[union-attr]
    assert graph.nodes[1].work == s.Touch(reads=(0,), writes=(3,))  # type: ignore[union-attr]
    assert (graph.slots, graph.slot_of) == ((8 * 2**20,), (0,))
    assert plan.events == ()


def test_branches_are_counted_from_the_stream_that_captures() -> None:
    """Whichever stream of the scenario it is."""
    swapped = FORKED.replace("stream: A", "stream: ?").replace("stream: B", "stream: A")
    (graph,) = planned(swapped.replace("stream: ?", "stream: B")).graphs
    assert graph.branches == (1, 0)
    assert [node.stream for node in graph.nodes] == [0, 0, 0, 1, 1, 1, 0, 0]


def test_equal_bodies_are_one_graph() -> None:
    """Captured once and launched as often as the loop says; a name or a size that goes with the
    index makes another."""
    once = planned(f"- repeat: 5\n  steps:\n  - {{graph: g, stream: A, steps: [{SPIN}]}}\n")
    assert len(once.graphs) == 1
    assert [step.graph for step in once.steps] == [0] * 5  # type: ignore[union-attr]
    sized = (
        "- repeat: 4\n  steps:\n  - graph: g\n    stream: A\n    steps:\n"
        "    - {alloc: x, size: {cycle: [1MiB, 2MiB]}, stream: A}\n    - {free: x, stream: A}\n"
    )
    plan = planned(sized)
    assert [step.graph for step in plan.steps] == [0, 1, 0, 1]  # type: ignore[union-attr]
    assert [graph.slots for graph in plan.graphs] == [(2**20,), (2 * 2**20,)]
    assert [graph.buffers for graph in plan.graphs] == [(2,), (3,)]


def test_blocks_of_a_graph_share_slots_where_its_order_allows() -> None:
    """One after the other in one stream: one slot, as large as the larger."""
    (graph,) = planned(
        "- graph: g\n  stream: A\n  steps:\n"
        "  - {alloc: x, size: 1MiB, stream: A}\n  - {free: x, stream: A}\n"
        "  - {alloc: y, size: 3MiB, stream: A}\n  - {free: y, stream: A}\n"
    ).graphs
    assert (graph.slots, graph.slot_of) == ((3 * 2**20,), (0, 0))


@pytest.mark.parametrize("row", [*Baseline, COMBINATIONS[0]])
def test_slots_of_the_plan_leave_graphs_out(row: Any) -> None:
    """A graph's buffers have no place among those of the pool's."""
    plan = planned(
        f"- {{alloc: y, size: 1MiB, stream: A}}\n{FORKED}- {{free: y, stream: A}}\n", row
    )
    if row is Baseline.PREALLOCATED:
        assert plan.slots == (2**20,)
        assert plan.slot_of == (-1, -1, 0, -1)
    assert plan.buffers[3].alloc_step == -1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["{kernel: spin, duration: 5us, stream: B}"], [("graph-not-forked", 3)]),
        (
            ["{record: e, stream: A}", "{wait: e, stream: B}"],
            [("graph-not-joined", 4)],
        ),
        (
            [SPIN, "{record: e, stream: A}", "{wait: e, stream: B}", SPIN.replace("A", "B")],
            [("graph-not-joined", 6)],
        ),
        (["{alloc: x, size: 1MiB, stream: A}"], [("never-freed", 3)]),
        (["{memset: y, stream: A}"], [("graph-outer-buffer", 3)]),
        (["{wait: outside, stream: A}"], [("unknown-event", 3)]),
        (["{memcpy: h2d, dst: w, src: p, stream: A}"], [("not-in-a-graph", 3)]),
        (
            ["{alloc: x, size: 1MiB, stream: A}", "{free: x, stream: A}", "{memset: x, stream: A}"],
            [("use-after-free", 5)],
        ),
        (["{kernel: spin, duration: 5us, stream: C}"], [("unknown-stream", 3)]),
        (["{sync: device}"], [("not-in-a-graph", 3)]),
    ],
)
def test_what_a_capture_cannot_hold(body: list[str], expected: list[tuple[str, int]]) -> None:
    lines = "".join(f"  - {step}\n" for step in body)
    around = ["- {alloc: y, size: 1MiB, stream: A}\n", "- {free: y, stream: A}\n"]
    found = codes(f"{around[0]}- graph: g\n  stream: A\n  steps:\n{lines}{around[1]}")
    assert [(code, line - 1) for code, line in found] == [(code, line) for code, line in expected]


def test_a_forked_and_joined_body_is_fine() -> None:
    assert codes(FORKED) == []


def test_the_graph_uses_lasting_buffers_like_a_kernel() -> None:
    """A race with what runs beside it is told of at the launch."""
    scenario = scenario_of(
        f"{HEAD}steps:\n- {{memset: w, stream: B}}\n{FORKED.lstrip()}".replace("B}", "B}", 1)
    )
    found = [(p.code, p.is_warning) for p in check(scenario)]
    assert ("race", True) in found


def test_there_can_be_so_many_graphs() -> None:
    body = "{alloc: x$i, size: 1MiB, stream: A}, {free: x$i, stream: A}"
    steps = "- repeat: {n}\n  steps:\n  - {{graph: g, stream: A, steps: [{body}]}}\n"
    assert codes(steps.format(n=MAX_GRAPHS, body=body)) == []
    assert codes(steps.format(n=MAX_GRAPHS + 1, body=body)) == [("too-many-graphs", 2)]
