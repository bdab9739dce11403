"""Every figure of a case, from hand-made traces with known answers."""

from __future__ import annotations

from dataclasses import fields

import pytest

from poolbench.analysis.findings import count_outcomes, find
from poolbench.analysis.outcomes import classify
from poolbench.domain import OnOom, Outcome, Status
from poolbench.findings import Failure, Findings, InsertedWait
from poolbench.plan.plan import Plan
from poolbench.results.environment import Floors
from poolbench.trace import LatchOpening, Trace
from tests.analysis.hand_made import MIB, US, Recording, plan_of, trace_of

FLOORS = Floors(event_pair_ns=1500, clock_error_ns=200, host_call_ns=600)

STEPS: list[tuple[object, ...]] = [
    ("alloc", "x", "a", 64 * MIB),  # 0
    ("kernel", "a", 500),  # 1
    ("free", "x", "a"),  # 2
    ("alloc", "y", "b", 64 * MIB),  # 3
    ("memset", "m", "b"),  # 4
    ("memcpy", "m", "b"),  # 5
    ("fill", "y", "b"),  # 6
    ("check", "y", "b"),  # 7
    ("free", "y", "b"),  # 8
    ("sync", "a"),  # 9
    ("sync", "device"),  # 10
]


def recorded(plan: Plan) -> Recording:
    """y waits for x's free: 480 us of event time with a floor of 1.5."""
    recording = Recording(plan).at(0, 0, 64).pool(2, 64).at(3, 0, 64).pool(8, 64)
    recording.host(0, 0, 74).host(1, 74, 80).host(2, 80, 82).host(3, 82, 95).host(8, 96, 100)
    recording.device(0, 74, 76).device(1, 80, 580).device(2, 580, 581)
    recording.device(3, 100, 581.5).device(4, 590, 600).device(5, 600, 630).device(6, 630, 640)
    recording.device(7, 640, 660).device(8, 660, 661)
    recording.host(9, 110, 610).host(10, 620, 720)
    return recording


def traced(plan: Plan, recording: Recording, **fields: object) -> Trace:
    steps = classify(plan, recording.steps, event_floor_ns=FLOORS.event_pair_ns)
    return trace_of(plan, steps=steps, **fields)  # type: ignore[arg-type]


def whole_case() -> tuple[Plan, list[Trace]]:
    plan = plan_of(STEPS, row="001", max_size=64 * MIB)
    timed = [
        trace_of(
            plan,
            repetition=k + 1,
            makespan_us=(us,),
            host_us=(us / 2,),
            reserved_high=64 * MIB,
            used_high=(60 + k) * MIB,
            n_corrupt={7: 0},
        )
        for k, us in enumerate((600.0, 640.0, 610.0, 620.0))
    ]
    opening = LatchOpening(stream=0, row=0, closed_ns=0, opened_ns=5, by_watchdog=True)
    last = traced(
        plan,
        recorded(plan),
        makespan_us=(738.0,),
        reserved_high=64 * MIB,
        used_high=64 * MIB,
        n_corrupt={7: 0},
        latches=(opening, opening),
    )
    return plan, [*timed, last]


def test_every_field_of_findings() -> None:
    """Each figure of a plain case is what it is by hand."""
    plan, traces = whole_case()
    result = find(plan, traces, floors=FLOORS)
    assert result.status is Status.OK
    assert result.reason == ""
    assert result.failure is None
    assert result.release_threshold == 2**64 - 1
    expected = {
        "repeats": 4,
        "makespan_us_median": 615.0,
        "makespan_us_min": 600.0,
        "makespan_us_iqr": 17.5,
        "makespan_cold_us_median": None,
        "host_us_median": 307.5,
        "alloc_host_us_median": 43.5,
        "alloc_host_us_max": 74.0,
        "free_host_us_median": 3.0,
        "sync_host_us_median": 300.0,
        "sync_host_us_max": 500.0,
        "n_allocs": 2,
        "n_inserted_waits": 1,
        "inserted_wait_us_total": 480.0,
        "n_same_stream": 0,
        "n_host_ordered": 0,
        "n_event_ordered": 0,
        "n_opportunistic": 0,
        "n_slack": 0,
        "n_remapped": 0,
        "n_grown": 1,
        "n_internal_dependency": 1,
        "n_out_of_memory": 0,
        "reserved_high_bytes": 64 * MIB,
        "used_high_bytes": 64 * MIB,
        "overlap": pytest.approx(570 / 738),
        "tracing_ratio": pytest.approx(738 / 615),
        "n_latch_timeouts": 2,
        "n_corrupt_bytes": 0,
        "asked_high_bytes": 64 * MIB,
        "graph_reserved_high_bytes": None,
        "graph_used_high_bytes": None,
    }
    findings = result.findings
    assert findings is not None
    assert findings.lost_overlap_us is None or findings.lost_overlap_us >= 0
    of_path = {name for name in (field.name for field in fields(Findings)) if "path_" in name}
    assert set(expected) | of_path | {"lost_overlap_us"} == {
        field.name for field in fields(Findings)
    }
    assert sum(getattr(findings, name) for name in of_path) == pytest.approx(738.0)
    assert {name: getattr(findings, name) for name in expected} == expected


