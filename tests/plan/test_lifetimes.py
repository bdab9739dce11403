"""Ordering faults of buffers: each at its place, with the other place named."""

from __future__ import annotations

import pytest

from poolbench.plan.check import check
from tests.plan.building import scenario_of

HEAD = """streams: {A: , B: , C: }
buffers: {kept: {size: 1MiB}}
steps:
"""
FIRST = 4  # line of the first step


def problems(steps):
    """(code, line, column, message, notes) of every problem; lines count from the first step."""
    return [
        (
            p.code,
            p.place.line - FIRST,
            p.place.column,
            p.message,
            [(note.place.line - FIRST, note.message) for note in p.notes],
            p.is_warning,
        )
        for p in check(scenario_of(HEAD + steps))
    ]


def only(steps):
    (found,) = problems(steps)
    return found


def test_a_good_hand_over_has_no_fault():
    """Allocation, use and free on three streams, every one ordered by an event."""
    assert not problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {record: ready, stream: A}
- {wait: ready, stream: B}
- {kernel: stream, writes: [x], stream: B}
- {record: done, stream: B}
- {wait: done, stream: C}
- {free: x, stream: C}
""")


def test_a_free_that_another_stream_does_not_wait_for():
    """Field report: block allocated and used on one stream, freed on another with no order."""
    code, line, column, message, notes, is_warning = only("""\
- {alloc: x, size: 64MiB, stream: A}
- {kernel: spin, duration: 50ms, writes: [x], stream: A}
- {free: x, stream: B}
""")
    assert (code, line, column, is_warning) == ("free-before-use-order", 2, 10, False)
    assert message == ("the free of x on stream B is not ordered after its last use on stream A")
    assert notes == [(1, "last used here on stream A")]


JOIN = """\
- {{alloc: x, size: 64MiB, stream: A}}
- {{record: ready, stream: A}}
- {{wait: ready, stream: B}}
- {{kernel: spin, duration: 2ms, reads: [x], stream: B}}
- {{record: fast, stream: B}}
- {{wait: ready, stream: C}}
- {{kernel: spin, duration: 6ms, reads: [x], stream: C}}
- {{record: slow, stream: C}}
- {{wait: fast, stream: A}}
{}- {{free: x, stream: A}}
"""


def test_a_free_on_a_stream_that_joins_all_uses():
    """Field report: tensors used on several streams need a free ordered after each of them."""
    assert not problems(JOIN.format("- {wait: slow, stream: A}\n"))
    code, line, _, message, notes, _ = only(JOIN.format(""))
    assert (code, line) == ("free-before-use-order", 9)
    assert message.endswith("not ordered after its last use on stream C")
    assert notes == [(6, "last used here on stream C")]


def test_all_unordered_last_uses_are_named():
    """One free, one problem, a note for every stream that may still use the block."""
    code, _, _, message, notes, _ = only("""\
- {alloc: x, size: 64MiB, stream: A}
- {sync: stream, stream: A}
- {kernel: spin, duration: 2ms, reads: [x], stream: B}
- {kernel: spin, duration: 2ms, reads: [x], stream: B}
- {kernel: spin, duration: 6ms, reads: [x], stream: C}
- {free: x, stream: A}
""")
    assert code == "free-before-use-order"
    assert message.endswith("on stream B, C")
    assert notes == [(3, "last used here on stream B"), (4, "last used here on stream C")]


@pytest.mark.parametrize(
    ("use", "column"),
    [
        ("{kernel: stream, reads: [x], stream: A}", 27),
        ("{kernel: spin, duration: 1us, writes: [x], stream: A}", 41),
        ("{memset: x, stream: A}", 12),
        ("{memcpy: d2d, dst: kept, src: x, stream: A}", 33),
        ("{memcpy: d2d, dst: x, src: kept, stream: A}", 22),
        ("{fill: x, stream: A}", 10),
    ],
)
def test_a_use_after_the_free(use, column):
    """Every kind of use of a freed block is an error where the block is named."""
    found = problems(f"""\
- {{alloc: x, size: 1MiB, stream: A}}
- {{free: x, stream: A}}
- {use}
""")
    assert found == [
        (
            "use-after-free",
            2,
            column,
            "x is used after it was freed",
            [(1, "freed here first")],
            False,
        )
    ]


def test_a_use_that_is_not_ordered_after_the_allocation():
    """Another stream may use a block only when the allocation has taken its turn."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {memset: x, stream: B}
- {sync: device}
- {free: x, stream: A}
""")
    assert found == [
        (
            "use-before-alloc-order", 1, 12,
            "this use of x on stream B is not ordered after its allocation on stream A",
            [(0, "allocated here on stream A")], False,
        )
    ]  # fmt: skip


def test_a_free_that_is_not_ordered_after_the_allocation():
    """A block that nobody used can still be freed too early."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: B}
