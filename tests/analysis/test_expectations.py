"""What a scenario expects against hand-made runs: met, not met, and not evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from poolbench.analysis.expectations import Run, evaluate
from poolbench.analysis.findings import find
from poolbench.analysis.outcomes import classify
from poolbench.domain import BackendKind, Status
from poolbench.errors import Place
from poolbench.findings import ExpectationResult
from poolbench.results.environment import Floors
from poolbench.scenario.scenario import Path, Scenario
from poolbench.scenario.schema import HeadModel
from poolbench.trace import LatchOpening
from tests.analysis.hand_made import MIB, US, Recording, plan_of, trace_of

FLOORS = Floors(event_pair_ns=1500)


def scenario_of(*entries: dict[str, Any], **head: Any) -> Scenario:
    """Entry i stands at line 100 * (i + 1), its keys on the lines below it; axis values stand one
    a line at the top."""
    model = HeadModel.model_validate({"expect": list(entries), **head})
    places: dict[Path, Place] = {}
    lines: list[str] = []
    for name, values in model.axes.items():
        places["axes", name] = Place(line=len(lines) + 1, column=1)
        for k, value in enumerate(values):
            lines.append(f"  - {str(value).lower() if isinstance(value, bool) else value}")
            places["axes", name, k] = Place(line=len(lines), column=5)
    for i, entry in enumerate(entries):
        line = 100 * (i + 1)
        places["expect", i] = Place(line=line, column=3)
        for group, inner in entry.items():
            line += 1
            places["expect", i, group] = Place(line=line, column=5)
            for key in inner if isinstance(inner, dict) else ():
                line += 1
                places["expect", i, group, key] = Place(line=line, column=7)
    return Scenario(
        name="hand-made", file="hand-made.yaml", text="\n".join(lines), head=model, steps=(),
        places=places,
    )  # fmt: skip


def hand_over(
    row: str = "001",
    *,
    axes: tuple[tuple[str, str], ...] = (),
    makespan_us: float = 1000.0,
    **settings: Any,
) -> Run:
    """y waits 478.5 us for x's free on a; the pool is sampled once, as `after`."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("kernel", "a", 500),
            ("free", "x", "a"),
            ("alloc", "y", "b", 64 * MIB),
            ("kernel", "b", 500),
            ("free", "y", "b"),
            ("sample", "after"),
        ],
        row=row,
        axes=axes,
        max_size=64 * MIB,
        labels={1: "long", 3: "second"},
        **settings,
    )
    recording = Recording(plan)
    for first in range(0, plan.n_steps * plan.n_iterations, plan.n_steps):
        recording.at(first, 0, 64).pool(first + 2, 64).at(first + 3, 0, 64)
        recording.pool(first + 6, 64, 0)
        at = first * 1000
        for k in range(plan.n_steps):
            recording.host(first + k, at + 10 * k, at + 10 * k + 1)
        recording.device(first + 1, at + 10, at + 510).device(first + 2, at + 510, at + 511)
        recording.device(first + 3, at + 31, at + 511).device(first + 4, at + 511, at + 1011)
    steps = classify(plan, recording.steps, event_floor_ns=FLOORS.event_pair_ns)
    traced = trace_of(plan, steps=steps)
    timed = [trace_of(plan, makespan_us=(makespan_us,) * plan.n_iterations) for _ in range(3)]
    return plan, traced, find(plan, [*timed, traced], floors=FLOORS)


def told(scenario: Scenario, *runs: Run) -> list[list[tuple[int, str, bool, str]]]:
    def plain(one: ExpectationResult) -> tuple[int, str, bool, str]:
        return (one.line, one.claim, one.is_met, one.found)

    return [[plain(one) for one in result.expectations] for result in evaluate(scenario, runs)]


def test_every_claim_is_a_result_at_its_own_line() -> None:
    """Status, outcomes, waits_for, metrics, samples and host_time, with what was found."""
    scenario = scenario_of(
        {
            "where": {"allow_internal_dependencies": True},
            "status": "ok",
            "outcomes": {"x": "grown", "second": ["internal_dependency", "grown"]},
            "waits_for": {"y": "a"},
            "metrics": {"inserted_wait_us_total": "450us..515us", "reserved_high_bytes": "0"},
            "samples": {"after": {"reserved": "64MiB", "used": 0}},
            "host_time": {"long": "< 2us"},
        }
    )
    assert told(scenario, hand_over()) == [
        [
            (103, "status is ok", True, "ok"),
            (105, "x is grown", True, "grown"),
            (106, "second is internal_dependency or grown", True, "internal_dependency"),
            (108, "y waits for a", True, "waited for a"),
            (110, "inserted_wait_us_total in 450us..515us", True, "478.5 us"),
            (111, "reserved_high_bytes is 0", True, "0B"),
            (113, "sample after: reserved is 64MiB", True, "64MiB"),
            (113, "sample after: used is 0", True, "0B"),
            (115, "host time of long < 2us", True, "median 1 us"),
        ]
    ]


