"""Values taken by chance."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from poolbench.plan.draws import draw
from poolbench.plan.steps import Alloc, HostWork
from poolbench.scenario.values import Draw, DrawKind
from tests.plan.building import expanded

TEXT = """
seed: {seed}
parameters: {{rounds: 2, busy: 1us}}
streams: {{A: }}
steps:
{before}
- repeat: $rounds
  steps:
  - {{host: $busy}}
  - repeat: 3
    index: k
    steps:
    - {{alloc: x$i.$k, size: {{uniform: [1MiB, 64MiB]}}, stream: A}}
    - {{free: x$i.$k, stream: A}}
"""


def sizes(axes=(), *, seed=1, before=""):
    found = expanded(TEXT.format(seed=seed, before=before), axes)
    assert not found.faults
    return [step.size for step in found.steps if isinstance(step, Alloc)]


def test_draws_do_not_depend_on_axes_or_other_steps():
    """The same pass of the same step draws the same, whatever is varied or added around it."""
    plain = sizes()
    assert len(set(plain)) == 6
    assert sizes([("busy", "9us")]) == plain
    assert sizes([("rounds", "5")])[:6] == plain
    assert sizes(before="- {host: {choice: [1us, 2us]}}") == plain
    assert sizes(seed=2) != plain


def test_two_steps_with_the_same_words_draw_apart():
    """Equal steps are told apart by their number."""
    found = expanded("steps:\n" + "- {host: {uniform: [1ns, 1s]}}\n" * 20)
    drawn = [step.duration_ns for step in found.steps if isinstance(step, HostWork)]
    assert len(set(drawn)) == 20


def test_cycle_goes_by_the_innermost_index():
    """`cycle` takes its items in turn, from the first in every pass of the outer loop."""
    found = expanded("""
steps:
- repeat: 2
  steps:
  - {repeat: 4, index: k, steps: [{host: {cycle: [1ns, 2ns, 3ns]}}]}
- {host: {cycle: [7ns, 8ns]}}
""")
    assert [step.duration_ns for step in found.steps] == [1, 2, 3, 1, 1, 2, 3, 1, 7]


ranges = st.tuples(st.integers(1, 2**50), st.integers(1, 2**50)).map(sorted).map(tuple)


@given(
    items=ranges,
    kind=st.sampled_from([DrawKind.UNIFORM, DrawKind.LOG_UNIFORM, DrawKind.CHOICE]),
    seed=st.integers(0, 2**63 - 1),
    indices=st.lists(st.integers(0, 10**6), max_size=3).map(tuple),
)
def test_a_draw_stays_in_its_range(items, kind, seed, indices):
    """Whatever the seed, a draw is one of the values that the file allows, and repeatable."""
    what = Draw(kind=kind, items=items)
    drawn = draw(what, seed=seed, identity="x", indices=indices)
    assert items[0] <= drawn <= items[1]
    assert kind is not DrawKind.CHOICE or drawn in items
    assert drawn == draw(what, seed=seed, identity="x", indices=indices)


def spread(kind, items, n=4000):
    what = Draw(kind=kind, items=items)
    return [draw(what, seed=3, identity="x", indices=(i,)) for i in range(n)]


def test_draws_are_spread_as_their_kind_says():
    """Uniform halves its range evenly, log_uniform its octaves, choice its items."""
    uniform = spread(DrawKind.UNIFORM, (0, 99))
    assert set(uniform) == set(range(100))
    assert 0.45 < sum(value < 50 for value in uniform) / len(uniform) < 0.55
    octaves = Counter(value.bit_length() for value in spread(DrawKind.LOG_UNIFORM, (1, 2**16 - 1)))
    assert all(150 < octaves[bits] < 350 for bits in range(3, 17))
    chosen = Counter(spread(DrawKind.CHOICE, (5, 6, 7, 8)))
    assert all(900 < chosen[item] < 1100 for item in (5, 6, 7, 8))