def test_a_wait_says_what_it_waited_for() -> None:
    """The allocation, the free, both lines, both streams, and the event time less the floor."""
    plan, traces = whole_case()
    assert find(plan, traces, floors=FLOORS).waits == (
        InsertedWait(
            allocation="y",
            line=13,
            iteration=0,
            stream="b",
            free_of="x",
            free_line=12,
            free_stream="a",
            wait_us=480.0,
            on_path_us=480.0,
        ),
    )


def test_a_wait_is_never_negative() -> None:
    """An event time below the floor is no wait at all."""
    plan = plan_of(STEPS, row="001", max_size=64 * MIB)
    recording = recorded(plan).device(3, 100, 101)
    result = find(plan, [traced(plan, recording)], floors=FLOORS)
    assert [wait.wait_us for wait in result.waits] == [0.0]


def test_the_first_iteration_is_reported_apart() -> None:
    """Makespans, host times and overlap are of the iterations after the first."""
    plan = plan_of([("kernel", "a", 10)], iterations=3)
    timed = [
        trace_of(plan, makespan_us=(900.0, 100.0, 110.0), host_us=(70.0, 7.0, 8.0)),
        trace_of(plan, makespan_us=(800.0, 120.0, 130.0), host_us=(70.0, 9.0, 10.0)),
    ]
    recording = Recording(plan).device(0, 0, 500).device(1, 600, 650).device(2, 700, 760)
    last = traced(plan, recording, makespan_us=(999.0, 100.0, 120.0))
    findings = find(plan, [*timed, last], floors=FLOORS).findings
    assert findings is not None
    assert findings.makespan_us_median == 115.0
    assert findings.makespan_us_min == 100.0
    assert findings.makespan_cold_us_median == 850.0
    assert findings.host_us_median == 8.5
    assert findings.overlap == pytest.approx(110 / 220)
    assert findings.tracing_ratio == pytest.approx(110 / 115)
    assert findings.n_corrupt_bytes is None


def test_baselines_have_no_pool() -> None:
    """No reserved and used bytes, no threshold; the ideal makes no allocation calls."""
    for row, n_allocs in (("preallocated", 0), ("cudamalloc", 2)):
        plan = plan_of(STEPS, row=row)
        result = find(plan, [traced(plan, recorded(plan))], floors=FLOORS)
        assert result.release_threshold is None
        assert result.findings is not None
        assert result.findings.reserved_high_bytes is None
        assert result.findings.used_high_bytes is None
        assert result.findings.n_allocs == n_allocs
        assert (result.findings.alloc_host_us_median is None) == (n_allocs == 0)


def failing(plan: Plan) -> Recording:
    recording = recorded(plan).failed(3).never_issued_from(4)
    recording.steps.address[3] = -1
    recording.steps.device_begin_ns[3] = recording.steps.device_end_ns[3] = -1
    return recording.pool(3, 64)


def test_out_of_memory_names_the_allocation_and_the_pool() -> None:
    """The failure is the traced run's; makespans of failed runs are no makespans."""
    plan = plan_of(STEPS, row="000", max_size=64 * MIB)
    failed = {
        "status": Status.OUT_OF_MEMORY,
        "failed_row": 3,
        "n_out_of_memory": 1,
        "reserved_end": 64 * MIB,
    }
    traces = [trace_of(plan, **failed) for _ in range(3)]  # type: ignore[arg-type]
    result = find(plan, [*traces, traced(plan, failing(plan), **failed)], floors=FLOORS)
    assert result.status is Status.OUT_OF_MEMORY
    assert result.reason == "y (line 13): asked 64MiB, reserved 64MiB, used 0"
    assert result.failure == Failure(
        allocation="y", line=13, iteration=0, asked=64 * MIB, reserved=64 * MIB, used=0
    )
    findings = result.findings
    assert findings is not None
    assert findings.repeats == 0
    assert findings.makespan_us_median is None
    assert findings.overlap is None
    assert (findings.n_allocs, findings.n_grown, findings.n_out_of_memory) == (2, 1, 1)
    assert findings.n_latch_timeouts == 0


