"""Plans and traces written by hand: small, complete values with nothing hidden in them.

`plan_of` takes steps as tuples such as `("alloc", "x", "a", 64 * MIB)`; step k stands at line
`10 + k`.  `Recording` lays a trace out on a plain timeline (one host call every 10 us, each taking
1 us; device work at the same time) that a test then bends where it matters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from poolbench.domain import (
    COMBINATIONS,
    PRESETS,
    BackendKind,
    Baseline,
    Case,
    CopyKind,
    Issue,
    MemoryKind,
    OnOom,
    Pass,
    Row,
    Status,
    StreamKind,
    StreamPriority,
    row_name,
)
from poolbench.plan import steps as st
from poolbench.plan.plan import BufferSpec, Plan, StepPlace, StreamSpec
from poolbench.trace import NONE, LatchOpening, StepTrace, Trace, empty_steps

MIB = 2**20
BASE = 0x3_0200_0000
"""Where pools of this driver begin; a multiple of 32 MiB."""

US = 1000

ROWS: dict[str, Row] = {row_name(row): row for row in (*COMBINATIONS, *PRESETS, *Baseline)}


def stream(name: str, kind: StreamKind = StreamKind.NON_BLOCKING) -> StreamSpec:
    return StreamSpec(name=name, kind=kind, priority=StreamPriority.NORMAL)


def plan_of(
    steps: list[tuple[Any, ...]],
    *,
    row: str = "111",
    streams: tuple[StreamSpec, ...] = (stream("a"), stream("b"), stream("c")),
    axes: tuple[tuple[str, str], ...] = (),
    labels: dict[int, str] | None = None,
    iterations: int = 1,
    max_size: int = 0,
    release_threshold: int = 2**64 - 1,
    prime: int = 0,
    on_oom: OnOom = OnOom.FAIL,
) -> Plan:
    index = {spec.name: k for k, spec in enumerate(streams)}
    events: dict[str, int] = {}
    buffers: list[BufferSpec] = []
    live: dict[str, int] = {}
    made: list[st.Step] = []
    names: list[str] = []
    tickets: dict[int, int] = {}
    seeds = 0

    def lasting(name: str, size: int) -> int:
        if name not in live:
            live[name] = len(buffers)
            buffers.append(BufferSpec(name=name, size=size, memory=MemoryKind.DEVICE))
        return live[name]

    for k, step in enumerate(steps):
        match step:
            case ("alloc", name, on, size):
                live[name] = len(buffers)
                buffers.append(BufferSpec(name=name, size=size, alloc_step=k))
                made.append(st.Alloc(stream=index[on], buffer=live[name], size=size))
            case ("free", name, on):
                buffers[live[name]] = replace(buffers[live[name]], free_step=k)
                made.append(st.Free(stream=index[on], buffer=live[name]))
            case ("kernel", on, us):
                name = "kernel"
                grid = st.Grid(blocks=1)
                made.append(
                    st.Launch(stream=index[on], work=st.Spin(duration_ns=us * US), grid=grid)
                )
            case ("memset", name, on):
                buffer = lasting(name, MIB)
                made.append(st.Memset(stream=index[on], buffer=buffer, value=0, size=MIB))
            case ("memcpy", name, on):
                buffer = lasting(name, MIB)
                made.append(
                    st.Memcpy(stream=index[on], kind=CopyKind.D2D, dst=buffer, src=buffer, size=MIB)
                )
            case ("callback", on, us):
                name = "callback"
                made.append(st.Callback(stream=index[on], duration_ns=us * US))
            case ("record", name, on):
                event = events.setdefault(name, len(events))
                made.append(st.Record(stream=index[on], event=event))
            case ("wait", name, on):
                made.append(st.Wait(stream=index[on], event=events[name]))
            case ("sync", "device"):
                name = "device"
                made.append(st.SyncDevice())
            case ("sync", name):
                made.append(st.SyncStream(stream=index[name]))
            case ("sync_event", name):
                made.append(st.SyncEvent(event=events[name]))
            case ("query", name):
                made.append(st.QueryStream(stream=index[name]))
            case ("host", us):
                name = "host"
                made.append(st.HostWork(duration_ns=us * US))
            case ("hold", name):
                tickets[index[name]] = tickets.get(index[name], 0) + 1
                made.append(st.Hold(stream=index[name], ticket=tickets[index[name]]))
            case ("release", name):
                made.append(st.Release(stream=index[name], ticket=tickets[index[name]]))
            case ("trim", keep):
                name = "trim"
                made.append(st.Trim(keep=keep))
            case ("sample", name):
                made.append(st.Sample(name=name))
            case ("fill", name, on):
                seeds += 1
                size = buffers[live[name]].size
                made.append(st.Fill(stream=index[on], buffer=live[name], seed=seeds, size=size))
            case ("check", name, on):
                size = buffers[live[name]].size
                made.append(st.Check(stream=index[on], buffer=live[name], seed=seeds, size=size))
            case _:
                raise ValueError(step)
        names.append((labels or {}).get(k, name))
    return Plan(
        case=Case(scenario="hand-made", row=ROWS[row], axes=axes),
        steps=tuple(made),
        origin=tuple(range(len(made))),
        names=tuple(names),
        places=tuple(
            StepPlace(line=10 + k, column=3, kind=st.KIND_NAMES[type(step)], label="")
            for k, step in enumerate(made)
        ),
        streams=streams,
        buffers=tuple(buffers),
        events=tuple(events),
        kernels=(),
        n_iterations=iterations,
        max_size=max_size,
        release_threshold=release_threshold,
        prime=prime,
        leave_free=None,
        on_oom=on_oom,
        issue=Issue.LIVE,
        pace_ns=0,
        latch_limit_ns=10**8,
    )


class Recording:
    """A trace in the making, all rows issued; methods change rows and return the recording."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        n_rows = plan.n_steps * plan.n_iterations
        self.steps = empty_steps(n_rows)
        for row in range(n_rows):
            step = plan.steps[row % plan.n_steps]
            self.steps.host_begin_ns[row] = 10 * US * row
            self.steps.host_end_ns[row] = 10 * US * row + US
            if isinstance(step, st.DEVICE_STEPS) and not isinstance(
                step, st.Record | st.Wait | st.Hold
            ):
                self.device(row, 10 * row, 10 * row + 1)

    def host(self, row: int, begin_us: float, end_us: float) -> Recording:
        self.steps.host_begin_ns[row] = round(begin_us * US)
        self.steps.host_end_ns[row] = round(end_us * US)
        return self

    def device(self, row: int, begin_us: float, end_us: float) -> Recording:
        self.steps.device_begin_ns[row] = round(begin_us * US)
        self.steps.device_end_ns[row] = round(end_us * US)
        return self

    def at(self, row: int, offset_mib: float, reserved_mib: int) -> Recording:
        """An allocation that was served at this offset and left the pool this large."""
        self.steps.address[row] = BASE + round(offset_mib * MIB)
        return self.pool(row, reserved_mib)

    def pool(self, row: int, reserved_mib: int, used_mib: int = 0) -> Recording:
        self.steps.reserved[row] = reserved_mib * MIB
        self.steps.used[row] = used_mib * MIB
        return self

    def failed(self, row: int, n_failures: int = 1) -> Recording:
        self.steps.n_failures[row] = n_failures
        return self

    def never_issued_from(self, row: int) -> Recording:
        for column in (
            self.steps.host_begin_ns,
            self.steps.host_end_ns,
            self.steps.device_begin_ns,
            self.steps.device_end_ns,
            self.steps.reserved,
            self.steps.used,
        ):
            column[row:] = NONE
        return self


def trace_of(
    plan: Plan,
    *,
    steps: StepTrace | None = None,
    repetition: int = 1,
    status: Status = Status.OK,
    reason: str = "",
    makespan_us: tuple[float, ...] = (100.0,),
    host_us: tuple[float, ...] = (50.0,),
    latches: tuple[LatchOpening, ...] = (),
    backend: BackendKind = BackendKind.CUDA,
    **fields: Any,
) -> Trace:
    return Trace(
        case=plan.case,
        backend=backend,
        measured=Pass.TIMED if steps is None else Pass.TRACED,
        repetition=repetition,
        status=status,
        reason=reason,
        makespan_ns=np.array([round(us * US) for us in makespan_us], dtype=np.int64),
        host_ns=np.array([round(us * US) for us in host_us], dtype=np.int64),
        latches=latches,
        steps=steps,
        **fields,
    )
