"""Every outcome, told from hand-made addresses, sizes and times."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from poolbench.analysis.outcomes import classify
from poolbench.domain import OUTCOMES, OnOom, Outcome, StreamKind
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc
from poolbench.trace import NONE
from tests.analysis.hand_made import MIB, Recording, plan_of, stream

FLOOR_NS = 1500


def outcomes(recording: Recording) -> list[tuple[str, int]]:
    """(outcome, row of the reused free) of every allocation row."""
    plan = recording.plan
    steps = classify(plan, recording.steps, event_floor_ns=FLOOR_NS)
    rows = [
        row
        for row in range(len(steps.outcome))
        if isinstance(plan.steps[row % plan.n_steps], Alloc)
    ]
    others = np.delete(steps.outcome, rows)
    assert (others == NONE).all()
    return [
        (
            OUTCOMES[steps.outcome[row]].value if steps.outcome[row] != NONE else "",
            int(steps.waited_for[row]),
        )
        for row in rows
    ]


def hand_over(row: str, between: list[tuple[object, ...]], **settings: object) -> Plan:
    """x on a, freed on a at row 1; then y of the same size on b, the last step but one."""
    return plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("free", "x", "a"),
            *between,
            ("alloc", "y", "b", 64 * MIB),
            ("free", "y", "b"),
        ],
        row=row,
        **settings,  # type: ignore[arg-type]
    )


def reused(plan: Plan) -> Recording:
    """y gets x's block, the pool does not grow."""
    n = plan.n_steps
    return Recording(plan).at(0, 0, 64).pool(1, 64).at(n - 2, 0, 64).pool(n - 1, 64)


def test_a_first_allocation_grew_the_pool() -> None:
    """A range never used, while reserved grew: grown, and no free behind it."""
    plan = plan_of([("alloc", "x", "a", 64 * MIB), ("free", "x", "a")])
    assert outcomes(Recording(plan).at(0, 0, 64)) == [("grown", NONE)]


def test_an_allocation_beside_another_in_a_chunk_is_slack() -> None:
    """Reserved stands still and the chunk is mapped: reserved memory that was never used."""
    plan = plan_of([("alloc", "x", "a", 2 * MIB), ("alloc", "y", "b", 2 * MIB)])
    found = outcomes(Recording(plan).at(0, 0, 32).at(1, 2, 32))
    assert found == [("grown", NONE), ("slack", NONE)]


@pytest.mark.parametrize("row", ["000", "111"])
def test_the_own_streams_free_serves_with_any_attributes(row: str) -> None:
    """A block freed on the same stream needs no attribute, pending or not."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("free", "x", "a"),
            ("alloc", "y", "a", 32 * MIB),
            ("free", "y", "a"),
        ],
        row=row,
    )
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).at(2, 0, 64).pool(3, 64)
    recording.device(1, 10, 9000)
    assert outcomes(recording) == [("grown", NONE), ("same_stream", 1)]


@pytest.mark.parametrize("sync", [("sync", "a"), ("sync", "device")])
def test_a_synchronised_free_is_host_ordered(sync: tuple[str, str]) -> None:
    """After the host has synchronised with the free, every attribute may be off."""
    assert outcomes(reused(hand_over("000", [sync])))[1] == ("host_ordered", 1)


def test_a_query_is_no_synchronisation() -> None:
    """A stream query does not make the free known to the host: opportunistic it is."""
    plan = hand_over("010", [("query", "a")])
    assert outcomes(reused(plan))[1] == ("opportunistic", 1)


def test_an_event_orders_the_reuse() -> None:
    """Ordered after the free through an event, follow on, pending or not: event_ordered."""
    plan = hand_over("111", [("record", "e", "a"), ("wait", "e", "b")])
    recording = reused(plan).device(1, 10, 9000)
    assert outcomes(recording)[1] == ("event_ordered", 1)


def test_an_event_counts_for_nothing_with_follow_off() -> None:
    """The same order with follow off must have been taken as a completed or as a pending block."""
    plan = hand_over("010", [("record", "e", "a"), ("wait", "e", "b")])
    assert outcomes(reused(plan))[1] == ("opportunistic", 1)
    plan = hand_over("001", [("record", "e", "a"), ("wait", "e", "b")])
    recording = reused(plan).device(1, 10, 9000).device(4, 40, 9001)
    assert outcomes(recording)[1] == ("internal_dependency", 1)


def test_blocking_streams_follow_the_legacy_default_stream() -> None:
    """The implicit order of the default stream is an order like an event's."""
    streams = (
        stream("a", StreamKind.LEGACY_DEFAULT),
        stream("b", StreamKind.BLOCKING),
    )
    plan = hand_over("100", [], streams=streams)
    assert outcomes(reused(plan))[1] == ("event_ordered", 1)


