"""The graphs of a plan: captured before the first step, launched by steps, given back afterwards.

A capture runs on streams of its own, with the priorities of those that its steps name: what is
captured is the order of the steps, and no stream is used for anything else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.resources import destroy_streams, make_stream
from poolbench.domain import AttributeSet, Baseline, Issue, StreamKind
from poolbench.plan.plan import Graph, Plan

Pack = Callable[[Plan, Sequence[Any], Sequence[Any]], Sequence[Callable[[], Sequence[Any]]]]
"""Ready calls for the steps of a plan on these streams with these events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMemory:
    """High marks in bytes of what the driver keeps for graphs."""

    reserved_high: int = 0
    used_high: int = 0


def body_of(plan: Plan, graph: Graph) -> Plan:
    """A graph's nodes as a plan for its branches.

    What they allocate is the graph's if the row has allocations at all; else it is there already.
    """
    branches = tuple(
        replace(
            plan.streams[stream],
            kind=StreamKind.NON_BLOCKING,
            is_created_by_step=False,
        )
        for stream in graph.branches
    )
    case = plan.case
    if not isinstance(case.row, AttributeSet):
        case = replace(case, row=Baseline.PREALLOCATED)
    return replace(
        plan,
        case=case,
        steps=graph.nodes,
        streams=branches,
        events=tuple(f"e{number}" for number in range(graph.n_events)),
        issue=Issue.LIVE,
        graphs=(),
    )


class Graphs:
    """All graphs of a plan, ready to launch: `launchable[g]` is graph `g`."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._made: list[tuple[Any, Any]] = []
        self.launchable: list[Any] = []

    def capture(self, plan: Plan, pack: Pack) -> None:
        """Raises `driver.DriverError`."""
        for graph in plan.graphs:
            body = body_of(plan, graph)
            streams = [make_stream(body, index) for index in range(len(body.streams))]
            events = [driver.create_event(driver.NO_TIMING) for _ in body.events]
            try:
                captured = _captured(streams[0], pack(body, streams, events), graph.name)
            finally:
                for event in events:
                    driver.check(driver.cuEventDestroy(event), "cuEventDestroy")
                destroy_streams(body, streams)
            self._made.append((captured, driver.cuGraphDestroy))
            launchable = driver.instantiate(captured)
            self._made.append((launchable, driver.cuGraphExecDestroy))
            self.launchable.append(launchable)

    def upload(self, plan: Plan, streams: Sequence[Any], spare: Any) -> None:
        """Once, on the stream of the first launch, so that its memory is mapped before the clock
        starts; `spare` stands in for a stream that is not there yet."""
        for graph, launchable in zip(plan.graphs, self.launchable, strict=True):
            stream = streams[graph.branches[0]]
            driver.check(
                driver.cuGraphUpload(launchable, spare if stream is None else stream),
                "cuGraphUpload",
            )
        driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize")

    def reset_marks(self) -> None:
        driver.reset_graph_marks(self._device)

    def memory(self, plan: Plan) -> GraphMemory:
        if not isinstance(plan.case.row, AttributeSet):
            return GraphMemory()
        reserved, used = driver.graph_marks(self._device)
        return GraphMemory(reserved_high=reserved, used_high=used)

    def give_back(self) -> Sequence[Any]:
        """The last result that is not success, if there is one.  The device must be idle."""
        results = [give_back(thing) for thing, give_back in reversed(self._made)]
        if self._made:
            results.append(driver.cuDeviceGraphMemTrim(self._device))
        self._made.clear()
        return next((result for result in results if int(result[0])), (0,))


def _captured(origin: Any, calls: Sequence[Callable[[], Sequence[Any]]], name: str) -> Any:
    """The capture is ended whatever happens in it, or the stream could not be destroyed."""
    driver.begin_capture(origin)
    failed: Sequence[Any] = (0,)
    try:
        for call in calls:
            failed = call()
            if failed[0]:
                break
    finally:
        captured = driver.cuStreamEndCapture(origin)
    driver.check(tuple(failed)[:1], f"capturing graph {name}")
    return driver.check(captured, f"cuStreamEndCapture of graph {name}")
