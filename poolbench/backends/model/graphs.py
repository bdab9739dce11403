"""Graphs: one call of the host, and all of their steps as work of the device.

The first branch of a graph is the stream that it is launched on; each of the others is a stream of
its own, for one launch.  What a graph allocates is there before the first step and costs nothing
when it runs (assumed).  Times are nanoseconds, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from poolbench.backends.model.host import Host
from poolbench.backends.model.memory import access_of
from poolbench.backends.model.ops import Op
from poolbench.backends.model.streams import Recorded, Stream
from poolbench.plan import steps as st
from poolbench.plan.plan import Graph
from poolbench.trace import NONE


class GraphLauncher:
    """Launches the graphs of a plan; `look_up` says what a step takes, as for the others."""

    def __init__(self, host: Host, look_up: Callable[[Any], Any]) -> None:
        self._host = host
        self._graphs = host.plan.graphs
        self._found = [[look_up(node) for node in graph.nodes] for graph in self._graphs]
        self._last: list[Op | None] = [None] * len(self._graphs)
        device = host.profile.device
        self._latency_ns = device.launch_latency_ns
        self._start_ns = device.graph_start_ns

    def launch(self, step: st.LaunchGraph, row: int) -> None:
        """A launch comes after the last one of the same graph, whatever its stream."""
        host, costs = self._host, self._host.profile.host
        graph = self._graphs[step.graph]
        origin = host.stream(step.stream)
        host.now_ns += costs.graph_launch_ns + round(len(graph.nodes) * costs.graph_node_ns)
        before = self._timing_event(origin, 0)
        begin = host.new_mark(origin, NONE, self._latency_ns, self._start_ns)
        last = self._last[step.graph]
        if last is not None:
            _wait_for(begin, last)
        host.device.push(origin, begin)
        self._push_nodes(step.graph, graph, origin)
        end = host.new_mark(origin, NONE, self._latency_ns)
        host.device.push(origin, end)
        self._last[step.graph] = end
        if before is not None and host.recording is not None:
            after = self._timing_event(origin, costs.timing_record_ns)
            assert after is not None
            host.recording.spans.append((row, before, after))

    def _timing_event(self, stream: Stream, later_ns: int) -> Op | None:
        """In the traced pass."""
        host = self._host
        if host.recording is None:
            return None
        event = host.new_mark(stream, NONE, later_ns, host.traced_ns)
        host.device.push(stream, event)
        return event

    def _push_nodes(self, index: int, graph: Graph, origin: Stream) -> None:
        host = self._host
        branches = [origin, *(host.branch(stream) for stream in graph.branches[1:])]
        events: list[Recorded | None] = [None] * graph.n_events
        for node, found in zip(graph.nodes, self._found[index], strict=True):
            stream = branches[node.stream]
            match node:
                case st.Alloc() | st.Free():
                    pass
                case st.Record():
                    op = host.new_mark(stream, NONE, self._latency_ns)
                    events[node.event] = Recorded(op, stream.clock)
                    host.device.push(stream, op)
                case st.Wait():
                    op = host.new_mark(stream, NONE, self._latency_ns)
                    recorded = events[node.event]
                    if recorded is not None:
                        _wait_for(op, recorded.op)
                        stream.learn(recorded.op.stream_id, recorded.clock, recorded.op.seq)
                    host.device.push(stream, op)
                case st.Launch() | st.Memcpy() | st.Memset() | st.Callback():
                    self._push_work(stream, node, found)
                case _:
                    assert_never(node)

    def _push_work(
        self, stream: Stream, node: st.Launch | st.Memcpy | st.Memset | st.Callback, found: Any
    ) -> None:
        host = self._host
        duration_ns = found.duration_ns if isinstance(node, st.Launch) else found
        op = host.new_work(stream, NONE, self._latency_ns, duration_ns)
        if isinstance(node, st.Launch):
            op.kernel = found
        elif isinstance(node, st.Memcpy):
            op.engine = host.device.copy_engine(node.kind)
        elif isinstance(node, st.Callback):
            op.engine = host.device.callbacks
        if host.memory is not None:
            op.access = access_of(node, host.addresses, host.plan.buffers)
        stream.n_queued += 1
        host.device.push(stream, op)


def _wait_for(op: Op, other: Op) -> None:
    """Beside what `op` waits for already."""
    if op.dependency is None:
        op.dependency = other
    elif isinstance(op.dependency, list):
        op.dependency = [other, *op.dependency]
    else:
        op.dependency = [other, op.dependency]