@pytest.mark.parametrize("row", ["010", "011", "110", "111"])
def test_a_completed_free_is_opportunistic(row: str) -> None:
    """The free was over well before the call."""
    assert outcomes(reused(hand_over(row, [])).device(1, 10, 12))[1] == ("opportunistic", 1)


@pytest.mark.parametrize("row", ["001", "011", "101", "111"])
def test_a_pending_free_is_an_internal_dependency(row: str) -> None:
    """The free was over only well after the call, and no order covers it."""
    plan = hand_over(row, [], max_size=64 * MIB)
    recording = reused(plan).device(1, 10, 500).device(2, 20, 501)
    assert outcomes(recording)[1] == ("internal_dependency", 1)


@pytest.mark.parametrize(
    ("done_us", "span_us", "expected"),
    [
        (20.5, 1.5, "opportunistic"),
        (20.5, 200.0, "opportunistic"),
        (22.0, 9.5, "internal_dependency"),
        (21.5, 1.5, "internal_dependency"),
        (19.5, 1.5, "opportunistic"),
    ],
)
def test_near_the_call_the_wait_decides(done_us: float, span_us: float, expected: str) -> None:
    """Within the clock's margin, an allocation that stood still until the free was over has waited;
    one that did not, or for another reason, found it complete, unless that was over after the call
    in a pool without room."""
    plan = hand_over("111", [], max_size=64 * MIB)
    recording = reused(plan).device(1, 10, done_us).device(2, 20, 20 + span_us)
    assert outcomes(recording)[1] == (expected, 1)


def test_without_a_completion_time_the_wait_decides() -> None:
    """Nothing on the free's stream has a time: standing still is all the evidence."""
    plan = hand_over("111", [], max_size=64 * MIB)
    recording = reused(plan)
    for row in (0, 1):
        recording.steps.device_begin_ns[row] = recording.steps.device_end_ns[row] = NONE
    assert outcomes(recording)[1] == ("opportunistic", 1)
    assert outcomes(recording.device(2, 20, 500))[1] == ("internal_dependency", 1)


def test_near_the_call_room_to_grow_speaks_for_opportunistic() -> None:
    """A pool that could have grown would not have waited for so short a time."""
    plan = hand_over("111", [])
    recording = reused(plan).device(1, 10, 21.5).device(2, 20, 21.5)
    assert outcomes(recording)[1] == ("opportunistic", 1)


def test_a_driver_that_orders_although_it_could_grow_is_found_out() -> None:
    """The rules of one driver are evidence, no axioms: a clear wait with room is a wait."""
    plan = hand_over("111", [])
    recording = reused(plan).device(1, 10, 500).device(2, 20, 501)
    assert outcomes(recording)[1] == ("internal_dependency", 1)


