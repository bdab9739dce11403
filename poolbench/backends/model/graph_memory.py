"""Memory that the driver keeps for graphs, outside of every pool.  Pure.

Assumed, until somebody looks: it is there from the first launch on, and graphs of one stream share
it.  Sizes are bytes.
"""

from __future__ import annotations

from poolbench.domain import AttributeSet
from poolbench.plan import steps as st
from poolbench.plan.plan import Graph, Plan


def graph_memory(plan: Plan, granule: int) -> dict[int, int]:
    """Stream -> bytes that the driver keeps for the graphs launched on it: those of one stream can
    share theirs, as they never run at once."""
    kept: dict[int, int] = {}
    for graph in plan.graphs:
        size = sum(-(-slot // granule) * granule for slot in graph.slots)
        kept[graph.branches[0]] = max(size, kept.get(graph.branches[0], 0))
    return kept


def graph_marks(plan: Plan, granule: int) -> tuple[int, int]:
    """High marks (reserved, used) of the memory of graphs: nothing in a row without allocations."""
    if not isinstance(plan.case.row, AttributeSet):
        return 0, 0
    used: dict[int, int] = {}
    for graph in plan.graphs:
        stream = graph.branches[0]
        used[stream] = max(used.get(stream, 0), _most_live(graph, plan))
    return sum(graph_memory(plan, granule).values()), sum(used.values())


def _most_live(graph: Graph, plan: Plan) -> int:
    live = most = 0
    for node in graph.nodes:
        if isinstance(node, st.Alloc):
            live += node.size
            most = max(most, live)
        elif isinstance(node, st.Free):
            live -= plan.buffers[node.buffer].size
    return most
