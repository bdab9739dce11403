"""Values taken by chance, the same for every row and every axis value.

Pure.  A draw depends on the scenario's seed, on what the step is (its own words and, among steps
with the same words, its number), on the key of the value, and on the indices of the loops around.
It depends neither on the case nor on any other step, so rows stay comparable pair by pair and a
step added elsewhere changes nothing.  BLAKE2b is the generator: the same bits on every platform.
"""

from __future__ import annotations

import hashlib
from typing import assert_never

from poolbench.scenario.values import Draw, DrawKind

_BITS = 64


def _random_bits(seed: int, identity: str, indices: tuple[int, ...]) -> int:
    text = f"{seed}|{identity}|{','.join(map(str, indices))}"
    digest = hashlib.blake2b(text.encode(), digest_size=_BITS // 8).digest()
    return int.from_bytes(digest, "big")


def draw(what: Draw, *, seed: int, identity: str, indices: tuple[int, ...]) -> int:
    """The value of `what` for one execution of a step; `indices` run from the outermost loop in."""
    items = what.items
    match what.kind:
        case DrawKind.CYCLE:
            return items[(indices[-1] if indices else 0) % len(items)]
        case DrawKind.CHOICE:
            return items[_random_bits(seed, identity, indices) * len(items) >> _BITS]
        case DrawKind.UNIFORM:
            low, high = items
            return low + (_random_bits(seed, identity, indices) * (high - low + 1) >> _BITS)
        case DrawKind.LOG_UNIFORM:
            low, high = items
            position = _random_bits(seed, identity, indices) / 2**_BITS
            drawn: float = low * (high / low) ** position
            return min(high, max(low, round(drawn)))
        case _:
            assert_never(what.kind)
