"""Latches and the watchdog over ordinary memory; needs no GPU."""

from __future__ import annotations

import ctypes
import time

import pytest

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.clock import Alignment, fresh_stamps, to_host
from poolbench.backends.cuda.latch import MAX_LATCHES, Latches, Watchdog

MEMORY = ctypes.create_string_buffer(MAX_LATCHES * 64)


@pytest.fixture
def latches(monkeypatch: pytest.MonkeyPatch) -> Latches:
    address = ctypes.addressof(MEMORY)
    monkeypatch.setattr(driver, "allocate_mapped", lambda size: (address, 0x1000))
    latches = Latches()
    latches.reset(50_000_000)
    return latches


def word(latch: int) -> int:
    return ctypes.c_uint32.from_address(ctypes.addressof(MEMORY) + 64 * latch).value


def test_a_release_opens_its_ticket_and_those_before(latches: Latches) -> None:
    """Tickets open in order; what is opened is told once, with the time it was closed."""
    latches.note_closed(3, 1, row=10)
    latches.note_closed(3, 2, row=11)
    latches.open(3, 1)
    assert word(3) == 1
    (first,) = latches.take_openings()
    assert (first.stream, first.row, first.by_watchdog) == (3, 10, False)
    assert first.closed_ns <= first.opened_ns
    latches.open(3, 2)
    assert [opening.row for opening in latches.take_openings()] == [11]
    assert latches.take_openings() == []


def test_the_watchdog_opens_what_is_overdue(latches: Latches) -> None:
    """A latch that nobody opens is opened after its limit, and the opening says by whom."""
    with Watchdog(latches):
        latches.note_closed(0, 1, row=5)
        deadline = time.monotonic() + 5
        while word(0) == 0 and time.monotonic() < deadline:
            time.sleep(0.005)
    (opening,) = latches.take_openings()
    assert opening.by_watchdog
    assert opening.opened_ns - opening.closed_ns >= 50_000_000


def test_open_all_leaves_nothing_held(latches: Latches) -> None:
    """After a failure every hold of every stream is let go."""
    for latch in (0, 1):
        latches.note_closed(latch, 1, row=latch)
    latches.open_all()
    assert word(0) > 1
    assert word(1) > 1
    assert len(latches.take_openings()) == 2


def test_device_times_are_put_on_the_hosts_axis_with_the_drift_taken_out() -> None:
    """Between two alignments the offset is interpolated: 1 us of drift is half gone half way."""
    first = Alignment(host_ns=1_000_000, offset_ns=-500, error_ns=500)
    last = Alignment(host_ns=3_000_000, offset_ns=500, error_ns=500)
    assert to_host(1_000_500, first, last) == 1_000_000
    assert to_host(2_000_500, first, last) == 2_000_500
    assert to_host(2_999_500, first, last) == pytest.approx(3_000_000, abs=1)


def test_stamps_start_as_the_kernels_need_them() -> None:
    """Begin takes the smallest, end the largest: all ones and zero."""
    stamps = fresh_stamps(3)
    assert stamps.shape == (3, 2)
    assert (stamps[:, 0] == 2**64 - 1).all()
    assert (stamps[:, 1] == 0).all()