def test_a_wait_that_no_attribute_allows_is_still_a_wait() -> None:
    """With internal off and a pending free the event time contradicts the attribute: it wins."""
    plan = hand_over("010", [])
    recording = reused(plan).device(1, 10, 500).device(2, 20, 501)
    assert outcomes(recording)[1] == ("internal_dependency", 1)
    plan = hand_over("000", [])
    assert outcomes(reused(plan).device(1, 10, 500))[1] == ("internal_dependency", 1)
    assert outcomes(reused(plan).device(1, 10, 12))[1] == ("opportunistic", 1)


def test_reuse_counts_even_if_the_pool_grew_in_vain() -> None:
    """Reserved grows to the limit and the allocation then reuses all the same: the reuse counts."""
    plan = hand_over("001", [], max_size=96 * MIB)
    n = plan.n_steps
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).at(n - 2, 0, 96).pool(n - 1, 96)
    recording.device(1, 10, 500)
    assert outcomes(recording)[1] == ("internal_dependency", 1)


def test_scattered_chunks_under_a_new_address_are_remapped() -> None:
    """New chunks of addresses while reserved stands still: remapped."""
    steps = [("alloc", f"x{k}", "a", 32 * MIB) for k in range(3)]
    plan = plan_of(
        [
            *steps,
            ("free", "x0", "a"),
            ("free", "x2", "a"),
            ("sync", "a"),
            ("alloc", "wide", "a", 64 * MIB),
        ]
    )
    recording = Recording(plan)
    for k in range(3):
        recording.at(k, 32 * k, 32 * (k + 1))
    recording.pool(3, 96).pool(4, 96).pool(5, 96).at(6, 96, 96)
    assert outcomes(recording)[3] == ("remapped", NONE)


def test_memory_of_a_growth_that_failed_is_slack() -> None:
    """A chunk that the pool grew by in vain, handed out later under an address not seen yet."""
    plan = hand_over("001", [], max_size=96 * MIB)
    plan = plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("free", "x", "a"),
            ("alloc", "y", "b", 64 * MIB),
            ("alloc", "z", "c", 32 * MIB),
        ],
        row="001",
        max_size=96 * MIB,
    )
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).at(2, 0, 96).at(3, 64, 96)
    recording.device(1, 10, 500)
    assert [name for name, _ in outcomes(recording)] == ["grown", "internal_dependency", "slack"]


def test_memory_released_at_a_synchronisation_and_mapped_again_has_grown() -> None:
    """The same address after a release is growth, not reuse."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("free", "x", "a"),
            ("sync", "a"),
            ("alloc", "y", "a", 64 * MIB),
        ],
        release_threshold=0,
    )
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).pool(2, 0).at(3, 0, 64)
    assert outcomes(recording)[1] == ("grown", NONE)


def test_what_a_release_left_is_still_reuse() -> None:
    """Half was released; the half that is handed out without growth was kept, the other grew."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 32 * MIB),
            ("alloc", "y", "a", 32 * MIB),
            ("free", "x", "a"),
            ("free", "y", "a"),
            ("sync", "a"),
            ("alloc", "u", "a", 32 * MIB),
            ("alloc", "v", "a", 32 * MIB),
        ],
        release_threshold=32 * MIB,
    )
    recording = Recording(plan).at(0, 0, 32).at(1, 32, 64).pool(2, 64).pool(3, 64).pool(4, 32)
    recording.at(5, 32, 32).at(6, 0, 64)
    assert outcomes(recording)[2:] == [("same_stream", 3), ("grown", NONE)]


