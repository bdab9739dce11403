"""The buffers of the ideal: a slot is shared only where the scenario itself allows it."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.domain import StreamKind, StreamPriority
from poolbench.plan import steps as s
from poolbench.plan.check import order_in
from poolbench.plan.order import order_of
from poolbench.plan.plan import BufferSpec, StreamSpec
from poolbench.plan.preallocate import preallocate
from tests.plan.building import expanded


def slots_of(steps, head="streams: {A: , B: }"):
    found = expanded(f"{head}\nsteps:\n{steps}")
    order = order_in(found)
    assert order is not None
    return preallocate(found.steps, found.buffers, order)


PAIR = """\
- {{alloc: x, size: 1MiB, stream: A}}
- {{free: x, stream: A}}
{}- {{alloc: y, size: 2MiB, stream: {}}}
- {{free: y, stream: {}}}
"""


def test_a_stream_takes_its_own_slot_again_and_the_slot_grows():
    """Same stream: one slot, as large as the larger block."""
    assert slots_of(PAIR.format("", "A", "A")) == ((2**21,), (0, 0))


def test_another_stream_gets_a_slot_of_its_own_unless_it_is_ordered():
    """Unordered: two slots; with an event or a synchronisation: one."""
    assert slots_of(PAIR.format("", "B", "B")) == ((2**20, 2**21), (0, 1))
    event = "- {record: e, stream: A}\n- {wait: e, stream: B}\n"
    assert slots_of(PAIR.format(event, "B", "B")) == ((2**21,), (0, 0))
    assert slots_of(PAIR.format("- {sync: device}\n", "B", "B")) == ((2**21,), (0, 0))


def test_the_slot_with_the_least_waste_is_taken():
    """Among free slots of the stream the tightest one that is large enough wins."""
    steps = "".join(f"- {{alloc: {name}, size: {size}, stream: A}}\n" for name, size in
                    (("a", "8MiB"), ("b", "2MiB"), ("c", "4MiB")))  # fmt: skip
    steps += "".join(f"- {{free: {name}, stream: A}}\n" for name in "abc")
    steps += "- {alloc: d, size: 3MiB, stream: A}\n- {free: d, stream: A}\n"
    sizes, slot_of = slots_of(steps)
    assert sizes == (2**23, 2**21, 2**22)
    assert slot_of == (0, 1, 2, 2)


def test_buffers_that_always_exist_have_no_slot():
    """-1 for what is no pool buffer."""
    head = "streams: {A: }\nbuffers: {k: {size: 1MiB, count: 2}}"
    steps = "- {alloc: x, size: 1MiB, stream: A}\n- {free: x, stream: A}\n"
    assert slots_of(steps, head) == ((2**20,), (-1, -1, 0))


STREAMS = tuple(
    StreamSpec(name=f"s{n}", kind=StreamKind.NON_BLOCKING, priority=StreamPriority.NORMAL)
    for n in range(3)
)
moves = st.lists(
    st.tuples(st.sampled_from("affrws"), st.integers(0, 2), st.integers(0, 2)), max_size=80
)


@settings(max_examples=200, deadline=None)
@given(moves=moves, sizes=st.lists(st.integers(1, 100), min_size=80, max_size=80))
def test_a_slot_never_holds_two_blocks_at_once(moves, sizes):
    """On any steps: a slot's next block comes, in every run, after the free of the one before."""
    steps, live, buffers = [], [], []
    for kind, one, two in moves:
        if kind == "a":
            live.append(len(buffers))
            buffers.append([len(steps), -1, sizes[len(buffers)]])
            steps.append(s.Alloc(stream=one, buffer=live[-1], size=buffers[-1][2]))
        elif kind == "f" and live:
            buffer = live.pop(two % len(live))
            buffers[buffer][1] = len(steps)
            steps.append(s.Free(stream=one, buffer=buffer))
        elif kind == "r":
            steps.append(s.Record(stream=one, event=two))
        elif kind == "w":
            steps.append(s.Wait(stream=one, event=two))
        elif kind == "s":
            steps.append(s.SyncStream(stream=one))
    specs = [
        BufferSpec(name=f"x{n}", size=size, alloc_step=alloc, free_step=free)
        for n, (alloc, free, size) in enumerate(buffers)
    ]
    order = order_of(steps, STREAMS, 3)
    slots, slot_of = preallocate(steps, specs, order)
    assert (slots, slot_of) == preallocate(steps, specs, order)
    last = {}
    for spec, slot in zip(specs, slot_of, strict=True):
        assert slots[slot] >= spec.size
        if slot in last:
            assert last[slot].free_step >= 0
            assert order.happens_before(last[slot].free_step, spec.alloc_step)
        last[slot] = spec
    assert set(slot_of) == set(range(len(slots)))


def test_many_allocations_are_placed_in_no_time():
    """102,000 allocations with many free slots take about a second."""
    steps, specs = [], []
    for n in range(51_000):
        specs.append(BufferSpec(name="x", size=n % 97 + 1, alloc_step=n, free_step=51_000 + n))
        steps.append(s.Alloc(stream=n % 3, buffer=n, size=n % 97 + 1))
    steps += [s.Free(stream=n % 3, buffer=n) for n in range(51_000)]
    for n in range(51_000):
        at = len(steps)
        specs.append(BufferSpec(name="y", size=n % 89 + 1, alloc_step=at, free_step=-1))
        steps.append(s.Alloc(stream=(n + 1) % 3, buffer=51_000 + n, size=n % 89 + 1))
    order = order_of(steps, STREAMS, 0)
    begin = time.perf_counter()
    slots, _ = preallocate(steps, specs, order)
    assert time.perf_counter() - begin < 5
    assert len(slots) == 51_000