""")
    assert found == [
        (
            "free-before-alloc-order", 1, 10,
            "the free of x on stream B is not ordered after its allocation on stream A",
            [(0, "allocated here on stream A")], False,
        )
    ]  # fmt: skip


def test_a_double_free():
    """The second free is the fault, the first one the note."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: A}
- {free: x, stream: A}
""")
    assert found == [("double-free", 2, 10, "x is freed twice", [(1, "freed here first")], False)]


def test_a_leak():
    """What an iteration allocates it frees."""
    found = problems("- {alloc: x, size: 1MiB, stream: A}\n")
    assert [(code, line, column) for code, line, column, *_ in found] == [("never-freed", 0, 11)]


def test_a_name_allocated_while_it_is_live():
    """The second alloc is the fault; the first block's leak is not reported beside it."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: A}
""")
    assert found == [
        (
            "double-alloc", 1, 11, "x is allocated while it is still live",
            [(0, "allocated here first")], False,
        )
    ]  # fmt: skip


def test_a_loop_that_forgets_the_index_in_the_name():
    """All passes of a loop together are one problem."""
    found = problems("""\
- repeat: 5
  steps:
  - {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: A}
""")
    ((code, line, _, message, notes, _),) = found
    assert (code, line) == ("double-alloc", 2)
    assert message == "x is allocated while it is still live (and 3 more like it)"
    assert notes == [(2, "allocated here first")]


RACES = [
    ("{kernel: stream, writes: [x], stream: A}", "{kernel: stream, reads: [x], stream: B}"),
    ("{kernel: stream, reads: [x], stream: A}", "{kernel: stream, writes: [x], stream: B}"),
    ("{memset: x, stream: A}", "{memset: x, stream: B}"),
    ("{memcpy: d2d, dst: x, src: kept, stream: A}", "{fill: x, stream: B}"),
    (
        "{kernel: spin, duration: 1us, reads: [x], stream: A}",
        "{kernel: spin, duration: 1us, writes: [x], stream: B}",
    ),
]
AROUND = """\
- {{alloc: x, size: 1MiB, stream: A}}
- {{sync: stream, stream: A}}
- {}
{}- {}
- {{sync: device}}
- {{free: x, stream: A}}
"""


@pytest.mark.parametrize(("one", "two"), RACES)
def test_two_unordered_uses_of_which_one_writes(one, two):
    """A race in pool memory is an error that names both uses; an event between them ends it."""
    ((code, line, _, message, notes, is_warning),) = problems(AROUND.format(one, "", two))
    assert (code, line, is_warning) == ("race", 3, False)
    assert message.startswith("x is ")
    assert "no order between the two" in message
    assert [(line, message.split()[-2:]) for line, message in notes] == [(2, ["stream", "A"])]
    between = "- {record: e, stream: A}\n- {wait: e, stream: B}\n"
    assert not problems(AROUND.format(one, between, two))


def test_two_reads_are_no_race():
    """Any number of streams may read at once."""
    read = "{kernel: stream, reads: [x], stream: %s}"
    assert not problems(AROUND.format(read % "A", "", read % "B"))


def test_a_race_in_memory_that_always_exists_is_a_warning():
    """Kept buffers are often only there to be touched; the numbers still mean something."""
    code, line, _, message, notes, is_warning = only("""\
- {memset: kept, stream: A}
- {memset: kept, stream: B}
""")
    assert (code, line, is_warning) == ("race", 1, True)
    assert message == (
        "kept is written on stream B and written on stream A with no order between the two"
    )
    assert notes == [(0, "written here on stream A")]


def test_a_buffer_passed_to_a_kernel_of_ones_own_counts_as_written():
    """Unless it is named under `reads`, nothing is known about it."""
    head = "streams: {A: , B: }\nbuffers: {k: {size: 1MiB}}\nkernels: {own: {source: x}}\nsteps:\n"
    step = "- {{kernel: own, blocks: 1, arguments: [k], {}stream: {}}}\n"
    raced = head + step.format("", "A") + step.format("", "B")
    assert [p.code for p in check(scenario_of(raced))] == ["race"]
    read = head + step.format("reads: [k], ", "A") + step.format("reads: [k], ", "B")
    assert not check(scenario_of(read))


def test_every_fault_of_a_file_in_one_run_and_in_order():
    """Faults of the expansion and of the order come together, sorted by place."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: B}
- {host: $busy}
- {alloc: y, size: 1MiB, stream: A}
""")
    assert [(code, line) for code, line, *_ in found] == [
        ("free-before-alloc-order", 1), ("unknown-reference", 2), ("never-freed", 3),
    ]  # fmt: skip


def test_a_missing_step_silences_the_order():
    """With a step left out, faults of order would be guesses; its own fault is enough."""
    found = problems("""\
- {alloc: x, size: 1MiB, stream: A}
- {record: e, stream: AA}
- {wait: e, stream: B}
- {free: x, stream: B}
""")
    assert [code for code, *_ in found] == ["unknown-stream"]
