"""Faults of events, latches, streams and fills: steps that make no sense where they stand.

Pure.  One pass over the steps in the order of issue, for each kind of thing.
"""

from __future__ import annotations

from collections.abc import Iterator

from poolbench.errors import Note
from poolbench.plan import steps as s
from poolbench.plan.expansion import Expansion
from poolbench.plan.faults import Fault
from poolbench.plan.uses import overwrites


def event_faults(expansion: Expansion) -> Iterator[Fault]:
    """Waits for, synchronisations with and queries of an event that no step has recorded yet."""
    first: dict[int, int] = {}
    for index, step in enumerate(expansion.steps):
        if isinstance(step, s.Record):
            first.setdefault(step.event, index)
    for index, step in enumerate(expansion.steps):
        if not isinstance(step, s.Wait | s.SyncEvent | s.QueryEvent):
            continue
        recorded = first.get(step.event)
        if recorded is None or recorded < index:
            continue
        key = "wait" if isinstance(step, s.Wait) else "event"
        name = expansion.events[step.event]
        yield Fault(
            place=expansion.place(index, key),
            code="wait-before-record",
            message=f"event {name} has not been recorded yet; this {s.KIND_NAMES[type(step)]} "
            "would not wait for anything",
            notes=(
                Note(place=expansion.place(recorded, "record"), message="recorded here, later"),
            ),
        )


def latch_faults(expansion: Expansion) -> Iterator[Fault]:
    """Releases without a hold, and holds without a release."""
    closed: dict[int, list[int]] = {}
    for index, step in enumerate(expansion.steps):
        match step:
            case s.Hold(stream=stream):
                closed.setdefault(stream, []).append(index)
            case s.Release(stream=stream):
                if closed.get(stream):
                    closed[stream].pop(0)
                    continue
                yield Fault(
                    place=expansion.place(index, "release"),
                    code="release-without-hold",
                    message=f"stream {expansion.streams[stream].name} is not held here",
                )
            case _:
                pass
    for stream, holds in closed.items():
        for index in holds:
            yield Fault(
                place=expansion.place(index, "hold"),
                code="hold-without-release",
                message=f"no step releases this hold of stream {expansion.streams[stream].name}",
            )


def stream_faults(expansion: Expansion) -> Iterator[Fault]:
    """Steps on a stream that does not exist at that moment."""
    streams = expansion.streams
    exists = [not stream.is_created_by_step for stream in streams]
    changed = [-1] * len(streams)
    for index, step in enumerate(expansion.steps):
        match step:
            case s.CreateStream(stream=stream):
                if exists[stream]:
                    yield _stream_fault(
                        expansion, index, stream, "create", "stream-exists",
                        "exists already", changed[stream],
                    )  # fmt: skip
                exists[stream], changed[stream] = True, index
            case s.DestroyStream(stream=stream):
                if not exists[stream]:
                    yield _gone(expansion, index, stream, "destroy", changed[stream])
                exists[stream], changed[stream] = False, index
            case s.SyncStream(stream=stream) | s.QueryStream(stream=stream):
                if not exists[stream]:
                    yield _gone(expansion, index, stream, "stream", changed[stream])
            case s.SyncEvent() | s.SyncDevice() | s.QueryEvent() | s.HostWork() | s.Release():
                pass
            case s.CallDriver():
                pass
            case s.Trim() | s.Sample():
                pass
            case _:
                if not exists[step.stream]:
                    key = "hold" if isinstance(step, s.Hold) else "stream"
                    yield _gone(expansion, index, step.stream, key, changed[step.stream])
    if expansion.settings.n_iterations == 1:
        return
    for number, stream_spec in enumerate(streams):
        if exists[number] is not stream_spec.is_created_by_step:
            continue
        key = "create" if exists[number] else "destroy"
        done, missing = ("created", "destroyed") if exists[number] else ("destroyed", "created")
        yield _stream_fault(
            expansion, changed[number], number, key, "stream-not-restored",
            f"is {done} but not {missing} again; the next iteration starts without it"
            if missing == "created"
            else f"is {done} but not {missing}; the next iteration cannot create it again",
            -1,
        )  # fmt: skip


def _gone(expansion: Expansion, step: int, stream: int, key: str, destroyed: int) -> Fault:
    if destroyed >= 0:
        return _stream_fault(
            expansion, step, stream, key, "stream-destroyed", "has been destroyed", destroyed
        )
    return _stream_fault(
        expansion, step, stream, key, "stream-not-created", "has not been created yet", -1
    )


def _stream_fault(
    expansion: Expansion, step: int, stream: int, key: str, code: str, what: str, since: int
) -> Fault:
    notes: tuple[Note, ...] = ()
    if since >= 0:
        kind = s.KIND_NAMES[type(expansion.steps[since])]
        done = "created here" if kind == "create" else "destroyed here"
        notes = (Note(place=expansion.place(since, kind), message=done),)
    elif code == "stream-exists":
        note = "declared here, and no step before creates or destroys it"
        notes = (Note(place=expansion.stream_places[stream], message=note),)
    return Fault(
        place=expansion.place(step, key),
        code=code,
        message=f"stream {expansion.streams[stream].name} {what}",
        notes=notes,
    )


def fill_faults(expansion: Expansion) -> Iterator[Fault]:
    """Checks of a buffer that no fill has written, or that something has overwritten since."""
    overwritten: dict[int, int] = {}
    for index, step in enumerate(expansion.steps):
        for buffer in overwrites(step):
            overwritten[buffer] = index
        match step:
            case s.Fill(buffer=buffer):
                overwritten.pop(buffer, None)
            case s.Check(buffer=buffer, seed=seed):
                name, written = expansion.buffers[buffer].name, expansion.written[buffer]
                place = expansion.place(index, "check")
                if seed == 0:
                    yield Fault(
                        place=place,
                        code="check-without-fill",
                        message=f"{name} has not been filled; there is no pattern to check",
                        written=written,
                    )
                elif buffer in overwritten:
                    other = expansion.place(overwritten[buffer])
                    yield Fault(
                        place=place,
                        code="check-after-overwrite",
                        message=f"{name} has been overwritten since its fill; this check would "
                        "find corruption where there is none",
                        written=written,
                        notes=(Note(place=other, message="overwritten here"),),
                    )
            case _:
                pass


def control_faults(expansion: Expansion) -> Iterator[Fault]:
    yield from event_faults(expansion)
    yield from latch_faults(expansion)
    yield from stream_faults(expansion)
    yield from fill_faults(expansion)