def test_a_block_made_of_pieces_is_as_good_as_its_weakest() -> None:
    """Partly the own stream's, partly a pending block of another: it waits for that one."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 16 * MIB),
            ("alloc", "y", "b", 16 * MIB),
            ("free", "x", "a"),
            ("free", "y", "b"),
            ("alloc", "z", "a", 32 * MIB),
        ],
    )
    recording = Recording(plan).at(0, 0, 32).at(1, 16, 32).at(4, 0, 32)
    recording.device(3, 30, 500).device(4, 40, 501)
    assert outcomes(recording)[2] == ("internal_dependency", 3)
    recording = Recording(plan).at(0, 0, 32).at(1, 16, 32).at(4, 0, 32)
    assert outcomes(recording)[2] == ("opportunistic", 3)


def test_partly_reused_and_partly_slack_is_slack() -> None:
    """Memory never used is weaker than any reuse that waits for nothing."""
    plan = plan_of(
        [("alloc", "x", "a", 8 * MIB), ("free", "x", "a"), ("alloc", "y", "a", 16 * MIB)]
    )
    assert outcomes(Recording(plan).at(0, 0, 32).at(2, 0, 32))[1] == ("slack", NONE)


def test_blocks_are_rounded_to_512_bytes() -> None:
    """Two neighbours of 10 bytes do not share their 512 bytes; a third in their place reuses."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 10),
            ("free", "x", "a"),
            ("alloc", "y", "a", 500),
            ("alloc", "z", "a", 10),
        ]
    )
    recording = Recording(plan).at(0, 0, 32).at(2, 0, 32).at(3, 512 / MIB, 32)
    assert outcomes(recording) == [("grown", NONE), ("same_stream", 1), ("slack", NONE)]


def test_primed_memory_is_host_ordered() -> None:
    """Primed blocks were used, freed and synchronised before the first step; what lies behind them
    in the pool was not."""
    plan = plan_of(
        [("alloc", "x", "a", 32 * MIB), ("alloc", "y", "b", 8 * MIB), ("alloc", "z", "b", 8 * MIB)],
        prime=40 * MIB,
        row="000",
    )
    recording = Recording(plan).at(0, 0, 64).at(1, 32, 64).at(2, 40, 64)
    assert outcomes(recording) == [("host_ordered", NONE), ("host_ordered", NONE), ("slack", NONE)]


def test_primed_memory_is_gone_without_a_threshold() -> None:
    """The synchronisation that ends priming releases it all at threshold 0."""
    plan = plan_of([("alloc", "x", "a", 32 * MIB)], prime=32 * MIB, release_threshold=0)
    assert outcomes(Recording(plan).at(0, 0, 32)) == [("grown", NONE)]


def test_a_failed_allocation_is_out_of_memory_and_the_rest_was_never_made() -> None:
    """No address but a call: out of memory; no call: no outcome."""
    plan = plan_of(
        [("alloc", "x", "a", 64 * MIB), ("alloc", "y", "b", 64 * MIB), ("alloc", "z", "b", 64)],
        row="110",
    )
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).failed(1).never_issued_from(2)
    assert outcomes(recording) == [("grown", NONE), ("out_of_memory", NONE), ("", NONE)]


def test_a_retry_after_synchronising_is_host_ordered() -> None:
    """The program's own synchronisation is a host order that no step of the plan shows."""
    plan = hand_over("000", [], on_oom=OnOom.SYNC_RETRY, max_size=64 * MIB)
    assert outcomes(reused(plan).failed(2))[1] == ("host_ordered", 1)


def test_a_retry_after_trimming_has_grown() -> None:
    """The trim gave the free block back; the retry maps it anew."""
    plan = hand_over("000", [], on_oom=OnOom.TRIM_RETRY, max_size=64 * MIB)
    assert outcomes(reused(plan).failed(2))[1] == ("grown", NONE)


def test_earlier_iterations_are_known_to_the_host() -> None:
    """Each iteration ends with a device synchronisation: same stream, else host-ordered."""
    plan = hand_over("000", [], iterations=2)
    recording = Recording(plan)
    recording.at(0, 0, 64).at(2, 64, 128).at(4, 64, 128).at(6, 0, 128)
    assert outcomes(recording) == [
        ("grown", NONE),
        ("grown", NONE),
        ("host_ordered", 3),
        ("host_ordered", 1),
    ]
    recording.at(4, 0, 128).at(6, 64, 128)
    assert outcomes(recording)[2:] == [("same_stream", 1), ("same_stream", 3)]


