"""Loops, references, names, and the concrete steps that come of them."""

from __future__ import annotations

import time

import pytest

from poolbench.domain import CopyKind, MemoryKind, StreamKind
from poolbench.plan import steps as s
from poolbench.plan.expand import expand
from tests.plan.building import expanded, unchecked

STREAM = "streams: {A: , B: }\n"


def test_loops_are_unrolled_and_names_filled_in():
    """Nested repeats count from 0 and their indices become part of names."""
    found = expanded(
        STREAM
        + """
parameters: {t: B}
steps:
- repeat: 2
  steps:
  - repeat: 2
    index: k
    steps:
    - {alloc: "x$i.${k}", size: 1MiB, stream: A}
    - {free: x$i.$k, stream: A}
  - {record: e$i, stream: $t, label: mark$i}
"""
    )
    assert not found.faults
    assert found.names == (
        "x0.0", "x0.0", "x0.1", "x0.1", "mark0", "x1.0", "x1.0", "x1.1", "x1.1", "mark1",
    )  # fmt: skip
    assert found.events == ("e0", "e1")
    assert found.steps[4] == s.Record(stream=1, event=0)
    assert [found.origin[k] for k in range(5)] == [0, 1, 0, 1, 2]
    assert [(p.line, p.kind, p.label) for p in found.places] == [
        (10, "alloc", "x$i.${k}"), (11, "free", "x$i.$k"), (12, "record", "mark$i"),
    ]  # fmt: skip


def test_every_alloc_is_a_buffer_of_its_own():
    """A name means the latest buffer that an alloc gave it."""
    found = expanded(
        STREAM
        + """
steps:
- repeat: 3
  steps:
  - {alloc: x, size: 1MiB, stream: A}
  - {memset: x, stream: A}
  - {free: x, stream: A}
"""
    )
    assert [(b.name, b.alloc_step, b.free_step) for b in found.buffers] == [
        ("x", 0, 2), ("x", 3, 5), ("x", 6, 8),
    ]  # fmt: skip
    assert [step.buffer for step in found.steps if isinstance(step, s.Memset)] == [0, 1, 2]


def test_when_and_every_leave_steps_out():
    """`every: n` runs in each n-th pass of the innermost repeat, 0 never; `when: false` not."""
    found = expanded(
        STREAM
        + """
parameters: {yes: true, no: false, n: 3}
steps:
- {host: 9us, when: $no}
- {host: 8us, when: $yes}
- repeat: 7
  steps:
  - {host: 1us, every: $n}
  - {host: 2us, every: 0}
  - repeat: 2
    index: k
    every: 7
    steps:
    - {host: 3us, every: 2}
"""
    )
    assert not found.faults
    assert [step.duration_ns for step in found.steps] == [8000, 1000, 1000, 3000]


def test_streams_and_buffers_with_a_count_are_numbered():
    """`count: n` declares NAME0 to NAME<n-1>, and takes references."""
    found = expanded("""
parameters: {n: 2}
streams: {s: {count: $n, kind: blocking}, L: {kind: legacy_default}}
buffers: {host: {size: 1MiB, memory: pinned, count: 2}, kept: {size: 2MiB}}
steps:
- {memcpy: h2d, dst: kept, src: host1, stream: s1}
""")
    assert [(stream.name, stream.kind) for stream in found.streams] == [
        ("s0", StreamKind.BLOCKING), ("s1", StreamKind.BLOCKING), ("L", StreamKind.LEGACY_DEFAULT),
    ]  # fmt: skip
    assert [buffer.name for buffer in found.buffers] == ["host0", "host1", "kept"]
    assert found.steps == (
        s.Memcpy(stream=1, kind=CopyKind.H2D, dst=2, src=1, size=2**20, is_pageable=False),
    )


def test_a_copy_of_pageable_memory_says_so():
    """The host side decides whether the call takes the copy's time."""
    found = expanded("""
streams: {A: }
buffers: {p: {size: 4KiB, memory: pageable}, d: {size: 4KiB}}
steps:
- {memcpy: d2h, dst: p, src: d, size: 1KiB, stream: A}
""")
    assert found.steps == (
        s.Memcpy(stream=0, kind=CopyKind.D2H, dst=0, src=1, size=1024, is_pageable=True),
    )
    assert found.buffers[0].memory is MemoryKind.PAGEABLE


def test_fills_differ_and_checks_follow_the_last_one():
    """Every fill has a seed of its own; a check has that of its buffer's last fill."""
    found = expanded("""
streams: {A: }
buffers: {a: {size: 4KiB}, b: {size: 8KiB}}
steps:
- {fill: a, stream: A}
- {fill: b, stream: A}
- {check: a, stream: A}
- {fill: a, stream: A}
- {check: a, stream: A}
""")
    assert [step.seed for step in found.steps] == [1, 2, 1, 3, 3]
    assert found.steps[1] == s.Fill(stream=0, buffer=1, seed=2, size=8192)


