"""The faults of buffers against a slow search of all pairs, on random programs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.plan import steps as s
from poolbench.plan.check import faults_of, order_in
from poolbench.plan.uses import uses_of
from tests.plan.building import expanded

BUFFERS, STREAMS = "xyz", "ABC"

stream = st.sampled_from(STREAMS)
move = st.one_of(
    st.tuples(st.sampled_from(["read", "write", "copy"]), stream, st.integers(0, 2)),
    st.tuples(st.sampled_from(["record", "wait"]), stream, st.integers(0, 1)),
    st.tuples(st.sampled_from(["sync"]), stream, st.just(0)),
    st.tuples(st.sampled_from(["alloc", "free"]), stream, st.integers(0, 2)),
)


def program(moves):
    """Steps in which names are allocated once before any use, and events recorded before a wait."""
    lines, live, recorded = [], set(), set()
    for kind, on, number in moves:
        name, other = BUFFERS[number], BUFFERS[(number + 1) % 3]
        match kind:
            case "alloc" if name not in live:
                live.add(name)
                lines.append(f"{{alloc: {name}, size: 1MiB, stream: {on}}}")
            case "free" if name in live:
                lines.append(f"{{free: {name}, stream: {on}}}")
            case "read" if name in live:
                lines.append(f"{{kernel: stream, reads: [{name}], stream: {on}}}")
            case "write" if name in live:
                lines.append(f"{{memset: {name}, stream: {on}}}")
            case "copy" if {name, other} <= live:
                lines.append(f"{{memcpy: d2d, dst: {name}, src: {other}, stream: {on}}}")
            case "record":
                recorded.add(number)
                lines.append(f"{{record: e{number}, stream: {on}}}")
            case "wait" if number in recorded:
                lines.append(f"{{wait: e{number}, stream: {on}}}")
            case "sync":
                lines.append(f"{{sync: stream, stream: {on}}}")
    return "".join(f"- {line}\n" for line in lines)


def reference(found, order):
    """(code, line) of every fault, by looking at all pairs of steps."""
    faults = set()
    n = len(found.steps)
    uses = [(at, use) for at in range(n) for use in uses_of(found.steps[at])]
    frees = [(at, step) for at, step in enumerate(found.steps) if isinstance(step, s.Free)]

    def line(at):
        return found.place(at).line

    for index, buffer in enumerate(found.buffers):
        mine = [(at, use) for at, use in uses if use.buffer == index]
        ends = [at for at, step in frees if step.buffer == index]
        end = ends[0] if ends else n
        faults |= {("double-free", line(at)) for at in ends[1:]}
        if not ends:
            faults.add(("never-freed", line(buffer.alloc_step)))
        bad = set()
        for at, _ in mine:
            if at > end:
                bad.add(at)
                faults.add(("use-after-free", line(at)))
            elif not order.happens_before(buffer.alloc_step, at):
                bad.add(at)
                faults.add(("use-before-alloc-order", line(at)))
        if ends:
            if any(at < end and not order.happens_before(at, end) for at, _ in mine):
                faults.add(("free-before-use-order", line(end)))
            elif not order.happens_before(buffer.alloc_step, end):
                faults.add(("free-before-alloc-order", line(end)))
        for at, use in mine:
            for other, how in mine:
                if (
                    other < at
                    and at not in bad
                    and (use.is_write or how.is_write)
                    and not order.happens_before(other, at)
                ):
                    faults.add(("race", line(at)))
    return faults


@settings(max_examples=400, deadline=None)
@given(moves=st.lists(move, max_size=40))
def test_one_pass_finds_what_a_search_of_all_pairs_finds(moves):
    """Remembering the last use of each stream loses no fault and invents none."""
    found = expanded(f"streams: {{A: , B: , C: }}\nsteps:\n{program(moves) or '- {host: 1us}'}\n")
    order = order_in(found)
    assert order is not None
    mine = {
        (fault.code, fault.place.line) for fault in faults_of(found, order) if not fault.is_warning
    }
    assert mine == reference(found, order)