def test_a_stream_made_by_a_step_is_another_in_each_iteration() -> None:
    """The name is the same, the stream is not: host-ordered."""
    streams = (replace(stream("a"), is_created_by_step=True), stream("b"))
    plan = hand_over("000", [], iterations=2, streams=streams)
    recording = Recording(plan).at(0, 0, 64).at(2, 64, 128).at(4, 0, 128).at(6, 64, 128)
    assert outcomes(recording)[2:] == [("host_ordered", 1), ("same_stream", 3)]


def test_the_closing_synchronisation_releases_by_the_threshold() -> None:
    """At threshold 0 the second iteration grows again, although nothing read the pool between."""
    plan = hand_over("111", [], iterations=2, release_threshold=0)
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).at(2, 64, 128).pool(3, 128)
    recording.at(4, 0, 64).at(6, 64, 128)
    assert [name for name, _ in outcomes(recording)] == ["grown"] * 4


def test_a_driver_that_keeps_memory_at_a_synchronisation_is_found_out() -> None:
    """Growing by more than was asked for, to the very size before: it was never released."""
    plan = hand_over("111", [], iterations=2, release_threshold=0)
    recording = Recording(plan).at(0, 0, 64).pool(1, 64).at(2, 64, 128).pool(3, 128)
    recording.at(4, 0, 128).at(6, 64, 128)
    assert [name for name, _ in outcomes(recording)][2:] == ["same_stream", "same_stream"]


@pytest.mark.parametrize("row", ["preallocated", "cudamalloc"])
def test_baselines_allocate_outside_the_pool(row: str) -> None:
    """A baseline row has no pool to be served from."""
    plan = hand_over(row, [])
    assert outcomes(reused(plan)) == [("outside_pool", NONE)] * 2


def test_a_free_without_a_time_of_its_own_is_over_by_the_next_step() -> None:
    """Completion follows from what the stream did next."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 64 * MIB),
            ("free", "x", "a"),
            ("kernel", "a", 1),
            ("alloc", "y", "b", 64 * MIB),
        ]
    )
    recording = Recording(plan).at(0, 0, 64).at(3, 0, 64)
    recording.steps.device_begin_ns[1] = recording.steps.device_end_ns[1] = NONE
    assert outcomes(recording)[1] == ("opportunistic", 1)
    recording.device(2, 500, 600)
    assert outcomes(recording)[1] == ("internal_dependency", 1)


def test_every_issued_allocation_gets_an_outcome_from_any_addresses() -> None:
    """Addresses that no driver would give, overlaps included, are classified and never crash."""
    generator = np.random.default_rng(3)
    for seed in range(30):
        steps: list[tuple[object, ...]] = []
        for k in range(20):
            steps += [("alloc", f"x{k}", "abc"[k % 3], int(generator.integers(1, 80 * MIB)))]
            if generator.random() < 0.5:
                steps += [("free", f"x{k}", "abc"[seed % 3])]
        plan = plan_of(steps, row=f"{seed % 8:03b}", iterations=2, release_threshold=32 * MIB)
        recording = Recording(plan)
        for row in range(2 * plan.n_steps):
            if isinstance(plan.steps[row % plan.n_steps], Alloc):
                offset = int(generator.integers(0, 8)) * 32
                recording.at(row, offset, int(generator.integers(0, 10)) * 32)
        found = [name for name, _ in outcomes(recording)]
        assert set(found) <= set(Outcome) - {"outside_pool", "out_of_memory"}


def test_a_hundred_thousand_allocations_take_seconds() -> None:
    """Classification is near linear in the number of allocations."""
    n = 50_000
    steps: list[tuple[object, ...]] = []
    for k in range(n):
        steps += [("alloc", f"x{k}", "abc"[k % 3], MIB), ("free", f"x{k}", "abc"[k % 3])]
    plan = plan_of(steps, iterations=2)
    recording = Recording(plan)
    rows = np.arange(2 * plan.n_steps)
    recording.steps.address[::2] = (1 << 32) + (rows[::2] * 7919 % 4096) * MIB
    recording.steps.reserved[:] = 4 << 30
    begun = time.process_time()
    steps_found = classify(plan, recording.steps, event_floor_ns=FLOOR_NS)
    assert time.process_time() - begun < 30
    assert (steps_found.outcome[::2] != NONE).all()


def neighbours(row: str, freed_on: str) -> Recording:
    """x and y lie side by side on a; x is freed there and complete long before y is freed on
    `freed_on` behind 500 us of work; then z asks for x's place on b."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 32 * MIB),
            ("alloc", "y", "a", 32 * MIB),
            ("free", "x", "a"),
            ("free", "y", freed_on),
            ("alloc", "z", "b", 32 * MIB),
        ],
        row=row,
        max_size=64 * MIB,
    )
    recording = Recording(plan).at(0, 0, 32).at(1, 32, 64).pool(2, 64).pool(3, 64).at(4, 0, 64)
    return recording.device(3, 30, 530).device(4, 40, 531)


