"""Random plans with all that the language has: latches, copies, grids, streams that come and go,
run-ahead, pace, all rows.  Deterministic in the seed; sound enough to run, not to make sense."""

from __future__ import annotations

import random
from dataclasses import replace

from poolbench.domain import (
    COMBINATIONS,
    Baseline,
    CopyKind,
    HostCall,
    Issue,
    MemoryKind,
    OnOom,
    Row,
    StreamKind,
)
from poolbench.plan import steps as st
from poolbench.plan.plan import BufferSpec, Plan
from tests.analysis.hand_made import MIB
from tests.cuda.plans import make_plan

US = 1000
SIZES = (700, 4096, MIB, 8 * MIB, 33 * MIB, 64 * MIB, 100 * MIB)
GRIDS = (
    st.Grid(blocks=1, threads=1),
    st.Grid(blocks=264, threads=1024),
    st.Grid(blocks=5000, threads=256),
    st.Grid(share=0.5),
    st.Grid(share=1.0),
)
KINDS = tuple(StreamKind)


def plan_with_everything(seed: int, *, n_rounds: int = 60, n_kinds: int = 24) -> Plan:
    """With 20 kinds, no patterns (which would touch freed memory) and no stream that goes."""
    dice = random.Random(seed)
    n_streams, n_events = 4, 3
    made: list[st.Step] = []
    sizes: list[int] = []
    live: list[int] = []
    filled: dict[int, int] = {}
    tickets = [0] * n_streams
    held: set[int] = set()
    recorded: set[int] = set()
    exists = [True] * n_streams
    n_allocs = sum(1 for _ in range(n_rounds))
    d0, d1, pinned, pageable = range(n_allocs, n_allocs + 4)
    for _ in range(n_rounds):
        on = dice.choice([index for index in range(n_streams) if exists[index]])
        match dice.randrange(n_kinds):
            case 0 | 1 | 2 | 3 | 4:
                sizes.append(dice.choice(SIZES))
                live.append(len(sizes) - 1)
                made.append(st.Alloc(stream=on, buffer=live[-1], size=sizes[-1]))
            case 5 | 6 | 7 | 8 if live:
                buffer = live.pop(dice.randrange(len(live)))
                made.append(st.Free(stream=on, buffer=buffer))
            case 9 | 10:
                work: st.Work = dice.choice(
                    (
                        st.Spin(duration_ns=dice.choice((5, 90, 600)) * US),
                        st.Touch(reads=(d0,), writes=(d1,)),
                        st.Compute(flops=10**9),
                    )
                )
                made.append(st.Launch(stream=on, work=work, grid=dice.choice(GRIDS)))
            case 11:
                kind = dice.choice(tuple(CopyKind))
                is_pageable = kind is not CopyKind.D2D and dice.random() < 0.3
                host = pageable if is_pageable else pinned
                dst, src = {
                    CopyKind.H2D: (d0, host),
                    CopyKind.D2H: (host, d0),
                    CopyKind.D2D: (d0, d1),
                }[kind]
                made.append(
                    st.Memcpy(
                        stream=on, kind=kind, dst=dst, src=src, size=MIB, is_pageable=is_pageable
                    )
                )
            case 12:
                made.append(st.Memset(stream=on, buffer=d0, value=1, size=MIB))
            case 13:
                event = dice.randrange(n_events)
                recorded.add(event)
                made.append(st.Record(stream=on, event=event))
            case 14 if recorded:
                made.append(st.Wait(stream=on, event=dice.choice(sorted(recorded))))
            case 15:
                made.append(dice.choice((st.SyncStream(stream=on), st.SyncDevice())))
            case 16 if recorded:
                event = dice.choice(sorted(recorded))
                made.append(dice.choice((st.SyncEvent(event=event), st.QueryEvent(event=event))))
            case 17:
                made.append(st.HostWork(duration_ns=dice.choice((10, 300)) * US))
            case 18 if on not in held:
                tickets[on] += 1
                held.add(on)
                made.append(st.Hold(stream=on, ticket=tickets[on]))
            case 18:
                held.discard(on)
                made.append(st.Release(stream=on, ticket=tickets[on]))
            case 19:
                made.append(dice.choice((st.Trim(keep=0), st.Sample(name="now"))))
            case 20 if live:
                buffer = dice.choice(live)
                if buffer in filled:
                    made.append(
                        st.Check(stream=on, buffer=buffer, seed=filled[buffer], size=sizes[buffer])
                    )
                else:
                    filled[buffer] = buffer + 1
                    made.append(
                        st.Fill(stream=on, buffer=buffer, seed=buffer + 1, size=sizes[buffer])
                    )
            case 23:
                duration_ns = dice.choice((0, 20, 300)) * US
                made.append(st.Callback(stream=on, duration_ns=duration_ns))
            case 22:
                made.append(st.CallDriver(call=dice.choice(tuple(HostCall))))
            case 21 if on and on not in held:
                made += [st.DestroyStream(stream=on), st.CreateStream(stream=on)]
    made += [st.Free(stream=0, buffer=buffer) for buffer in live]
    made += [st.Release(stream=index, ticket=tickets[index]) for index in sorted(held)]
    return _settings(dice, made, sizes, n_streams, n_events, n_allocs)


def _settings(
    dice: random.Random,
    made: list[st.Step],
    sizes: list[int],
    n_streams: int,
    n_events: int,
    n_allocs: int,
) -> Plan:
    rows: tuple[Row, ...] = (*COMBINATIONS, Baseline.PREALLOCATED, Baseline.CUDAMALLOC)
    row = dice.choice(rows)
    plan = make_plan(
        made,
        row=row,
        n_streams=n_streams,
        n_events=n_events,
        max_size=dice.choice((0, 128 * MIB, 256 * MIB)),
        release_threshold=dice.choice((0, 64 * MIB, 2**64 - 1)),
        n_iterations=dice.choice((1, 3)),
        leave_free=dice.choice((None, None, 200 * MIB)),
        on_oom=dice.choice(tuple(OnOom)),
        issue=dice.choice((Issue.LIVE, Issue.LIVE, Issue.AHEAD)),
    )
    # Indices of lasting buffers were given out before the number of allocations was known.
    unused = [
        BufferSpec(name=f"unused{index}", size=1, memory=MemoryKind.PINNED)
        for index in range(len(sizes), n_allocs)
    ]
    lasting = [
        BufferSpec(name=name, size=MIB, memory=memory)
        for name, memory in (
            ("d0", MemoryKind.DEVICE),
            ("d1", MemoryKind.DEVICE),
            ("pinned", MemoryKind.PINNED),
            ("pageable", MemoryKind.PAGEABLE),
        )
    ]
    buffers = (*plan.buffers, *unused, *lasting)
    slots: tuple[int, ...] = ()
    slot_of: tuple[int, ...] = ()
    if row is Baseline.PREALLOCATED:
        slots = tuple(sizes)
        slot_of = tuple(index if index < len(sizes) else -1 for index in range(len(buffers)))
    kinds = [StreamKind.NON_BLOCKING] * n_streams
    if dice.random() < 0.4:
        kinds = [StreamKind.LEGACY_DEFAULT, *(dice.choice(KINDS[:2]) for _ in range(n_streams - 1))]
    streams = tuple(
        replace(spec, kind=kind) for spec, kind in zip(plan.streams, kinds, strict=True)
    )
    return replace(
        plan,
        streams=streams,
        buffers=buffers,
        slots=slots,
        slot_of=slot_of,
        pace_ns=dice.choice((0, 0, 5 * US)),
        prime=dice.choice((0, 40 * MIB)),
    )