def test_repetitions_that_disagree_are_said_to() -> None:
    """One failed run of four is enough not to be ok, and the reason counts it."""
    plan = plan_of(STEPS, row="001")
    fine = [trace_of(plan, repetition=k, makespan_us=(100.0 + k,)) for k in range(3)]
    failed = trace_of(
        plan, repetition=3, status=Status.OUT_OF_MEMORY, failed_row=3, makespan_us=(5.0,)
    )
    result = find(plan, [*fine, failed, traced(plan, recorded(plan))], floors=FLOORS)
    assert result.status is Status.OUT_OF_MEMORY
    assert result.reason.endswith("; in 1 of 4 repetitions, ok in the traced run")
    assert result.findings is not None
    assert result.findings.repeats == 3
    assert result.findings.makespan_us_min == 100.0


def test_the_traced_run_decides_between_faults_and_corruption_outranks_it() -> None:
    """Corrupted over what the traced run ended as, over what most runs ended as."""
    plan = plan_of(STEPS, row="001")
    late = trace_of(plan, status=Status.TIMEOUT, reason="after 5 s")
    broken = trace_of(plan, status=Status.ERROR, reason="illegal address")
    last = traced(plan, recorded(plan), status=Status.OUT_OF_MEMORY, failed_row=3)
    assert find(plan, [late, late, broken], floors=FLOORS).status is Status.TIMEOUT
    result = find(plan, [late, late, broken, last], floors=FLOORS)
    assert result.status is Status.OUT_OF_MEMORY
    assert result.reason.endswith(
        "; error in 1 of 3 repetitions, timeout in 2 of 3 repetitions, in the traced run"
    )
    corrupt = trace_of(plan, status=Status.CORRUPTED, n_corrupt={7: 12})
    result = find(plan, [late, corrupt, last], floors=FLOORS)
    assert result.status is Status.CORRUPTED
    assert result.reason.startswith("y (line 17): 12 bytes differ from their fill; in 1 of 2")
    assert result.findings is not None
    assert result.findings.n_corrupt_bytes == 12


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.ERROR])
def test_other_endings_keep_their_reason(status: Status) -> None:
    """Whatever ended the case is told in its own words."""
    plan = plan_of(STEPS)
    result = find(plan, [trace_of(plan, status=status, reason="so it went")], floors=FLOORS)
    assert (result.status, result.reason) == (status, "so it went")


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.UNSUPPORTED])
def test_what_did_not_run_has_no_findings(status: Status) -> None:
    """No figure at all instead of zeros."""
    plan = plan_of(STEPS)
    result = find(plan, [trace_of(plan, status=status, reason="no pools")], floors=FLOORS)
    assert (result.status, result.reason, result.findings) == (status, "no pools", None)
    assert find(plan, [], floors=FLOORS).status is Status.SKIPPED
    assert find(plan, [], floors=FLOORS).findings is None


def test_outcomes_add_up_to_the_allocations() -> None:
    """Every issued allocation has one outcome; failed calls that a retry got through count beside
    them."""
    plan = plan_of(STEPS, row="000", on_oom=OnOom.SYNC_RETRY, max_size=64 * MIB)
    trace = traced(plan, recorded(plan).failed(3), n_out_of_memory=1)
    findings = find(plan, [trace], floors=FLOORS).findings
    assert findings is not None
    assert findings.n_out_of_memory == 1
    assert findings.n_host_ordered == 1
    assert trace.steps is not None
    counts = count_outcomes(trace.steps)
    assert sum(counts.values()) == findings.n_allocs == 2
    assert counts[Outcome.OUT_OF_MEMORY] == 0


def test_a_watchdog_in_any_run_counts() -> None:
    """One timed run in which a call was blocked is enough to be told."""
    plan = plan_of(STEPS)
    opening = LatchOpening(stream=0, row=1, closed_ns=0, opened_ns=US, by_watchdog=True)
    quiet = traced(plan, recorded(plan))
    findings = find(plan, [trace_of(plan, latches=(opening,)), quiet], floors=FLOORS).findings
    assert findings is not None
    assert findings.n_latch_timeouts == 1
