"""The calibration scenarios, run on one backend, and the profile that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from poolbench.backends.base import Backend
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import ProfileFile
from poolbench.calibrate.readings import figures
from poolbench.calibrate.samples import Figure, Runs
from poolbench.domain import COMBINATIONS, Baseline, Case, Pass, Row, Status, row_name
from poolbench.errors import DeviceFailed
from poolbench.plan.build import build_plan
from poolbench.plan.plan import Plan
from poolbench.results.environment import Environment
from poolbench.scenario.find import calibrations
from poolbench.scenario.load import load
from poolbench.trace import Trace

N_ROUNDS = 20

_OFF, _OPPORTUNISTIC = COMBINATIONS[0], COMBINATIONS[2]
_TIMED: Mapping[str, tuple[Row, ...]] = {
    "steps": (_OFF,),
    "looks": (_OFF, _OPPORTUNISTIC),
    "marks": (_OFF, _OPPORTUNISTIC),
}
"""Scenarios whose timed runs count; the others are traced."""
_ROWS: Mapping[str, tuple[Row, ...]] = {
    "plain": (Baseline.CUDAMALLOC,),
    "clearing": (Baseline.CUDAMALLOC,),
}
_N_WARM: Mapping[Pass, int] = {Pass.TRACED: 0, Pass.TIMED: 1}
"""So many runs at the start do not count; of a traced run it is the first calls that do not."""
_USABLE = (Status.OK, Status.OUT_OF_MEMORY)


def n_runs() -> int:
    return N_ROUNDS * len(_wanted())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """One case to run; `key` is `name`, or `name/row` where the row is another than `000`."""

    key: str
    plan: Plan
    measured: Pass


def _wanted() -> list[_Wanted]:
    """Those that fill the device come last: what they leave behind would slow copies down."""
    found = []
    for path in calibrations():
        name, scenario = path.stem, load(path)
        measured = Pass.TIMED if name in _TIMED else Pass.TRACED
        for row in _TIMED.get(name) or _ROWS.get(name, (_OFF,)):
            key = name if row is _OFF else f"{name}/{row_name(row)}"
            plan = build_plan(scenario, Case(scenario=name, row=row))
            found.append(_Wanted(key=key, plan=plan, measured=measured))
    return sorted(found, key=lambda one: one.plan.leave_free is not None)


def measure(
    backend: Backend, base: DeviceProfile, *, on_progress: Callable[[], None] | None = None
) -> tuple[dict[str, Figure], Environment]:
    """Every figure that can be measured.  Raises `DeviceFailed` where a run has no result.

    Repetitions are interleaved: what disturbs the machine for a while disturbs all alike.
    """
    backend.renew()
    wanted = _wanted()
    traces: dict[str, list[Trace]] = {one.key: [] for one in wanted}
    for _, group in groupby(wanted, key=lambda one: one.plan.leave_free is not None):
        turn = tuple(group)
        for repetition in range(N_ROUNDS):
            for one in turn:
                trace = backend.run(one.plan, measured=one.measured, repetition=repetition)
                if trace.status not in _USABLE:
                    raise DeviceFailed(f"calibrate/{one.key}: {trace.status}: {trace.reason}")
                traces[one.key].append(trace)
                if on_progress is not None:
                    on_progress()
    runs = {
        one.key: Runs(plan=one.plan, traces=tuple(traces[one.key][_N_WARM[one.measured] :]))
        for one in wanted
    }
    environment = backend.environment()
    return figures(runs, environment, base), environment


def profile_of(
    base: ProfileFile, found: Mapping[str, Figure], environment: Environment, name: str
) -> ProfileFile:
    """`base` with what was measured in the place of its own figures."""
    profile: Any = base.profile
    parts: dict[str, Any] = {part: getattr(profile, part) for part in ("pool", "host", "device")}
    for key, one in found.items():
        part, _, figure = key.rpartition(".")
        if part:
            parts[part] = replace(parts[part], **{figure: _like(parts[part], figure, one.value)})
        else:
            profile = replace(profile, **{figure: _like(profile, figure, one.value)})
    profile = replace(
        profile,
        name=name,
        compute_capability=environment.compute_capability,
        n_multiprocessors=environment.n_multiprocessors,
        memory_size=environment.memory_total or profile.memory_size,
        **parts,
    )
    told = f"poolbench calibrate, {environment.device}, driver {environment.driver}".rstrip(" ,")
    kept = {
        key: text if text.startswith("kept: ") else f"kept: {text}"
        for key, text in base.sources.items()
        if key not in found
    }
    return ProfileFile(
        profile=profile, made_by=told, sources={**kept, **dict.fromkeys(found, told)}
    )


def _like(holder: object, figure: str, value: float) -> float:
    """Whole where the figure is whole."""
    return round(value) if isinstance(getattr(holder, figure), int) else round(value, 3)
