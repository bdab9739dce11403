"""Random plans that exercise a pool: streams, events, synchronisations, limits, all attributes.

Deterministic in the seed.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from poolbench.domain import OnOom, StreamKind
from poolbench.plan.plan import Plan
from tests.analysis.hand_made import MIB, plan_of, stream

SIZES = (4096, MIB, 8 * MIB, 20 * MIB, 32 * MIB, 48 * MIB, 64 * MIB, 100 * MIB)
LIMITS = (0, 64 * MIB, 128 * MIB, 192 * MIB, 320 * MIB)
THRESHOLDS = (0, 64 * MIB, 2**64 - 1)
KINDS = (
    (StreamKind.NON_BLOCKING,) * 3,
    (StreamKind.NON_BLOCKING,) * 3,
    (StreamKind.LEGACY_DEFAULT, StreamKind.BLOCKING, StreamKind.NON_BLOCKING),
)


def random_plan(seed: int, *, n_rounds: int = 40) -> Plan:
    """A plan without latches; every allocation is freed, on any stream."""
    dice = random.Random(seed)
    names = "abc"
    steps: list[tuple[Any, ...]] = []
    live: list[str] = []
    recorded: list[str] = []
    for k in range(n_rounds):
        on = dice.choice(names)
        match dice.choices(
            ("alloc", "free", "kernel", "record", "wait", "sync", "query", "host", "trim"),
            (30, 22, 18, 8, 8, 5, 2, 5, 1),
        )[0]:
            case "alloc":
                live.append(f"x{k}")
                steps.append(("alloc", f"x{k}", on, dice.choice(SIZES)))
            case "free" if live:
                steps.append(("free", live.pop(dice.randrange(len(live))), on))
            case "kernel":
                steps.append(("kernel", on, dice.choice((5, 40, 200, 800))))
            case "record":
                recorded.append(f"e{k % 4}")
                steps.append(("record", recorded[-1], on))
            case "wait" if recorded:
                steps.append(("wait", dice.choice(recorded), on))
            case "sync":
                steps.append(
                    dice.choice(
                        (
                            ("sync", on),
                            ("sync", "device"),
                            ("sync_event", dice.choice(recorded)) if recorded else ("sync", on),
                        )
                    )
                )
            case "query":
                steps.append(("query", on))
            case "host":
                steps.append(("host", dice.choice((10, 100, 500))))
            case "trim":
                steps.append(("trim", 0))
    steps += [("free", name, dice.choice(names)) for name in live]
    plan = plan_of(
        steps,
        row=f"{dice.randrange(8):03b}",
        streams=tuple(
            stream(name, kind) for name, kind in zip(names, dice.choice(KINDS), strict=True)
        ),
        iterations=dice.choice((1, 1, 3)),
        max_size=dice.choice(LIMITS),
        release_threshold=dice.choice(THRESHOLDS),
        prime=dice.choice((0, 0, 40 * MIB)),
        on_oom=dice.choice(tuple(OnOom)),
    )
    if plan.prime > plan.max_size > 0:
        return replace(plan, prime=0)
    return plan
