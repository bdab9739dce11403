"""Graphs: steps that are captured once and launched as one.

Pure.  While a scenario is expanded, the body of each `graph` step is an expansion of its own;
bodies that come out the same are one graph.  A graph keeps the addresses of its capture, so it uses
buffers that exist during the whole run and those that it allocates and frees itself, in memory that
the driver keeps for graphs, outside of every pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from poolbench.domain import StreamKind
from poolbench.plan import steps as s
from poolbench.plan.expansion import Expansion, GraphBody
from poolbench.plan.faults import Fault
from poolbench.plan.order import Order, order_of
from poolbench.plan.plan import BufferSpec, Graph
from poolbench.plan.preallocate import preallocate


def order_in_graph(body: GraphBody) -> Order:
    """The order of a body's steps, with one more at the end of the stream that captures.

    What a capture sees of streams is what events order: their kinds mean nothing in it.
    """
    expansion = body.expansion
    streams = [
        replace(spec, kind=StreamKind.NON_BLOCKING, is_created_by_step=False)
        for spec in expansion.streams
    ]
    last = s.Record(stream=body.stream, event=len(expansion.events))
    return order_of([*expansion.steps, last], streams, len(expansion.events) + 1)


def capture_faults(body: GraphBody, order: Order) -> Iterator[Fault]:
    """Streams that are not led into the capture by an event, or not led back."""
    steps, streams = body.expansion.steps, body.expansion.streams
    captured = {body.stream}
    recorded: set[int] = set()
    last_of: dict[int, int] = {}
    outside: set[int] = set()
    for index, step in enumerate(steps):
        if isinstance(step, s.Memcpy) and step.is_pageable:
            yield Fault(
                place=body.expansion.place(index, "memcpy"),
                code="not-in-a-graph",
                message="a copy from or to pageable memory waits for the host; a graph cannot "
                "hold it",
            )
        stream: int = step.stream  # type: ignore[union-attr]  # a body has no host steps
        if isinstance(step, s.Wait) and step.event in recorded:
            captured.add(stream)
        if stream not in captured and stream not in outside:
            outside.add(stream)
            yield Fault(
                place=body.expansion.place(index, "stream"),
                code="graph-not-forked",
                message=f"stream {streams[stream].name} is not part of graph {body.name} yet: it "
                f"waits for no event that was recorded in it",
            )
        if isinstance(step, s.Record):
            recorded.add(step.event)
        if stream in captured:
            last_of[stream] = index
    for stream, index in last_of.items():
        if stream != body.stream and not order.happens_before(index, len(steps)):
            yield Fault(
                place=body.expansion.place(index, "stream"),
                code="graph-not-joined",
                message=f"stream {streams[stream].name} is not led back: record an event after "
                f"this and let stream {streams[body.stream].name} wait for it before graph "
                f"{body.name} ends",
            )


def graphs_of(expansion: Expansion) -> tuple[tuple[Graph, ...], tuple[BufferSpec, ...]]:
    """(the graphs of a plan, their own buffers), which come after those of the expansion."""
    graphs: list[Graph] = []
    own: list[BufferSpec] = []
    n_lasting = sum(spec.memory is not None for spec in expansion.buffers)
    for body in expansion.graphs:
        first = len(expansion.buffers) + len(own)
        added = body.expansion.buffers[n_lasting:]
        own += [BufferSpec(name=spec.name, size=spec.size) for spec in added]
        order = order_in_graph(body)
        slots, slot_of = preallocate(body.expansion.steps, body.expansion.buffers, order)
        branches = _branches(body)
        graphs.append(
            Graph(
                name=body.name,
                nodes=tuple(
                    _moved(step, branches.index, _buffers_from(n_lasting, first))
                    for step in body.expansion.steps
                ),
                branches=tuple(branches),
                n_events=len(body.expansion.events),
                buffers=tuple(range(first, first + len(added))),
                slots=slots,
                slot_of=tuple(slot_of[n_lasting:]),
            )
        )
    return tuple(graphs), tuple(own)


def _branches(body: GraphBody) -> list[int]:
    """Streams of the plan, the one that captures first."""
    used = [step.stream for step in body.expansion.steps]  # type: ignore[union-attr]
    return list(dict.fromkeys((body.stream, *used)))


def _buffers_from(n_lasting: int, first: int) -> Callable[[int], int]:
    return lambda buffer: buffer if buffer < n_lasting else first + buffer - n_lasting


def _moved(step: s.Step, branch: Callable[[int], int], buffer: Callable[[int], int]) -> s.GraphNode:
    """A step of a body with the numbers of the plan's buffers, and of the graph's branches."""
    match step:
        case s.Alloc() | s.Free() | s.Memset():
            return replace(step, stream=branch(step.stream), buffer=buffer(step.buffer))
        case s.Memcpy():
            return replace(
                step, stream=branch(step.stream), dst=buffer(step.dst), src=buffer(step.src)
            )
        case s.Launch():
            return replace(
                step,
                stream=branch(step.stream),
                work=_moved_work(step.work, buffer),
                buffers=_all(step.buffers, buffer),
                writes=_all(step.writes, buffer),
            )
        case s.Record() | s.Wait() | s.Callback():
            return replace(step, stream=branch(step.stream))
        case _:
            raise TypeError(f"{type(step).__name__} in a graph")


def _moved_work(work: s.Work, buffer: Callable[[int], int]) -> s.Work:
    match work:
        case s.Touch(reads=reads, writes=writes):
            return s.Touch(reads=_all(reads, buffer), writes=_all(writes, buffer))
        case s.Custom(kernel=kernel, arguments=arguments):
            moved = tuple(buffer(one) if isinstance(one, int) else one for one in arguments)
            return s.Custom(kernel=kernel, arguments=moved)
        case _:
            return work


def _all(buffers: Sequence[int], moved: Callable[[int], int]) -> tuple[int, ...]:
    return tuple(moved(one) for one in buffers)