@pytest.mark.parametrize("row", ["001", "011", "111"])
def test_neighbours_freed_on_one_stream_are_as_free_as_the_last(row: str) -> None:
    """They merge at the free: whoever takes the one that is complete waits for the other."""
    assert outcomes(neighbours(row, "a"))[2] == ("internal_dependency", 3)


def test_neighbours_freed_on_two_streams_stay_apart() -> None:
    """No merging: the block that is complete is taken as such."""
    recording = neighbours("111", "c").device(4, 40, 42)
    assert outcomes(recording)[2] == ("opportunistic", 2)


def test_merging_is_not_believed_in_against_the_device() -> None:
    """An allocation that was over before the neighbour's free has not waited for it."""
    recording = neighbours("011", "a").device(4, 40, 42)
    assert outcomes(recording)[2] == ("opportunistic", 2)


def test_own_frees_may_lie_among_others() -> None:
    """A live block between two of one stream keeps them apart."""
    plan = plan_of(
        [
            ("alloc", "x", "a", 32 * MIB),
            ("alloc", "live", "c", 32 * MIB),
            ("alloc", "y", "a", 32 * MIB),
            ("free", "x", "a"),
            ("free", "y", "a"),
            ("alloc", "z", "b", 32 * MIB),
            ("free", "live", "c"),
        ],
        max_size=96 * MIB,
    )
    recording = Recording(plan).at(0, 0, 32).at(1, 32, 64).at(2, 64, 96).at(5, 0, 96)
    recording.device(4, 40, 540)
    assert outcomes(recording)[3] == ("opportunistic", 3)


@pytest.mark.parametrize(("call_us", "expected"), [(2, "same_stream"), (60, "remapped")])
def test_a_slow_call_tells_a_remapped_chunk_from_a_kept_one(call_us: int, expected: str) -> None:
    """A range whose memory may have gone elsewhere: handed out at once it was still there, in the
    time of a mapping it was mapped again."""
    steps = [("alloc", f"x{k}", "a", 32 * MIB) for k in range(4)]
    plan = plan_of(
        [
            *steps,
            ("free", "x0", "a"),
            ("free", "x2", "a"),
            ("free", "x3", "c"),
            ("sync", "device"),
            ("alloc", "wide", "a", 64 * MIB),
            ("free", "wide", "a"),
            ("alloc", "again", "a", 32 * MIB),
        ]
    )
    recording = Recording(plan)
    for k in range(4):
        recording.at(k, 64 * k, 32 * (k + 1))
    for row in (4, 5, 6, 7, 9):
        recording.pool(row, 128)
    recording.at(8, 256, 128).at(10, 0, 128).host(10, 100, 100 + call_us)
    assert [name for name, _ in outcomes(recording)][4:] == ["remapped", expected]
