"""The end of the pool's addresses comes last, whoever could have it."""

from __future__ import annotations

from typing import Any

import pytest

from poolbench.domain import Outcome
from tests.analysis.hand_made import MIB, stream
from tests.model.predicted import CHUNK, predict

Steps = list[tuple[Any, ...]]


@pytest.mark.parametrize(
    ("row", "between", "outcome"),
    [
        ("100", [("record", "e", "a"), ("wait", "e", "b")], Outcome.EVENT_ORDERED),
        ("010", [("host", 500)], Outcome.OPPORTUNISTIC),
        ("111", [], Outcome.SLACK),
    ],
)
def test_slack_is_used_after_what_can_be_reused(row: str, between: Steps, outcome: Outcome) -> None:
    """1 MiB of a chunk was freed, 31 MiB were never used: reuse comes first, if it is allowed."""
    steps: Steps = [("alloc", "x", "a", MIB), ("kernel", "a", 200), ("free", "x", "a")]
    found = predict([*steps, *between, ("alloc", "y", "b", MIB)], row=row)
    assert found.outcome("y") is outcome
    assert found.address("y") == (MIB if outcome is Outcome.SLACK else 0)


def blocks(order: str) -> Steps:
    """Neighbours in this order: h is host-known, o complete, e ordered before b by an event."""
    steps: Steps = [("alloc", name, {"h": "c", "o": "d", "e": "a"}[name], CHUNK) for name in order]
    steps += [("free", "h", "c"), ("sync", "c"), ("free", "o", "d"), ("host", 50)]
    steps += [("kernel", "a", 3000), ("free", "e", "a"), ("record", "ev", "a"), ("wait", "ev", "b")]
    return [*steps, *(("alloc", f"y{index}", "b", CHUNK) for index in range(3))]


@pytest.mark.parametrize(
    ("order", "taken"),
    [
        ("heo", "heo"),
        ("hoe", "heo"),
        ("eho", "heo"),
        ("ohe", "heo"),
        ("eoh", "eoh"),
        ("oeh", "eoh"),
    ],
)
def test_host_known_block_comes_first_unless_it_is_the_tail(order: str, taken: str) -> None:
    """The six orders of addresses, as measured: at the end, the host-known block comes last."""
    streams = tuple(stream(name) for name in "abcd")
    found = predict(blocks(order), streams=streams)
    assert [found.address(f"y{index}") for index in range(3)] == [
        found.address(name) for name in taken
    ]
