"""Happens-before: the rules one by one, and against a slow reference on random steps."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.domain import StreamKind, StreamPriority
from poolbench.plan import steps as s
from poolbench.plan.order import Relation, order_of
from poolbench.plan.plan import StreamSpec

GRID = s.Grid(blocks=1)
SPIN = s.Spin(duration_ns=1)


def streams(*kinds):
    return tuple(
        StreamSpec(name=f"s{n}", kind=kind, priority=StreamPriority.NORMAL)
        for n, kind in enumerate(kinds)
    )


NB, BL = StreamKind.NON_BLOCKING, StreamKind.BLOCKING
LEGACY, PER_THREAD = StreamKind.LEGACY_DEFAULT, StreamKind.PER_THREAD_DEFAULT


def launch(stream):
    return s.Launch(stream=stream, work=SPIN, grid=GRID)


def free(stream):
    return s.Free(stream=stream, buffer=0)


def alloc(stream):
    return s.Alloc(stream=stream, buffer=1, size=1)


def relation(*between, a=NB, b=NB, others=(NB,)):
    """How an alloc on stream 1 stands to a free on stream 0, with steps in between."""
    steps = [free(0), *between, alloc(1)]
    order = order_of(steps, streams(a, b, *others), 4)
    return order.relation(0, len(steps) - 1)


def test_the_same_stream():
    """A stream is in order with itself, and nothing else counts then."""
    order = order_of([free(0), s.SyncDevice(), alloc(0)], streams(NB), 0)
    assert order.relation(0, 2) is Relation.SAME_STREAM


def test_nothing_orders_two_streams_by_itself():
    """Without an edge two streams are unordered, also if a latch is in between."""
    assert relation() is Relation.UNORDERED
    between = (s.Hold(stream=1, ticket=1), launch(0), s.Release(stream=1, ticket=1))
    assert relation(*between) is Relation.UNORDERED


def test_an_event_orders_what_comes_before_its_record():
    """record, then wait: ordered; transitively too; not if the event was recorded before."""
    record, wait = s.Record(stream=0, event=0), s.Wait(stream=1, event=0)
    assert relation(record, wait) is Relation.EVENT_ORDERED
    assert (
        relation(
            record,
            s.Wait(stream=2, event=0),
            s.Record(stream=2, event=1),
            s.Wait(stream=1, event=1),
        )
        is Relation.EVENT_ORDERED
    )
    steps = [record, free(0), wait, alloc(1)]
    assert order_of(steps, streams(NB, NB), 1).relation(1, 3) is Relation.UNORDERED


def test_a_wait_takes_the_latest_record_issued_before_it():
    """An event recorded again means its latest record; a wait before any record means nothing."""
    wait = s.Wait(stream=1, event=0)
    again = [s.Record(stream=0, event=0), free(0), s.Record(stream=0, event=0), wait, alloc(1)]
    assert order_of(again, streams(NB, NB), 1).relation(1, 4) is Relation.EVENT_ORDERED
    elsewhere = [free(0), s.Record(stream=0, event=0), s.Record(stream=2, event=0), wait, alloc(1)]
    assert order_of(elsewhere, streams(NB, NB, NB), 1).relation(0, 4) is Relation.UNORDERED
    early = [wait, free(0), s.Record(stream=0, event=0), alloc(1)]
    assert order_of(early, streams(NB, NB), 1).relation(1, 3) is Relation.UNORDERED


def test_the_host_orders_by_synchronising_and_not_by_asking():
    """Stream, event and device synchronisation make a free host-known; a query does not."""
    record = s.Record(stream=0, event=0)
    assert relation(s.SyncStream(stream=0)) is Relation.HOST_ORDERED
    assert relation(s.SyncDevice()) is Relation.HOST_ORDERED
    assert relation(record, s.SyncEvent(event=0)) is Relation.HOST_ORDERED
    assert relation(s.SyncStream(stream=2)) is Relation.UNORDERED
    assert relation(s.QueryStream(stream=0)) is Relation.UNORDERED
    assert relation(record, s.QueryEvent(event=0)) is Relation.UNORDERED
    assert relation(s.HostWork(duration_ns=10**9)) is Relation.UNORDERED
    steps = [record, free(0), s.SyncEvent(event=0), alloc(1)]
    assert order_of(steps, streams(NB, NB), 1).relation(1, 3) is Relation.UNORDERED


def test_the_host_knows_what_it_waited_for_transitively():
    """Synchronising with a stream that waited for the free makes the free host-known."""
    between = (s.Record(stream=0, event=0), s.Wait(stream=2, event=0), s.SyncStream(stream=2))
    assert relation(*between) is Relation.HOST_ORDERED


def test_the_legacy_default_stream_and_blocking_streams_wait_for_each_other():
    """Measured: reuse by order both ways; not with non-blocking streams; not per-thread with
    blocking."""
    ordered, unordered = Relation.EVENT_ORDERED, Relation.UNORDERED
    assert relation(a=BL, b=LEGACY) is ordered
    assert relation(a=LEGACY, b=BL) is ordered
    assert relation(a=NB, b=LEGACY) is unordered
    assert relation(a=LEGACY, b=NB) is unordered
    assert relation(a=PER_THREAD, b=BL) is unordered
    assert relation(a=BL, b=PER_THREAD) is unordered
    assert relation(a=BL, b=BL) is unordered
    # a step on the legacy stream stands between two blocking ones
    assert relation(launch(2), a=BL, b=BL, others=(LEGACY,)) is ordered
    assert relation(a=PER_THREAD, b=LEGACY) is ordered


def test_a_stream_created_again_is_another_stream():
    """Destroying waits for nothing: the new stream of that name is not in order with the old."""
    steps = [free(0), s.DestroyStream(stream=0), s.CreateStream(stream=0), alloc(0)]
    order = order_of(steps, streams(NB), 0)
    assert order.relation(0, 3) is Relation.UNORDERED
    created = [s.CreateStream(stream=0), free(0), alloc(0)]
    assert order_of(created, streams(NB), 0).relation(1, 2) is Relation.SAME_STREAM


def test_relations_look_forward_only():
    """A free that is issued after the allocation is nothing to it."""
    order = order_of([alloc(0), free(0)], streams(NB), 0)
    assert order.relation(1, 0) is Relation.UNORDERED
    assert not order.happens_before(1, 0)
    assert not order.happens_before(0, 0)


# --- a slow reference ------------------------------------------------------------------------


def reference(steps, specs):
    """Reachability over explicit edges: `after[i]` = steps over before step i starts (or, for a
    host step, before its call returns)."""
    after = []
    last, events, host = {}, {}, set()
    incarnation = dict.fromkeys(range(len(specs)), 0)
    gone = set()

    def closed(step):
        return {step} | after[step]

    def up_to(stream_key):
        return closed(last[stream_key]) if stream_key in last else set()

    for index, step in enumerate(steps):
        if isinstance(step, s.DEVICE_STEPS):
            key = (step.stream, incarnation[step.stream])
            kind = specs[step.stream].kind
            mine = set(host) | up_to(key)
            if kind is LEGACY:
                for other in last:
                    if specs[other[0]].kind in (BL, PER_THREAD):
                        mine |= up_to(other)
            elif kind in (BL, PER_THREAD):
                for other in last:
                    if specs[other[0]].kind is LEGACY:
                        mine |= up_to(other)
            if isinstance(step, s.Wait) and step.event in events:
                mine |= closed(events[step.event])
            after.append(mine)
            last[key] = index
            if isinstance(step, s.Record):
                events[step.event] = index
        else:
            match step:
                case s.SyncStream(stream=stream):
                    host |= up_to((stream, incarnation[stream]))
                    if specs[stream].kind is LEGACY:
                        for key in last:
                            if specs[key[0]].kind in (BL, PER_THREAD):
                                host |= up_to(key)
                case s.SyncEvent(event=event):
                    host |= closed(events[event]) if event in events else set()
                case s.SyncDevice():
                    for key in last:
                        host |= up_to(key)
                case s.DestroyStream(stream=stream):
                    gone.add(stream)
                case s.CreateStream(stream=stream) if stream in gone:
                    gone.discard(stream)
                    incarnation[stream] += 1
            after.append(set(host))
        # the host goes on after each of its own calls
        if not isinstance(step, s.DEVICE_STEPS):
            host.add(index)
    return after


N_STREAMS, N_EVENTS = 5, 3
stream = st.integers(0, N_STREAMS - 1)
event = st.integers(0, N_EVENTS - 1)
any_step = st.one_of(
    st.builds(launch, stream),
    st.builds(launch, stream),
    st.builds(free, stream),
    st.builds(alloc, stream),
    st.builds(lambda a, b: s.Record(stream=a, event=b), stream, event),
    st.builds(lambda a, b: s.Wait(stream=a, event=b), stream, event),
    st.builds(lambda a: s.SyncStream(stream=a), stream),
    st.builds(lambda a: s.SyncEvent(event=a), event),
    st.builds(lambda a: s.QueryEvent(event=a), event),
    st.builds(lambda a: s.DestroyStream(stream=a), stream),
    st.builds(lambda a: s.CreateStream(stream=a), stream),
    st.just(s.SyncDevice()),
)
kinds = st.lists(st.sampled_from([NB, NB, BL, BL, PER_THREAD]), min_size=4, max_size=4)


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(any_step, max_size=40), other_kinds=kinds, first=st.sampled_from([NB, LEGACY])
)
def test_clocks_agree_with_reachability(steps, other_kinds, first):
    """On any steps, the clocks say exactly what a search of the explicit graph says."""
    specs = streams(first, *other_kinds)
    steps = [  # nothing creates or destroys a default stream
        step
        for step in steps
        if not isinstance(step, s.DestroyStream | s.CreateStream)
        or specs[step.stream].kind in (NB, BL)
    ]
    order = order_of(steps, specs, N_EVENTS)
    after = reference(steps, specs)
    for second in range(len(steps)):
        for before in range(second):
            expected = before in after[second]
            assert order.happens_before(before, second) == expected, (before, second)


def test_a_long_plan_is_ordered_in_a_second():
    """100,000 steps on 8 streams with an event in every fourth take about a second at most."""
    steps = []
    for n in range(25_000):
        here, there = n % 8, (n * 5 + 3) % 8
        steps += [
            launch(here),
            s.Record(stream=here, event=here),
            s.Wait(stream=there, event=here),
            free(there),
        ]
    begin = time.perf_counter()
    order = order_of(steps, streams(*[NB] * 8), 8)
    assert time.perf_counter() - begin < 2
    assert order.position.max() == np.bincount(order.column).max()
