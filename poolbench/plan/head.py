"""The head of a scenario with every reference resolved: settings, streams, buffers, kernels.

Pure but for the faults it adds.  Sizes are bytes, durations nanoseconds.  A value with a fault is
replaced by a placeholder, so that the faults behind it are found in the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from poolbench.domain import Issue, OnOom, StreamKind, StreamPriority
from poolbench.errors import Note, Place
from poolbench.plan.faults import Fault
from poolbench.plan.names import references_of, suggestion, text_of
from poolbench.plan.plan import BufferSpec, KernelSource, StreamSpec
from poolbench.plan.scope import Scope, Unreadable
from poolbench.plan.settings import apply_setting, read_setting
from poolbench.scenario.fieldtypes import (
    read_count,
    read_duration,
    read_limit,
    read_size,
    read_threshold,
)
from poolbench.scenario.scenario import Path, Scenario
from poolbench.scenario.schema import AXIS_SETTINGS, HeadModel, StreamModel
from poolbench.scenario.values import Ref
from poolbench.units import format_size

MAX_STREAMS = 128
MAX_BUFFERS = 4096
BUILT_IN_KERNELS = ("spin", "stream", "compute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The part of a plan that is neither steps nor names."""

    n_iterations: int
    max_size: int
    release_threshold: int
    prime: int
    leave_free: int | None
    on_oom: OnOom
    issue: Issue
    pace_ns: int
    latch_limit_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """`stream_places` says where each of `streams` is declared."""

    settings: Settings
    streams: tuple[StreamSpec, ...]
    stream_places: tuple[Place, ...]
    buffers: tuple[BufferSpec, ...]
    kernels: tuple[KernelSource, ...]


def _axis_place(scenario: Scenario, name: str, text: str) -> Place:
    texts = [text_of(value) for value in scenario.head.axes.get(name, ())]
    path: Path = ("axes", name, texts.index(text)) if text in texts else ("axes", name)
    return scenario.place_of(*path)


def _with_axes(scenario: Scenario, scope: Scope, axes: Mapping[str, str]) -> HeadModel:
    """The head with this combination's settings, and faults for axes that vary nothing."""
    head = scenario.head
    used = references_of(scenario)
    for name, text in axes.items():
        if name in AXIS_SETTINGS:
            try:
                head = apply_setting(head, name, read_setting(name, text))
            except Unreadable as fault:
                place = _axis_place(scenario, name, text)
                scope.faults.error(place, fault.code, f"axis {name}: {fault}", written=text)
        elif name not in head.parameters and name not in used:
            near = suggestion(name, [*head.parameters, *AXIS_SETTINGS])
            scope.faults.error(
                scenario.place_of("axes", name),
                "unknown-axis",
                f"axis {name} is neither a parameter nor a setting{near}",
            )
    return head


def _settings(scenario: Scenario, head: HeadModel, scope: Scope) -> Settings:
    place_of = scenario.place_of
    n_iterations = scope.number(head.iterations, place_of("iterations"), read_count)
    if n_iterations == 0:
        scope.faults.error(
            place_of("iterations"), "out-of-range", "there must be at least one iteration"
        )
    pool, leave_free = head.pool, head.device.leave_free
    threshold_place = place_of("pool", "release_threshold")
    return Settings(
        n_iterations=n_iterations or 1,
        max_size=scope.number(pool.max_size, place_of("pool", "max_size"), read_limit) or 0,
        release_threshold=scope.number(pool.release_threshold, threshold_place, read_threshold)
        or 0,
        prime=scope.number(pool.prime, place_of("pool", "prime"), read_size) or 0,
        leave_free=None
        if leave_free is None
        else scope.number(leave_free, place_of("device", "leave_free"), read_size),
        on_oom=scope.choice(head.on_oom, OnOom, place_of("on_oom")) or OnOom.FAIL,
        issue=scope.choice(head.issue, Issue, place_of("issue")) or Issue.LIVE,
        pace_ns=scope.number(head.pace, place_of("pace"), read_duration) or 0,
        latch_limit_ns=scope.number(head.latch_limit, place_of("latch_limit"), read_duration) or 0,
    )


def _indexed(
    scope: Scope, name: str, count: int | Ref | None, place: Place, limit: int
) -> Iterator[str]:
    """`NAME`, or `NAME0` and on where there is a count; no more than one over the limit."""
    if count is None:
        yield name
        return
    number = scope.number(count, place, read_count) or 0
    for index in range(min(number, limit + 1)):
        yield f"{name}{index}"


