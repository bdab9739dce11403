"""Kernels: keys, arguments, grids."""

from __future__ import annotations

import pytest

from poolbench.plan import steps as s
from poolbench.plan.expand import expand
from tests.plan.building import expanded, unchecked

HEAD = """
streams: {A: }
parameters: {n: 7, f: 0.5, which: b}
buffers: {a: {size: 1MiB}, b: {size: 1MiB}, pin: {size: 1MiB, memory: pinned}}
kernels: {mine: {source: "...", predicted: 5us}}
steps:
"""


def launch_of(step):
    found = expanded(f"{HEAD}- {step}\n")
    assert not found.faults, found.faults
    (launch,) = found.steps
    return launch


def test_the_default_grids():
    """A spin takes one block of one thread; stream and compute take the whole GPU."""
    spin = launch_of("{kernel: spin, duration: 5us, stream: A}")
    assert (spin.work, spin.grid) == (s.Spin(duration_ns=5000), s.Grid(blocks=1, threads=1))
    touch = launch_of("{kernel: stream, reads: [a], writes: [b], stream: A}")
    assert touch.work == s.Touch(reads=(0,), writes=(1,))
    assert touch.grid == s.Grid(share=1.0, threads=256)
    compute = launch_of("{kernel: compute, flops: 1000000, stream: A}")
    assert (compute.work, compute.grid.share) == (s.Compute(flops=10**6), 1.0)


def test_given_grids():
    """Share, blocks and threads are taken as given."""
    assert launch_of("{kernel: spin, duration: 1us, share: 25%, stream: A}").grid == s.Grid(
        share=0.25, threads=256
    )
    assert launch_of("{kernel: spin, duration: 1us, blocks: 4, stream: A}").grid == s.Grid(
        blocks=4, threads=256
    )
    assert launch_of(
        "{kernel: compute, flops: 1, blocks: 4, threads: 32, stream: A}"
    ).grid == s.Grid(blocks=4, threads=32)


def test_arguments_of_a_kernel_of_ones_own():
    """Names are buffers, numbers typed scalars; what reads does not name counts as written."""
    launch = launch_of(
        "{kernel: mine, blocks: $n, stream: A, reads: [a],"
        " arguments: [a, $which, 3, 2.5, {u64: 18446744073709551615}, {f64: 1}, $n, $f, {i32: -1}]}"
    )
    assert launch.work == s.Custom(
        kernel=0,
        arguments=(
            0, 1, ("i64", 3), ("f32", 2.5), ("u64", 2**64 - 1), ("f64", 1.0), ("i64", 7),
            ("f32", 0.5), ("i32", -1),
        ),
    )  # fmt: skip
    assert launch.grid == s.Grid(blocks=7, threads=256)
    assert (launch.buffers, launch.writes) == ((0, 1), (1,))


def test_declared_uses_of_a_spin():
    """A spin only claims to use its buffers; the claim is kept for the checks."""
    launch = launch_of("{kernel: spin, duration: 1us, reads: [a], writes: [b, b], stream: A}")
    assert (launch.buffers, launch.writes) == ((0, 1), (1,))


def test_the_source_of_a_kernel_reaches_the_plan():
    """Entry defaults to the name; the model's assumption is a duration."""
    (kernel,) = expanded(f"{HEAD}- {{host: 1us}}\n").kernels
    assert (kernel.name, kernel.entry, kernel.text) == ("mine", "mine", "...")
    assert kernel.predicted_ns == 5000


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ("{kernel: spinn, stream: A}", "unknown-kernel", "did you mean spin?"),
        ("{kernel: spin, stream: A}", "missing-key", "kernel spin needs the key duration"),
        ("{kernel: compute, stream: A}", "missing-key", "needs the key flops"),
        ("{kernel: stream, stream: A}", "missing-key", "needs the key reads or writes"),
        ("{kernel: mine, stream: A}", "missing-key", "needs the key blocks"),
        ("{kernel: spin, duration: 1us, flops: 1, stream: A}", "key-not-used", "flops"),
        ("{kernel: compute, flops: 1, arguments: [1], stream: A}", "key-not-used", "arguments"),
        (
            "{kernel: spin, duration: 1us, share: 0.5, blocks: 1, stream: A}",
            "bad-grid", "combined with blocks",
        ),
        ("{kernel: mine, share: 0.5, blocks: 1, stream: A}", "bad-grid", "combined with blocks"),
        ("{kernel: mine, share: 0.5, stream: A}", "bad-grid", "a kernel of your own"),
        ("{kernel: spin, duration: 1us, threads: 1025, stream: A}", "out-of-range", "1 to 1024"),
        ("{kernel: spin, duration: 1us, blocks: 0, stream: A}", "out-of-range", "blocks must be 1"),
        ("{kernel: spin, duration: 1us, reads: [pin], stream: A}", "wrong-memory", "pin is pinned"),
        ("{kernel: mine, blocks: 1, arguments: [c], stream: A}", "unknown-buffer", "no buffer c"),
        ("{kernel: mine, blocks: 1, arguments: [true], stream: A}", "bad-argument", "true"),
        ("{kernel: mine, blocks: 1, arguments: [{u32: -1}], stream: A}", "bad-argument", "fit u32"),
        (
            "{kernel: mine, blocks: 1, arguments: [{i32: 1.5}], stream: A}",
            "bad-argument", "not a whole number",
        ),
        (
            "{kernel: mine, blocks: 1, arguments: [{f16: 1}], stream: A}",
            "bad-argument", "unknown type 'f16'; did you mean f64?",
        ),
        (
            "{kernel: mine, blocks: 1, arguments: [{f32: 1.0e+39}], stream: A}",
            "bad-argument", "fit f32",
        ),
        (
            "{kernel: mine, blocks: 1, arguments: [{f32: 1, f64: 1}], stream: A}",
            "bad-argument", "one type to one value",
        ),
    ],
)  # fmt: skip
def test_faults_of_a_kernel(step, code, said):
    """A kernel with the wrong keys, grid, buffers or arguments is refused at its line."""
    faults = expand(unchecked(f"{HEAD}- {step}\n"), ()).faults
    fault = next(fault for fault in faults if fault.code == code)
    assert fault.place.line == 7
    assert said in fault.message
