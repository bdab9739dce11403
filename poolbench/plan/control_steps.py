"""Steps that order and control: events, synchronisations, queries, latches, streams.

Faults go to the scope's list, as in `step_values`.
"""

from __future__ import annotations

from typing import assert_never

from poolbench.domain import StreamKind
from poolbench.plan import steps
from poolbench.plan.step_values import Made, Source, Values
from poolbench.scenario import fieldtypes
from poolbench.scenario import step_models as models


def event_step(to: Values, source: Source, model: models.RecordStep | models.WaitStep) -> Made:
    """`record`, `wait`."""
    is_record = isinstance(model, models.RecordStep)
    key = "record" if is_record else "wait"
    written = model.record if isinstance(model, models.RecordStep) else model.wait
    event = to.event(source, key, written)
    stream = to.stream(source, "stream", model.stream)
    name = to.name(source, key, written) or ""
    if event is None:
        return None, name
    if is_record:
        to.tables.recorded.add(event)
    if stream is None:
        return None, name
    make = steps.Record if is_record else steps.Wait
    return make(stream=stream, event=event), name


def host_step(to: Values, source: Source, model: models.SyncStep | models.QueryStep) -> Made:
    """`sync`, `query`: the target decides which other key is needed, and none else is taken."""
    is_sync = isinstance(model, models.SyncStep)
    key = "sync" if is_sync else "query"
    target = model.sync if isinstance(model, models.SyncStep) else model.query
    for other, given in (("stream", model.stream), ("event", model.event)):
        if other == target and given is None:
            to.error(source, key, "missing-key", f"{key}: {target} needs the key {other}")
        elif other != target and given is not None:
            to.error(
                source, other, "key-not-used", f"{key}: {target} has no use for the key {other}"
            )
    if target == "stream" and model.stream is not None:
        stream = to.stream(source, "stream", model.stream)
        name = to.name(source, "stream", model.stream) or ""
        if stream is None:
            return None, name
        return (steps.SyncStream if is_sync else steps.QueryStream)(stream=stream), name
    if target == "event" and model.event is not None:
        event = to.event(source, "event", model.event)
        name = to.name(source, "event", model.event) or ""
        if event is None:
            return None, name
        return (steps.SyncEvent if is_sync else steps.QueryEvent)(event=event), name
    return (steps.SyncDevice(), "device") if target == "device" else (None, "")


def callback(to: Values, source: Source, model: models.CallbackStep) -> Made:
    """`callback`."""
    duration_ns = to.number(source, "callback", model.callback, fieldtypes.read_duration)
    stream = to.stream(source, "stream", model.stream)
    if stream is None:
        return None, ""
    return steps.Callback(stream=stream, duration_ns=duration_ns or 0), ""


def stream_step(
    to: Values,
    source: Source,
    model: models.HoldStep | models.ReleaseStep | models.CreateStep | models.DestroyStep,
) -> Made:
    """`hold`, `release`, `create`, `destroy`."""
    match model:
        case models.HoldStep(hold=written):
            key = "hold"
        case models.ReleaseStep(release=written):
            key = "release"
        case models.CreateStep(create=written):
            key = "create"
        case models.DestroyStep(destroy=written):
            key = "destroy"
        case _:
            assert_never(model)
    stream = to.stream(source, key, written)
    if stream is None:
        return None, ""
    spec, tables = to.tables.streams[stream], to.tables
    if key in ("create", "destroy") and spec.kind in (
        StreamKind.LEGACY_DEFAULT,
        StreamKind.PER_THREAD_DEFAULT,
    ):
        to.error(
            source,
            key,
            "default-stream",
            f"stream {spec.name} is a default stream; no step creates or destroys it",
            written,
        )
        return None, spec.name
    match model:
        case models.HoldStep():
            return steps.Hold(stream=stream, ticket=tables.hold(stream)), spec.name
        case models.ReleaseStep():
            return steps.Release(stream=stream, ticket=tables.release(stream)), spec.name
        case models.CreateStep():
            tables.note_create(stream)
            return steps.CreateStream(stream=stream), spec.name
        case models.DestroyStep():
            tables.note_destroy(stream)
            return steps.DestroyStream(stream=stream), spec.name
        case _:
            assert_never(model)