def test_latches_have_tickets_by_stream():
    """The n-th hold of a stream waits for the n-th release of that stream."""
    found = expanded(
        STREAM
        + """
steps:
- {hold: A}
- {hold: A}
- {hold: B}
- {release: A}
- {release: B}
- {release: A}
"""
    )
    assert found.steps == (
        s.Hold(stream=0, ticket=1), s.Hold(stream=0, ticket=2), s.Hold(stream=1, ticket=1),
        s.Release(stream=0, ticket=1), s.Release(stream=1, ticket=1),
        s.Release(stream=0, ticket=2),
    )  # fmt: skip


def test_a_stream_whose_first_step_creates_it_is_not_there_before():
    """`create` before any `destroy` makes the stream; after a `destroy` it makes it again."""
    found = expanded(
        STREAM
        + """
steps:
- {create: A}
- {destroy: A}
- {destroy: B}
- {create: B}
"""
    )
    assert [stream.is_created_by_step for stream in found.streams] == [True, False]


def test_axis_values_replace_parameters_and_settings():
    """An axis value wins over the parameter or setting of the same name."""
    text = (
        STREAM
        + """
parameters: {busy: 1us, most: 32MiB}
pool: {max_size: $most}
steps:
- {host: $busy}
"""
    )
    plain = expanded(text)
    assert plain.settings.max_size == 2**25
    varied = expanded(text, [("busy", "3us"), ("pool.max_size", "64MiB")])
    assert varied.steps == (s.HostWork(duration_ns=3000),)
    assert varied.settings.max_size == 2**26


STEP_FAULTS = [
    ("{alloc: x, size: 1MiB, stream: AA}", "unknown-stream", 34, "there is no stream AA"),
    ("{alloc: x, size: 0, stream: A}", "zero-size", 20, "buffer x has 0 bytes"),
    ("{alloc: kept, size: 1MiB, stream: A}", "duplicate-name", 11, "exists before the first step"),
    ("{free: kept, stream: A}", "free-of-buffer", 10, "exists during the whole run"),
    ("{free: kept2, stream: A}", "unknown-buffer", 10, "did you mean kept?"),
    ("{memset: kept, size: 3MiB, stream: A}", "size-too-large", 24, "buffer kept holds (2MiB)"),
    ("{memset: kept, size: 0, stream: A}", "zero-size", 24, "0 bytes"),
    ("{memset: pin, stream: A}", "wrong-memory", 12, "pin is pinned host memory"),
    ("{memcpy: h2d, dst: pin, src: pin, stream: A}", "wrong-memory", 22, "must be device memory"),
    ("{memcpy: d2h, dst: pin, src: pin, stream: A}", "wrong-memory", 32, "must be device memory"),
    ("{memcpy: d2d, dst: kept, src: kept, stream: A}", "copy-to-itself", 33, "copied to itself"),
    ("{wait: ev, stream: A}", "unknown-event", 10, "no step records event ev"),
    ("{host: $nope}", "unknown-reference", 10, "$nope is not defined"),
    ("{host: $bsy}", "unknown-reference", 10, "did you mean busy?"),
    ("{host: $five}", "unit-missing", 10, "$five is 5: 5 has no unit"),
    ("{host: $word}", "bad-duration", 10, "$word is hello: 'hello' is not a duration"),
    ("{host: 1us, when: $word}", "wrong-type", 21, "$word is hello: expected true or false"),
    ("{record: x$nope, stream: A}", "unknown-reference", 12, "$nope is not defined"),
    ("{host: 1us, every: 2}", "every-outside-repeat", 22, "there is no repeat here"),
    ("{sync: stream}", "missing-key", 10, "sync: stream needs the key stream"),
    ("{sync: device, stream: A}", "key-not-used", 26, "sync: device has no use"),
    ("{query: event}", "missing-key", 11, "query: event needs the key event"),
    ("{create: L}", "default-stream", 12, "no step creates or destroys it"),
    ("{repeat: $five, index: busy, steps: [{host: 1us}]}", "index-taken", 26, "$busy is already"),
    ("{repeat: $word, steps: [{host: 1us}]}", "wrong-type", 12, "expected a whole number"),
]


@pytest.mark.parametrize(("step", "code", "column", "said"), STEP_FAULTS)
def test_a_fault_stands_at_its_value(step, code, column, said):
    """Each fault of a step is at the value that is wrong, with its code and the nearest name."""
    text = f"""
streams: {{A: , B: , L: {{kind: legacy_default}}}}
buffers: {{kept: {{size: 2MiB}}, pin: {{size: 2MiB, memory: pinned}}}}
parameters: {{busy: 1us, five: 5, word: hello}}
steps:
- {step}
"""
    found = expand(unchecked(text), ())
    fault = next(fault for fault in found.faults if fault.code == code)
    assert (fault.place.line, fault.place.column) == (6, column)
    assert said in fault.message
    assert not fault.is_warning