def _streams(scenario: Scenario, scope: Scope) -> tuple[tuple[StreamSpec, ...], tuple[Place, ...]]:
    streams: list[StreamSpec] = []
    places: list[Place] = []
    declared: dict[str, Place] = {}
    defaults: dict[StreamKind, tuple[str, Place]] = {}
    for key, given in scenario.head.streams.items():
        model = given or StreamModel()
        place = scenario.place_of("streams", key)
        is_default = model.kind in (StreamKind.LEGACY_DEFAULT, StreamKind.PER_THREAD_DEFAULT)
        if is_default and model.priority is not StreamPriority.NORMAL:
            scope.faults.error(
                scenario.place_of("streams", key, "priority"),
                "default-stream",
                f"stream {key} is a default stream; its priority cannot be chosen",
            )
        count_place = scenario.place_of("streams", key, "count")
        for name in _indexed(scope, key, model.count, count_place, MAX_STREAMS):
            if len(streams) == MAX_STREAMS:
                scope.faults.error(
                    place, "too-many-streams", f"more than {MAX_STREAMS} streams are declared"
                )
                return tuple(streams), tuple(places)
            if name in declared:
                note = Note(place=declared[name], message="declared here first")
                scope.faults.error(
                    place, "duplicate-name", f"stream {name} is declared twice", notes=(note,)
                )
                continue
            if is_default and model.kind in defaults:
                other, other_place = defaults[model.kind]
                scope.faults.error(
                    place,
                    "default-stream",
                    f"streams {other} and {name} are both the {model.kind} stream; there is one",
                    notes=(Note(place=other_place, message=f"{other} is declared here"),),
                )
                continue
            defaults.setdefault(model.kind, (name, place))
            declared[name] = place
            places.append(place)
            streams.append(StreamSpec(name=name, kind=model.kind, priority=model.priority))
    return tuple(streams), tuple(places)


def _buffers(scenario: Scenario, scope: Scope) -> tuple[BufferSpec, ...]:
    buffers: list[BufferSpec] = []
    declared: dict[str, Place] = {}
    for key, model in scenario.head.buffers.items():
        place = scenario.place_of("buffers", key)
        size_place = scenario.place_of("buffers", key, "size")
        size = scope.number(model.size, size_place, read_size)
        if size == 0:
            scope.faults.error(size_place, "zero-size", f"buffer {key} has 0 bytes")
        count_place = scenario.place_of("buffers", key, "count")
        for name in _indexed(scope, key, model.count, count_place, MAX_BUFFERS):
            if len(buffers) == MAX_BUFFERS:
                scope.faults.error(
                    place, "too-many-buffers", f"more than {MAX_BUFFERS} buffers are declared"
                )
                return tuple(buffers)
            if name in declared:
                note = Note(place=declared[name], message="declared here first")
                scope.faults.error(
                    place, "duplicate-name", f"buffer {name} is declared twice", notes=(note,)
                )
                continue
            declared[name] = place
            buffers.append(BufferSpec(name=name, size=size or 0, memory=model.memory))
    return tuple(buffers)


def _kernels(scenario: Scenario, scope: Scope) -> tuple[KernelSource, ...]:
    kernels = []
    for name, model in scenario.head.kernels.items():
        if name in BUILT_IN_KERNELS:
            scope.faults.error(
                scenario.place_of("kernels", name),
                "name-taken",
                f"kernel {name} is built in; give yours another name",
            )
        predicted_ns = (
            None
            if model.predicted is None
            else scope.number(
                model.predicted, scenario.place_of("kernels", name, "predicted"), read_duration
            )
        )
        kernels.append(
            KernelSource(
                name=name,
                entry=model.entry or name,
                text=scenario.sources.get(name, model.source or ""),
                predicted_ns=predicted_ns,
            )
        )
    return tuple(kernels)


def _advice(scenario: Scenario, settings: Settings) -> Iterator[Fault]:
    """Warnings about settings that cannot have their effect."""
    if 0 < settings.max_size < settings.prime:
        yield Fault(
            place=scenario.place_of("pool", "prime"),
            code="larger-than-pool",
            message=f"pool.prime ({format_size(settings.prime)}) is larger than pool.max_size "
            f"({format_size(settings.max_size)}); priming can never succeed",
            is_warning=True,
        )
    if settings.issue is Issue.AHEAD and settings.pace_ns:
        yield Fault(
            place=scenario.place_of("pace"),
            code="pace-not-used",
            message="with `issue: ahead` the host queues as fast as it can; pace has no effect",
            is_warning=True,
        )


def resolve_head(scenario: Scenario, scope: Scope, axes: Mapping[str, str]) -> Head:
    """The head under one combination of axis values; `scope` holds the parameters already."""
    head = _with_axes(scenario, scope, axes)
    streams, stream_places = _streams(scenario, scope)
    settings = _settings(scenario, head, scope)
    scope.faults.extend(_advice(scenario, settings))
    return Head(
        settings=settings,
        streams=streams,
        stream_places=stream_places,
        buffers=_buffers(scenario, scope),
        kernels=_kernels(scenario, scope),
    )