@pytest.mark.parametrize(
    ("entry", "claim", "found"),
    [
        ({"status": "out_of_memory"}, "status is out_of_memory", "ok"),
        ({"outcomes": {"*": "grown"}}, "* is grown", "grown (1), internal_dependency (1)"),
        ({"outcomes": {"z?": "grown"}}, "z? is grown", "no allocation z? was made"),
        ({"outcomes": {"long": "grown"}}, "long is grown", "no allocation long was made"),
        ({"waits_for": {"y": "c"}}, "y waits for c", "waited for a"),
        ({"waits_for": {"x": "a"}}, "x waits for a", "waited for no stream"),
        ({"metrics": {"n_grown": 2}}, "n_grown is 2", "1"),
        ({"metrics": {"n_corrupt_bytes": 0}}, "n_corrupt_bytes is 0", "no value (ok)"),
        (
            {"samples": {"after": {"reserved": "< 64MiB"}}},
            "sample after: reserved < 64MiB",
            "64MiB",
        ),
        (
            {"samples": {"before": {"used": 0}}},
            "sample before: used is 0",
            "no sample before was taken",
        ),
        ({"host_time": {"long": ">= 1ms"}}, "host time of long >= 1ms", "median 1 us"),
        ({"host_time": {"l": "< 1ms"}}, "host time of l < 1ms", "no step l was issued"),
        ({"held": {"long": "ran"}}, "long runs while a stream is held", "no latch was closed"),
    ],
)
def test_a_claim_that_does_not_hold_says_what_was_seen(
    entry: dict[str, Any], claim: str, found: str
) -> None:
    """Each kind of claim can fail, matching nothing included."""
    ((result,),) = told(scenario_of(entry), hand_over())
    assert result[1:] == (claim, False, found)


def test_all_iterations_have_to_fit() -> None:
    """An outcome that differs in one iteration is not met."""
    entry = {"outcomes": {"x": "grown"}}
    ((result,),) = told(scenario_of(entry), hand_over(iterations=2))
    assert result[2:] == (False, "grown (1), host_ordered (1)")


# --- where ----------------------------------------------------------------------------------


def picked(where: dict[str, Any], runs: list[Run], **head: Any) -> list[str]:
    """Keys of the cases that an entry with this `where` has a result for; "!" for no case."""
    scenario = scenario_of({"where": where, "status": "ok"}, **head)
    return [
        "!" if one.found == "picks no row" else result.case.key.partition("/")[2]
        for result in evaluate(scenario, runs)
        for one in result.expectations
    ]


ROWS = ("preallocated", "cudamalloc", "000", "001", "010", "110", "111", "default")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ["000", "001", "010", "110", "111", "default"]),
        ({"row": "000"}, ["000"]),
        ({"row": ["preallocated", "111"]}, ["preallocated", "111"]),
        ({"allow_opportunistic": True}, ["010", "110", "111", "default"]),
        ({"allow_opportunistic": [True, False], "row": "000"}, ["000"]),
        (
            {"follow_event_dependencies": False, "allow_internal_dependencies": False},
            ["000", "010"],
        ),
        ({"backend": "cuda", "row": "111"}, ["111"]),
        ({"release_threshold": "max"}, ["000", "001", "010", "110", "111", "default"]),
        # left out of this run, or for another backend: not evaluated
        ({"row": "101"}, []),
        ({"row": "rmm"}, []),
        ({"backend": "model"}, []),
        # nothing that any run could show
        ({"row": "11"}, ["!"]),
        ({"row": "preallocated", "allow_opportunistic": True}, ["!"]),
        ({"backend": "gpu"}, ["!"]),
        ({"depth": 3}, ["!"]),
    ],
)
def test_where_picks_rows(where: dict[str, Any], expected: list[str]) -> None:
    """Rows by name and by attribute; baselines only by name; a hole in the file is a result."""
    assert picked(where, [hand_over(row) for row in ROWS]) == expected


def axis_runs(*values: str) -> list[Run]:
    return [hand_over("111", axes=(("pool.max_size", value),)) for value in values]


