"""`--set` and `--axis`."""

from __future__ import annotations

import pytest

from poolbench.domain import Issue, OnOom
from poolbench.errors import BadUsage
from poolbench.plan.expand import expand
from poolbench.plan.settings import with_settings
from poolbench.plan.steps import Launch
from tests.plan.building import scenario_of

TEXT = """
parameters: {busy: 500us, n: 2}
axes: {busy: [100us, 200us], pool.max_size: [none, 64MiB]}
streams: {s: }
steps:
- repeat: $n
  steps:
  - {kernel: spin, duration: $busy, stream: s}
"""


def durations(scenario, axes=()):
    steps = expand(scenario, axes).steps
    return [step.work.duration_ns for step in steps if isinstance(step, Launch)]


def test_a_set_axis_becomes_one_value():
    """`--set` of an axis leaves one value and no axis of that name."""
    scenario = with_settings(scenario_of(TEXT), sets={"busy": "7us"}, axes={})
    assert list(scenario.head.axes) == ["pool.max_size"]
    assert durations(scenario) == [7000, 7000]


def test_set_of_a_count_is_a_whole_number():
    """A text from the command line is parsed by the place that uses it."""
    scenario = with_settings(scenario_of(TEXT), sets={"n": "3"}, axes={})
    assert durations(scenario, [("busy", "1us")]) == [1000] * 3


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("pool.max_size", "64MiB", "max_size", 2**26),
        ("pool.max_size", "none", "max_size", 0),
        ("pool.release_threshold", "max", "release_threshold", 2**64 - 1),
        ("pool.prime", "1MiB", "prime", 2**20),
        ("device.leave_free", "1GiB", "leave_free", 2**30),
        ("on_oom", "sync_retry", "on_oom", OnOom.SYNC_RETRY),
        ("issue", "ahead", "issue", Issue.AHEAD),
        ("pace", "5us", "pace_ns", 5000),
        ("iterations", "4", "n_iterations", 4),
    ],
)
def test_every_setting_can_be_set_and_be_an_axis(name, text, field, value):
    """Each name of AXIS_SETTINGS reaches the plan, through `--set` and as an axis value."""
    scenario = scenario_of("steps: [{host: 1us}]\n")
    fixed = with_settings(scenario, sets={name: text}, axes={})
    assert getattr(expand(fixed, ()).settings, field) == value
    varied = with_settings(scenario, sets={}, axes={name: (text,)})
    assert varied.head.axes == {name: (text,)}
    assert getattr(expand(varied, [(name, text)]).settings, field) == value


def test_a_new_axis_comes_last_and_an_old_one_keeps_its_place():
    """`--axis` replaces values in place, and adds after the file's axes."""
    scenario = with_settings(
        scenario_of(TEXT), sets={}, axes={"issue": ("live", "ahead"), "busy": ("1us",)}
    )
    assert list(scenario.head.axes.items()) == [
        ("busy", ("1us",)),
        ("pool.max_size", ("none", "64MiB")),
        ("issue", ("live", "ahead")),
    ]


@pytest.mark.parametrize(
    ("sets", "axes", "said"),
    [
        ({"bussy": "1us"}, {}, "did you mean busy?"),
        ({}, {"pool.maxsize": ("1MiB",)}, "did you mean pool.max_size?"),
        ({"pool.max_size": "64"}, {}, "--set pool.max_size=64: 64 has no unit"),
        ({"iterations": "0"}, {}, "--set iterations=0: there must be at least one iteration"),
        ({"iterations": "x"}, {}, "--set iterations=x: expected a whole number"),
        ({}, {"on_oom": ("fail", "retry")}, "--axis on_oom=retry: 'retry' is not one of fail"),
        ({}, {"busy": ()}, "--axis busy: no values"),
        ({}, {"busy": ("1us", "1us")}, "--axis busy: 1us is there twice"),
        ({"busy": ""}, {}, "the value is missing"),
        ({"busy": "9" * 300}, {}, "longer than 200"),
        ({"busy": "1us"}, {"busy": ("1us", "2us")}, "both --set and --axis"),
    ],
)
def test_a_wrong_option_is_named(sets, axes, said):
    """A fault of an option is bad usage that says which option and why."""
    with pytest.raises(BadUsage) as caught:
        with_settings(scenario_of(TEXT), sets=sets, axes=axes)
    assert said in caught.value.message


def test_a_parameter_with_a_bad_text_is_a_fault_where_it_is_used():
    """The type of a parameter is known only at its use, and the fault is there."""
    scenario = with_settings(scenario_of(TEXT), sets={"busy": "500"}, axes={})
    (fault,) = expand(scenario, ()).faults
    assert (fault.place.line, fault.place.column, fault.code) == (8, 30, "unit-missing")
    assert fault.message.startswith("$busy is 500: 500 has no unit")
    assert fault.n_passes == 2
