"""The calibration scenarios, run on one backend, and the profile that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from poolbench.backends.base import Backend
from poolbench.backends.model.profile import DeviceProfile
from poolbench.backends.model.profile_file import ProfileFile
from poolbench.calibrate.readings import figures
from poolbench.calibrate.samples import Figure, Runs
from poolbench.domain import COMBINATIONS, Baseline, Case, Pass, Row, Status, row_name
from poolbench.errors import DeviceFailed
from poolbench.plan.build import build_plan
from poolbench.results.environment import Environment
from poolbench.scenario.find import calibrations
from poolbench.scenario.load import load

N_TRACED = 3
N_TIMED = 7
N_ROUNDS = N_TRACED + N_TIMED

_OFF, _OPPORTUNISTIC = COMBINATIONS[0], COMBINATIONS[2]
_TIMED: Mapping[str, tuple[Row, ...]] = {
    "steps": (_OFF,),
    "looks": (_OFF, _OPPORTUNISTIC),
    "marks": (_OFF, _OPPORTUNISTIC),
}
"""Scenarios whose timed runs count; the others are traced."""
_ROWS: Mapping[str, tuple[Row, ...]] = {"plain": (Baseline.CUDAMALLOC,)}
_USABLE = (Status.OK, Status.OUT_OF_MEMORY)


def n_runs() -> int:
    return sum(N_TIMED if is_timed else N_TRACED for _, _, is_timed in _wanted())


def _wanted() -> Iterator[tuple[str, Row, bool]]:
    for path in calibrations():
        name = path.stem
        rows = _TIMED.get(name) or _ROWS.get(name, (_OFF,))
        for row in rows:
            yield name, row, name in _TIMED


def measure(
    backend: Backend, base: DeviceProfile, *, on_progress: Callable[[], None] | None = None
) -> tuple[dict[str, Figure], Environment]:
    """Every figure that can be measured.  Raises `DeviceFailed` where a run has no result.

    Repetitions are interleaved: what disturbs the machine for a while disturbs all alike.
    """
    paths = {path.stem: path for path in calibrations()}
    runs: dict[str, Runs] = {}
    for repetition in range(N_ROUNDS):
        for name, row, is_timed in _wanted():
            if repetition >= (N_TIMED if is_timed else N_TRACED):
                continue
            key = name if row is _OFF else f"{name}/{row_name(row)}"
            if key not in runs:
                scenario = load(paths[name])
                plan = build_plan(scenario, Case(scenario=name, row=row))
                runs[key] = Runs(plan=plan, traced=(), timed=())
            one = runs[key]
            measured = Pass.TIMED if is_timed else Pass.TRACED
            trace = backend.run(one.plan, measured=measured, repetition=repetition)
            if trace.status not in _USABLE:
                raise DeviceFailed(f"calibrate/{key}: {trace.status}: {trace.reason}")
            if not is_timed:
                runs[key] = replace(one, traced=(*one.traced, trace))
            elif repetition:  # the first warms up
                runs[key] = replace(one, timed=(*one.timed, trace))
            if on_progress is not None:
                on_progress()
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