def test_axis_values_are_compared_as_written() -> None:
    """Lists mean one of; a value that the file's axis does not have is a fault of the file."""
    runs = axis_runs("none", "64MiB", "128MiB")
    axes = {"pool.max_size": ["none", "64MiB", "128MiB"]}
    assert len(picked({"pool.max_size": "64MiB"}, runs, axes=axes)) == 1
    assert len(picked({"pool.max_size": ["none", "128MiB"]}, runs, axes=axes)) == 2
    assert picked({"pool.max_size": "65536KiB"}, runs, axes=axes) == ["!"]


def test_an_axis_changed_on_the_command_line_leaves_entries_out() -> None:
    """Values that the user replaced are not part of the run: nothing to evaluate."""
    scenario = scenario_of(
        {"where": {"pool.max_size": "64MiB"}, "status": "ok"},
        axes={"pool.max_size": ["none", "64MiB"]},
    )
    head = scenario.head.model_copy(update={"axes": {"pool.max_size": ("1GiB", "2GiB")}})
    (first, second) = evaluate(replace(scenario, head=head), axis_runs("1GiB", "2GiB"))
    assert first.expectations == second.expectations == ()


def test_an_axis_set_to_one_value_still_counts() -> None:
    """`--set` makes an axis a parameter or a setting; `where` still sees its value."""
    scenario = scenario_of(
        {"where": {"pool.max_size": "64MiB"}, "status": "ok"},
        {"where": {"n": 2}, "status": "ok"},
        {"where": {"n": 3}, "status": "ok"},
        axes={"pool.max_size": ["none", "64MiB"], "n": [1, 2]},
    )
    pool = scenario.head.pool.model_copy(update={"max_size": 64 * MIB})
    head = scenario.head.model_copy(update={"axes": {}, "pool": pool, "parameters": {"n": "2"}})
    ((first, second),) = told(replace(scenario, head=head), hand_over("111"))
    assert (first[0], second[0]) == (103, 203)


# --- ratios ---------------------------------------------------------------------------------


def ratio(over: dict[str, Any], value: str | float) -> dict[str, Any]:
    return {"ratios": {"makespan_us_median": {"over": over, "value": value}}}


def test_a_ratio_is_over_the_same_axis_values() -> None:
    """Axes that `over` does not name are equal, and so is the row where it names none."""
    runs = [
        hand_over(row, axes=(("n", n),), makespan_us=us)
        for n, row, us in (
            ("1", "preallocated", 500.0),
            ("1", "111", 1000.0),
            ("2", "preallocated", 400.0),
            ("2", "111", 1200.0),
        )
    ]
    results = told(scenario_of(ratio({"row": "preallocated"}, "1.9..2.1")), *runs)
    assert [found[0][2:] for found in results if found] == [
        (True, "2 over preallocated (1000 us / 500 us)"),
        (False, "3 over preallocated (1200 us / 400 us)"),
    ]
    entry = {"where": {"n": 2}, **ratio({"n": 1}, ">= 1.2")}
    assert [found[0][2:] for found in told(scenario_of(entry), *runs) if found] == [
        (True, "1.2 over 111 (1200 us / 1000 us)")
    ]


def test_a_ratio_over_an_attribute_keeps_the_others() -> None:
    """`over` with one attribute picks the row that differs in it alone."""
    rows = (("110", 500.0), ("111", 1000.0), ("010", 250.0), ("000", 100.0))
    runs = [hand_over(row, makespan_us=us) for row, us in rows]
    entry = {"where": {"row": "111"}, **ratio({"allow_internal_dependencies": False}, 2)}
    results = told(scenario_of(entry), *runs)
    assert [found[0][2:] for found in results if found] == [(True, "2 over 110 (1000 us / 500 us)")]


def test_a_ratio_without_the_other_row() -> None:
    """Not evaluated where the other row was left out, not met where it has no value or cannot
    exist."""
    entry = ratio({"row": "preallocated"}, 1)
    assert told(scenario_of(entry), hand_over("111")) == [[]]
    plan, _, result = hand_over("preallocated")
    without = (plan, None, replace(result, status=Status.TIMEOUT, findings=None))
    results = told(scenario_of(entry), without, hand_over("111"))
    assert results[1][0][2:] == (False, "preallocated has no value (timeout)")
    ((claim,),) = told(scenario_of(ratio({"row": "ideal"}, 1)), hand_over("111"))
    assert claim[2:] == (False, "picks no row to compare with")


# --- runs without a result ------------------------------------------------------------------


def test_a_case_without_a_result_fails_unless_it_is_expected_to() -> None:
    """A timeout fails every claim of an entry, but the one that expects it."""
    plan, traced, result = hand_over()
    late = replace(result, status=Status.TIMEOUT, reason="after 10 s")
    scenario = scenario_of(
        {"status": "timeout"}, {"metrics": {"n_grown": 1}, "outcomes": {"x": "grown"}}
    )
    ((first, *others),) = told(scenario, (plan, traced, late))
    assert first[2:] == (True, "timeout: after 10 s")
    assert {one[2:] for one in others} == {(False, "timeout: after 10 s")}
    assert len(others) == 2