@pytest.mark.parametrize(
    ("head", "code", "line", "said"),
    [
        ("streams: {A: {count: 2}, A1: }", "duplicate-name", 2, "stream A1 is declared twice"),
        ("buffers: {b: {size: 1B, count: 2}, b0: {size: 1B}}", "duplicate-name", 2, "b0"),
        ("streams: {A: {count: 500}}", "too-many-streams", 2, "more than 128 streams"),
        ("buffers: {b: {size: 1B, count: 999999}}", "too-many-buffers", 2, "more than 4096"),
        ("buffers: {b: {size: 0}}", "zero-size", 2, "0 bytes"),
        (
            "streams: {L: {kind: legacy_default}, M: {kind: legacy_default}}",
            "default-stream", 2, "L and M are both the legacy_default stream",
        ),
        (
            "streams: {L: {kind: per_thread_default, priority: high}}",
            "default-stream", 2, "priority cannot be chosen",
        ),
        ("kernels: {spin: {source: x}}", "name-taken", 2, "built in"),
        ("parameters: {p: perhaps}\non_oom: $p", "bad-choice", 3, "'perhaps' is not one of"),
        ("iterations: 0", "out-of-range", 2, "at least one iteration"),
        ("pool: {max_size: $q}", "unknown-reference", 2, "$q is not defined"),
    ],
)  # fmt: skip
def test_faults_of_the_head(head, code, line, said):
    """Faults of streams, buffers, kernels and settings stand in the head."""
    (fault,) = expand(unchecked(f"\n{head}\nsteps: [{{host: 1us}}]"), ()).faults
    assert (fault.code, fault.place.line) == (code, line)
    assert said in fault.message


def test_an_axis_that_varies_nothing_is_a_fault():
    """A misspelt axis would make equal blocks; a bad setting stands at its own value."""
    text = "parameters: {busy: 1us}\naxes: {bussy: [1us]}\nsteps: [{host: $busy}]"
    (fault,) = expand(unchecked(text), [("bussy", "1us")]).faults
    assert (fault.code, fault.place.line, fault.place.column) == ("unknown-axis", 2, 15)
    assert "did you mean busy?" in fault.message
    text = "axes: {pool.max_size: [1MiB, 12]}\nsteps: [{host: 1us}]"
    (fault,) = expand(unchecked(text), [("pool.max_size", "12")]).faults
    assert (fault.code, fault.place.line, fault.place.column) == ("unit-missing", 1, 30)


def test_use_before_the_alloc_names_the_alloc():
    """A name that only a later step makes is not called unknown."""
    found = expanded(
        STREAM
        + """
steps:
- {memset: x, stream: A}
- {alloc: x, size: 1MiB, stream: A}
- {free: x, stream: A}
"""
    )
    (fault,) = found.faults
    assert (fault.code, fault.place.line) == ("use-before-alloc", 4)
    assert [(note.place.line, note.message) for note in fault.notes] == [
        (5, "allocated here, later")
    ]
    assert not found.is_complete


def test_faults_of_loop_passes_are_one():
    """A fault that every pass repeats is reported once and counted."""
    found = expanded(
        STREAM
        + """
steps:
- repeat: 500
  steps:
  - {free: x$i, stream: A}
"""
    )
    (fault,) = found.faults
    assert fault.n_passes == 500
    assert fault.problem("f").message == "there is no buffer x0 (and 499 more like it)"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("- {repeat: 1000000, steps: [{host: 1us}, {host: 1us}]}", 4),
        (
            "- repeat: 1000000\n  steps:\n  - repeat: 1000000\n    index: j\n    steps:\n"
            "    - {repeat: 1000000, index: k, steps: [{host: 1us}]}",
            6,
        ),
        # an inner count that depends on the outer index
        ("- repeat: 1000000\n  steps:\n  - {repeat: $i, index: j, steps: [{host: 1us}]}", 4),
        # passes that run nothing are bounded too
        ("- {repeat: 1000000, steps: [" + "{host: 1us, every: 0}," * 5 + "]}", 4),
        ("- {repeat: 600000, steps: [{host: 1us}]}\n- {repeat: 600000, steps: [{host: 1us}]}", 5),
    ],
)
def test_too_many_steps_are_refused_before_they_are_made(steps, line):
    """The product of repeats is bounded by counting, in no time, at a repeat."""
    begin = time.perf_counter()
    found = expanded(f"\nstreams: {{A: }}\nsteps:\n{steps}")
    assert time.perf_counter() - begin < 3
    (fault,) = found.faults
    assert fault.code == "too-many-steps"
    assert fault.place.line == line
    assert not found.steps


def test_every_counts_in_the_bound():
    """A large body that only each n-th pass runs is counted as often as it runs."""
    found = expanded("""
steps:
- repeat: 1000
  steps:
  - {repeat: 1000, index: j, every: 100, steps: [{host: 1us}, {host: 1us, every: 500}]}
""")
    assert not found.faults
    assert len(found.steps) == 10 * 1002


def test_iterations_and_streams_count_in_the_bound():
    """Steps x iterations and steps x streams are bounded as well."""
    found = expanded("iterations: 1000000\nsteps: [{host: 1us}, {host: 1us}, {host: 1us}]")
    assert [(fault.code, fault.place.line) for fault in found.faults] == [("too-many-steps", 1)]
    found = expanded("streams: {s: {count: 128}}\nsteps: [{repeat: 900000, steps: [{host: 1us}]}]")
    assert [(fault.code, fault.place.line) for fault in found.faults] == [("too-many-steps", 1)]
