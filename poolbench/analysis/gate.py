"""`compare --fail-on`: what of a comparison is a reason to fail.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from poolbench.analysis.comparison import Pair, Verdict
from poolbench.analysis.quantities import metric
from poolbench.domain import Status
from poolbench.errors import BadUsage


class Ground(StrEnum):
    SLOWER = "slower"
    """The whole interval of the ratio lies above 1 and the share."""
    OOM = "oom"
    """More allocations failed, or the row ended for want of memory and the other did not."""
    WAIT = "wait"
    """The driver inserted more waits."""
    MORE_MEMORY = "more-memory"
    """The pool reserved more at its peak, by more than the share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """`share`: by how much more it has to be; only for `slower` and `more-memory`."""

    ground: Ground
    share: float


_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def read_share(text: str, option: str) -> float:
    """`5%` as 0.05; raises `BadUsage`."""
    found = _SHARE.fullmatch(text.strip())
    if found is None:
        raise BadUsage(
            f"{option} {text[:60]}: expected a percentage", hint=f"for example {option} 5%"
        )
    return float(found.group(1)) / 100


def read_gates(texts: Sequence[str], *, threshold: float) -> tuple[Gate, ...]:
    """`slower`, `more-memory:10%`; raises `BadUsage`."""
    gates = []
    for text in texts:
        name, colon, share = text.partition(":")
        if name not in set(Ground):
            known = ", ".join(Ground)
            raise BadUsage(f"--fail-on {text[:60]}: no such ground", hint=f"there are: {known}")
        ground = Ground(name)
        if colon and ground in (Ground.OOM, Ground.WAIT):
            raise BadUsage(f"--fail-on {text[:60]}: {name} has no percentage")
        limit = read_share(share, f"--fail-on {name}:") if colon else threshold
        gates.append(Gate(ground=ground, share=limit))
    return tuple(gates)


def failures(pairs: Sequence[Pair], gates: Sequence[Gate]) -> Iterator[tuple[Pair, str]]:
    """What fails, and why, in words."""
    for pair in pairs:
        for gate in gates:
            told = _why(pair, gate)
            if told:
                yield pair, told


def _why(pair: Pair, gate: Gate) -> str:
    first, second = pair.first, pair.second
    match gate.ground:
        case Ground.SLOWER:
            found = pair.judgement
            is_clear = found.low is not None and found.low > 1 + gate.share
            if found.verdict is Verdict.SLOWER and is_clear:
                return f"slower: {found.ratio:.3f} ({found.low:.3f} to {found.high:.3f}) times"
        case Ground.OOM:
            failed = [metric(one, "n_out_of_memory") or 0 for one in (first, second)]
            is_worse = second.status is Status.OUT_OF_MEMORY is not first.status
            if is_worse or failed[1] > failed[0]:
                return f"oom: {failed[1]:.0f} failed allocations against {failed[0]:.0f}"
        case Ground.WAIT:
            waits = [metric(one, "n_inserted_waits") or 0 for one in (first, second)]
            if waits[1] > waits[0]:
                return f"wait: {waits[1]:.0f} inserted waits against {waits[0]:.0f}"
        case Ground.MORE_MEMORY:
            reserved = [metric(one, "reserved_high_bytes") for one in (first, second)]
            one, two = reserved
            if one is not None and two is not None and two > one * (1 + gate.share):
                return f"more-memory: {two / 2**20:.0f} MiB reserved against {one / 2**20:.0f} MiB"
    return ""