def test_without_a_traced_run_steps_prove_nothing() -> None:
    """Claims about steps are not met; claims about figures still can be."""
    plan, _, result = hand_over()
    scenario = scenario_of({"metrics": {"repeats": 3}, "outcomes": {"x": "grown"}})
    ((outcome, metric),) = [
        sorted(found, key=lambda one: one[2]) for found in told(scenario, (plan, None, result))
    ]
    assert outcome[2:] == (False, "there is no traced run")
    assert metric[2] is True


# --- latches --------------------------------------------------------------------------------


def held_run(*, by_watchdog: bool = False, opened_us: float = 1000.0) -> Run:
    """a is held from 5 us on; `beside` and `call` are issued on b at 10 and 20 us, `after` at
    1100 us."""
    plan = plan_of(
        [
            ("hold", "a"),
            ("kernel", "b", 100),
            ("alloc", "x", "b", MIB),
            ("kernel", "a", 10),
            ("release", "a"),
            ("kernel", "b", 10),
        ],
        labels={1: "beside", 2: "call", 3: "behind", 5: "after"},
    )
    recording = Recording(plan).at(2, 0, 32).device(1, 12, 112).device(2, 112, 114)
    recording.device(3, 1012, 1022).host(4, 999, 1001).host(5, 1100, 1101).device(5, 1105, 1115)
    opening = LatchOpening(
        stream=0,
        row=0,
        closed_ns=5 * US,
        opened_ns=round(opened_us * US),
        by_watchdog=by_watchdog,
    )
    traced = trace_of(plan, steps=recording.steps, latches=(opening,))
    return plan, traced, find(plan, [traced], floors=FLOORS)


@pytest.mark.parametrize(
    ("label", "claims"),
    [
        ("beside", {"ran": True, "returned": True, "waited": False}),
        ("call", {"ran": True, "returned": True, "waited": False}),
        ("behind", {"ran": False, "returned": True, "waited": True}),
        ("after", {"ran": False, "returned": False, "waited": False}),
    ],
)
def test_what_a_step_did_while_a_stream_was_held(label: str, claims: dict[str, bool]) -> None:
    """Completed before the opening: ran, returned; begun after it: waited; issued later: none."""
    for claim, is_met in claims.items():
        ((result,),) = told(scenario_of({"held": {label: claim}}), held_run())
        assert (claim, result[2]) == (claim, is_met)


def test_a_call_that_the_watchdog_had_to_free_has_waited() -> None:
    """The host call spans the opening: it did not return by itself."""
    plan, traced, result = held_run(by_watchdog=True)
    assert traced is not None
    assert traced.steps is not None
    traced.steps.host_end_ns[2] = 1010 * US
    traced.steps.device_end_ns[2] = 1005 * US
    run = (plan, traced, result)
    found = {
        claim: told(scenario_of({"held": {"call": claim}}), run)[0][0][2:]
        for claim in ("ran", "returned", "waited")
    }
    seen = "did not return before the watchdog opened the latch and did not run to its end"
    assert found == {"ran": (False, seen), "returned": (False, seen), "waited": (True, seen)}


def test_an_allocation_that_ends_with_the_opening_has_waited() -> None:
    """The event before an allocation passes at once; its end is what waits."""
    plan, traced, result = held_run()
    assert traced is not None
    assert traced.steps is not None
    traced.steps.device_end_ns[2] = 1014 * US
    ((one,),) = told(scenario_of({"held": {"call": "waited"}}), (plan, traced, result))
    assert one[2:] == (True, "returned and did not run to its end")


def test_with_two_streams_held_the_first_opening_counts() -> None:
    """What was complete only after the first of two openings may depend on that stream."""
    plan, traced, result = held_run()
    assert traced is not None
    early = LatchOpening(stream=2, row=3, closed_ns=6 * US, opened_ns=50 * US, by_watchdog=False)
    both = replace(traced, latches=(*traced.latches, early))
    ((one,),) = told(scenario_of({"held": {"beside": "ran"}}), (plan, both, result))
    assert one[2] is False


def test_the_model_is_a_backend_too() -> None:
    """`backend` in `where` is who made the traces."""
    plan, traced, result = hand_over()
    assert traced is not None
    predicted = (plan, replace(traced, backend=BackendKind.MODEL), result)
    assert picked({"backend": "model"}, [predicted]) == ["001"]
    assert picked({"backend": "cuda"}, [predicted]) == []
