"""Plans of cases."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.domain import PRESETS, THRESHOLD_MAX, Baseline, Case, OnOom
from poolbench.errors import BadInput
from poolbench.plan.build import build_plan, build_plans
from poolbench.plan.cases import DEFAULT_ROWS, cases, select_rows
from poolbench.plan.check import check
from tests.plan.building import scenario_of

TEXT = """
name: demo
iterations: 3
on_oom: sync_retry
latch_limit: 20ms
pool: {release_threshold: 5MiB}
device: {leave_free: 2GiB}
parameters: {busy: 1us}
axes: {pool.max_size: [none, 64MiB], busy: [1us, 2us]}
streams: {A: , B: }
steps:
- repeat: 3
  steps:
  - {alloc: x$i, size: 1MiB, stream: A}
  - {kernel: spin, duration: $busy, writes: [x$i], stream: A}
  - {free: x$i, stream: A}
"""


def test_plans_of_one_combination_differ_in_their_row_alone():
    """All rows share the steps; only case, threshold and slots are the row's own."""
    scenario = scenario_of(TEXT)
    all_cases = cases(scenario, DEFAULT_ROWS)
    plans = build_plans(scenario, all_cases)
    assert [plan.case for plan in plans] == list(all_cases)
    first = plans[:10]
    assert all(plan.steps is first[0].steps for plan in first)
    assert [bool(plan.slots) for plan in first] == [True] + [False] * 9
    assert plans[10].steps != plans[0].steps
    assert plans == tuple(build_plan(scenario, case) for case in all_cases)


def test_a_plan_says_everything_of_the_head():
    """Settings arrive resolved, as bytes and nanoseconds, and the plan is picklable."""
    scenario = scenario_of(TEXT)
    plan = build_plan(scenario, cases(scenario, DEFAULT_ROWS)[-1])
    assert (plan.n_steps, plan.n_iterations, plan.max_size) == (9, 3, 2**26)
    assert (plan.leave_free, plan.on_oom, plan.latch_limit_ns) == (
        2**31,
        OnOom.SYNC_RETRY,
        2 * 10**7,
    )
    assert plan.steps[1].work.duration_ns == 2000
    assert plan.place(4).line == 15
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize(
    ("row", "unlimited", "limited"),
    [
        ("000", 5 * 2**20, 5 * 2**20),
        ("default", 0, 0),
        ("pytorch", THRESHOLD_MAX, THRESHOLD_MAX),
        ("tensorflow-deterministic", THRESHOLD_MAX, 2**26),
        ("preallocated", 5 * 2**20, 5 * 2**20),
    ],
)
def test_the_release_threshold_of_a_row(row, unlimited, limited):
    """A preset brings its own threshold, or the pool's size; other rows have the scenario's."""
    scenario = scenario_of(TEXT)
    plans = build_plans(scenario, cases(scenario, select_rows([row])))
    assert [plan.release_threshold for plan in plans] == [unlimited, unlimited, limited, limited]


def test_errors_stop_a_plan_and_warnings_do_not():
    """BadInput carries all errors of the combination, its axis values, and the text."""
    text = "axes: {n: [1, 0]}\nparameters: {unused: 1, n: 1}\nstreams: {A: , B: }\nsteps:\n" + (
        "- {repeat: $n, steps: [{alloc: x, size: 1MiB, stream: A}, {free: x, stream: B},"
        " {free: x, stream: A}]}\n"
    )
    scenario = scenario_of(text)
    with pytest.raises(BadInput) as caught:
        build_plan(scenario, cases(scenario, DEFAULT_ROWS)[0])
    assert [p.code for p in caught.value.problems] == ["free-before-alloc-order", "double-free"]
    assert caught.value.problems[0].message.endswith("(with n = 1)")
    assert caught.value.texts == {"test.yaml": text}
    assert build_plan(scenario, cases(scenario, DEFAULT_ROWS)[10]).n_steps == 0
    assert [p.is_warning for p in check(scenario)] == [True, False, False]


