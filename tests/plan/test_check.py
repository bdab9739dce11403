"""Faults of several combinations of axis values, told once and with what they need."""

from __future__ import annotations

import pytest

from poolbench.plan.check import check
from tests.plan.building import scenario_of

TEXT = """
parameters: {{n: 1, size: 1MiB, busy: 1us}}
axes: {{size: [1MiB, 2MiB, 4MiB, 8MiB, 16MiB], busy: [1us, 2us], n: [1, 2]}}
streams: {{a: , b: }}
pool: {{max_size: {most}}}
steps:
- repeat: $n
  steps:
  - {{alloc: x$i, size: $size, stream: a}}
  - {{kernel: spin, duration: $busy, stream: a, writes: [x$i]}}
  - {{free: x$i, stream: a}}
{end}
"""


def only(**parts):
    (problem,) = check(scenario_of(TEXT.format(**{"most": "none", "end": "", **parts})))
    return problem


@pytest.mark.parametrize(
    ("most", "said"),
    [
        ("8MiB", "(with size = 16MiB)"),
        ("4MiB", "(with size = 8MiB or 16MiB)"),
        ("1MiB", "(with size = 2MiB or 4MiB or 8MiB ...)"),
    ],
)
def test_a_fault_names_only_the_axes_that_it_needs(most, said):
    """The values of an axis are told where some of them are free of the fault."""
    assert only(most=most).message.endswith(f"in the pool {said}")


def test_a_fault_that_needs_two_axes_names_both():
    """Conditions of several axes come together."""
    end = "- {record: e, stream: b, when: $late}\n"
    text = TEXT.format(most="none", end=end).replace("axes: {", "axes: {late: [true, false], ")
    text = text.replace("parameters: {", "parameters: {late: true, ")
    text += "- {free: x1, stream: a, when: $late}\n"
    assert [p.message for p in check(scenario_of(text))] == [
        "x1 is freed twice (with late = true, n = 2)",
        "there is no buffer x1; known: x0 (with late = true, n = 1)",
    ]


def test_a_fault_everywhere_names_no_axis():
    """What every combination has depends on none; the order of a broken one counts for nothing."""
    assert only(end="- {free: x0, stream: a}").message == "x0 is freed twice"
    text = TEXT.format(most="none", end="- {free: x0, stream: a}\n- {free: x1, stream: a}")
    assert {(p.code, p.message) for p in check(scenario_of(text))} == {
        ("unknown-buffer", "there is no buffer x1; known: x0 (with n = 1)"),
        ("double-free", "x0 is freed twice"),
        ("double-free", "x1 is freed twice"),
    }