def test_the_number_of_problems_is_bounded():
    """A file with a thousand faults is told of a hundred, in order."""
    steps = "".join(f"- {{record: e{n}, stream: nope{n}}}\n" for n in range(1000))
    problems = check(scenario_of(f"streams: {{A: }}\nsteps:\n{steps}"))
    assert len(problems) == 100
    assert [p.place.line for p in problems] == list(range(3, 103))


# --- anything a file of valid models may say ---------------------------------------------------

names = st.sampled_from(["x", "y", "x$i", "k", "h", "$p", "zz"])
on = st.sampled_from(["A", "B", "L", "s$i", "$p", "nope"])
sizes = st.sampled_from(["1MiB", "0", "$size", "$p", "{uniform: [1B, 64MiB]}", "64KiB"])
events = st.sampled_from(["e", "e$i", "f"])


def step(text, *parts):
    return st.tuples(*parts).map(lambda values: text.format(*values))


leaf = st.one_of(
    step("{{alloc: {}, size: {}, stream: {}}}", names, sizes, on),
    step("{{free: {}, stream: {}}}", names, on),
    step("{{kernel: stream, reads: [{}], writes: [{}], stream: {}}}", names, names, on),
    step("{{kernel: own, blocks: 1, arguments: [{}, 3], stream: {}}}", names, on),
    step("{{memcpy: h2d, dst: {}, src: {}, stream: {}}}", names, names, on),
    step("{{memset: {}, size: {}, stream: {}}}", names, sizes, on),
    step("{{record: {}, stream: {}}}", events, on),
    step("{{wait: {}, stream: {}, every: 2}}", events, on),
    step("{{sync: event, event: {}}}", events),
    step("{{sync: stream, stream: {}}}", on),
    step("{{fill: {}, stream: {}}}", names, on),
    step("{{check: {}, stream: {}, when: $yes}}", names, on),
    step("{{hold: {}}}", on),
    step("{{release: {}}}", on),
    step("{{create: {}}}", on),
    step("{{destroy: {}}}", on),
    step("{{trim: {}}}", sizes),
    st.just("{sync: device}"),
    st.just("{host: $p}"),
)
loop = st.tuples(st.sampled_from(["2", "$n", "$p"]), st.lists(leaf, min_size=1, max_size=5)).map(
    lambda parts: f"{{repeat: {parts[0]}, steps: [{', '.join(parts[1])}]}}"
)
HEAD = """
parameters: {p: A, size: 1MiB, n: 2, yes: true}
axes: {n: [0, 2], pool.max_size: [none, 2MiB]}
iterations: 2
streams: {A: , B: {kind: blocking}, L: {kind: legacy_default}, s: {count: 2}}
buffers: {k: {size: 1MiB}, h: {size: 2MiB, memory: pinned}}
kernels: {own: {source: "..."}}
"""
scenarios = st.lists(st.one_of(leaf, loop), min_size=1, max_size=12).map(
    lambda steps: f"{HEAD}steps: [{', '.join(steps)}]\n"
)


@settings(max_examples=300, deadline=None)
@given(text=scenarios)
def test_any_scenario_is_planned_or_refused(text):
    """Whatever the steps say: problems or plans, the same each time, never another exception."""
    scenario = scenario_of(text)
    problems = check(scenario)
    assert problems == check(scenario)
    assert all(p.place.line > 0 and p.message for p in problems)
    found = cases(scenario, (Baseline.PREALLOCATED, PRESETS[0]))
    if all(p.is_warning for p in problems):
        assert build_plans(scenario, found) == build_plans(scenario, found)
    else:
        with pytest.raises(BadInput):
            build_plans(scenario, found)


def test_a_case_of_other_axis_values_is_planned_too():
    """A case is a value of its own: its axis texts count, not those of the file."""
    scenario = scenario_of(TEXT)
    case = Case(scenario="demo", row=Baseline.CUDAMALLOC, axes=(("busy", "9us"),))
    assert build_plan(scenario, case).steps[1].work.duration_ns == 9000
