"""A scenario file to a `Scenario`, or every fault of it at once.

Pure but for reading the file and the CUDA C beside it.  References (`$x`) and names are not looked
up here: that is the planner's, which knows the axis values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from poolbench.errors import BadInput, Note, Place, Problem
from poolbench.scenario import source as yaml_source
from poolbench.scenario.fields import Faults, validate, wrong_paths
from poolbench.scenario.heads import check_head
from poolbench.scenario.kernels import check_kernel_step, read_sources
from poolbench.scenario.names import names_as_written, names_of, rows_as_written
from poolbench.scenario.nearest import near
from poolbench.scenario.recorded import read_workload
from poolbench.scenario.rest import without
from poolbench.scenario.scenario import Path, Scenario, StepNode
from poolbench.scenario.schema import HeadModel
from poolbench.scenario.source import MAX_SIZE, TOO_LARGE, Source
from poolbench.scenario.step_models import (
    IN_A_GRAPH,
    STEP_MODELS,
    WITH_STEPS,
    KernelStep,
    QueryStep,
    SyncStep,
)
from poolbench.scenario.syntax import place_at
from poolbench.scenario.wording import form, shown

MAX_STEPS = 20_000
MAX_PROBLEMS = 100
_MAX_PASSES = 6
"""What lacks a part that was wrong may be wrong for that: it goes too, and what holds it."""
_FIELDS = frozenset(key for model in STEP_MODELS.values() for key in model.model_fields) | {"steps"}
"""Keys of steps; that of an unknown step is not one of them."""


def load(path: FilePath) -> Scenario:
    """Raises `BadInput` with every problem of the file."""
    file = str(path)
    start = Place(line=1, column=1)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_SIZE + 1)
    except OSError as fault:
        message = f"the file cannot be read: {fault.strerror}"
        raise _unreadable(file, message, "unreadable", start) from None
    if len(raw) > MAX_SIZE:
        raise _unreadable(file, TOO_LARGE, "too-large", start)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        before = raw[: fault.start].decode("utf-8").removeprefix("\ufeff")
        place = place_at(before, len(before))
        message = f"the byte 0x{raw[fault.start]:02X} is not UTF-8 text"
        raise _unreadable(file, message, "not-utf8", place) from None
    return load_text(text, file=file, folder=path.parent, default_name=path.stem)


def _unreadable(file: str, message: str, code: str, place: Place) -> BadInput:
    problem = Problem(file=file, place=place, message=message, code=code)
    return BadInput((problem,), {})


def load_text(
    text: str, *, file: str, folder: FilePath | None, default_name: str = "scenario"
) -> Scenario:
    """`folder` is where CUDA C beside the scenario may lie; `None`: nowhere.  Raises `BadInput`."""
    found = yaml_source.parse(text, file=file)
    told = frozenset(problem.place for problem in found.problems)
    faults = Faults(file=file, source=found, problems=found.problems, told=told)
    scenario = None
    if found.is_whole:
        scenario = _scenario(found, faults, text, file, folder, default_name)
    if scenario is None or faults.problems:
        raise BadInput(_first_of(faults.problems), {file: text})
    return scenario


def _first_of(problems: list[Problem]) -> tuple[Problem, ...]:
    """Each once, and no more than anybody reads; the last one says how many there are."""
    unique = sorted(set(problems), key=lambda problem: problem.sort_key)
    if len(unique) <= MAX_PROBLEMS:
        return tuple(unique)
    rest = unique[MAX_PROBLEMS:]
    more = Problem(
        file=rest[0].file,
        place=rest[0].place,
        message=f"{len(rest):,} more problems from here on are not shown",
        code="too-many-problems",
    )
    return (*unique[:MAX_PROBLEMS], more)


def _scenario(
    found: Source,
    faults: Faults,
    text: str,
    file: str,
    folder: FilePath | None,
    default_name: str,
) -> Scenario | None:
    if found.value is None and not found.problems:
        start = Place(line=1, column=1)
        faults.add_at(start, "the file is empty; a scenario needs `steps`", "empty")
        return None
    if not isinstance(found.value, dict):
        message = f"a scenario is a mapping with `steps`, found {form(found.value)}"
        faults.add((), message, "wrong-type")
        return None
    raw_head = {key: value for key, value in found.value.items() if key != "steps"}
    if "expect" in raw_head:
        raw_head["expect"] = rows_as_written(raw_head["expect"], ("expect",), found.written)
    head, is_whole = _head(raw_head, faults)
    is_recorded = "recorded" in found.value
    steps = () if is_recorded else _steps(found, faults)
    if is_recorded and "steps" in found.value:
        faults.add_key(("steps",), "`recorded` stands in place of `steps`", "two-kinds")
    check_head(head, names_of(raw_head, "parameters"), faults)
    kernels = names_of(raw_head, "kernels")
    _check_kernel_steps(steps, kernels, faults)
    sources = read_sources(head, folder, faults)
    workload = read_workload(head, folder, faults)
    if not is_whole:
        return None
    return Scenario(
        name=head.name or _name_of(default_name),
        file=file,
        text=text,
        head=head,
        steps=steps,
        places=found.places,
        sources=sources,
        workload=workload,
    )


def _head(raw: Mapping[str, Any], faults: Faults) -> tuple[HeadModel, bool]:
    """The head, and whether it is whole; where it has faults, what is left without them."""
    head = validate(HeadModel, raw, (), faults, extra_keys=("steps",))
    if isinstance(head, HeadModel):
        return head, True
    left, wrong = raw, head
    for _ in range(_MAX_PASSES):
        left = without(left, wrong)
        try:
            return HeadModel.model_validate(left), False
        except ValidationError as fault:
            wrong = wrong_paths(fault, left)
    return HeadModel(), False


def _name_of(stem: str) -> str:
    """A file's stem as a scenario's name: letters, digits, `_` and `-`."""
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in stem)
    return cleaned.strip("-_")[:60] or "scenario"


def _steps(found: Source, faults: Faults) -> tuple[StepNode, ...]:
    if "steps" not in found.value:
        unknown = [key for key in found.value if key not in HeadModel.model_fields]
        if near("steps", unknown) is None:  # else that key has been told of
            faults.add((), "the scenario has no `steps`", "no-steps")
        return ()
    budget = [MAX_STEPS]
    return _step_list(found.value["steps"], ("steps",), faults, budget)


def _step_list(raw: Any, path: Path, faults: Faults, budget: list[int]) -> tuple[StepNode, ...]:
    if not isinstance(raw, list):
        faults.add(path, f"expected a list of steps, found {form(raw)}", "wrong-type")
        return ()
    if not raw:
        faults.add(path, "there are no steps here", "no-steps")
    nodes = []
    for index, item in enumerate(raw):
        budget[0] -= 1
        if budget[0] < 0:
            if budget[0] == -1:
                faults.add((*path, index), f"more than {MAX_STEPS} steps", "too-many-values")
            break
        node = _step(item, (*path, index), faults, budget)
        if node is not None:
            nodes.append(node)
    return tuple(nodes)


def _step(raw: Any, path: Path, faults: Faults, budget: list[int]) -> StepNode | None:
    if not isinstance(raw, dict):
        example = "{alloc: x, size: 1MiB, stream: a}"
        message = f"expected a step such as {example}, found {form(raw)}"
        faults.add(path, message, "wrong-type")
        return None
    kind = _kind(raw, path, faults)
    if kind is None:
        if isinstance(raw.get("steps"), list):  # what was to be a repeat
            _step_list(raw["steps"], (*path, "steps"), faults, budget)
        return None
    fields = names_as_written(raw, path, faults.source.written)
    body: tuple[StepNode, ...] = ()
    if kind in WITH_STEPS:
        if "steps" in fields:
            body = _step_list(fields.pop("steps"), (*path, "steps"), faults, budget)
        else:
            faults.add(path, f"a {kind} needs `steps`", "missing-key")
    extra = ("steps",) if kind in WITH_STEPS else ()
    step = validate(STEP_MODELS[kind], fields, path, faults, extra_keys=extra)
    if isinstance(step, frozenset):
        return None
    if isinstance(step, SyncStep | QueryStep):
        _check_target(step, kind, path, faults)
    if kind == "graph":
        _check_graph(body, faults)
    places = {key: faults.place((*path, key)) for key in raw}
    return StepNode(kind=kind, step=step, place=faults.place(path), places=places, body=body)


def _kind(raw: Mapping[str, Any], path: Path, faults: Faults) -> str | None:
    kinds = [key for key in raw if key in STEP_MODELS]
    if len(kinds) == 1:
        return kinds[0]
    if len(kinds) > 1:
        first, second = kinds[:2]
        message = f"a step does one thing; here it is {first} and {second}"
        note = Note(place=faults.source.key_places[(*path, first)], message=f"{first} is here")
        faults.add_key((*path, second), message, "two-kinds", (note,))
        return None
    known = tuple(STEP_MODELS)
    for key in raw:
        is_other = key not in _FIELDS and not faults.is_flooded
        found = near(key, known) if is_other else None
        if found is not None:
            message = f"there is no step {shown(key)}; did you mean {found}?"
            faults.add_key((*path, key), message, "no-kind")
            return None
    unknown = next((key for key in raw if key not in _FIELDS), None)
    if unknown is not None:
        message = f"there is no step {shown(unknown)}; known: {', '.join(known)}"
        faults.add_key((*path, unknown), message, "no-kind")
    else:
        message = f"no key says what this step does; known: {', '.join(known)}"
        faults.add(path, message, "no-kind")
    return None


def _check_target(step: SyncStep | QueryStep, kind: str, path: Path, faults: Faults) -> None:
    """`sync: stream` needs `stream`, `sync: event` needs `event`, and neither takes the other."""
    target = step.sync if isinstance(step, SyncStep) else step.query
    for key in ("stream", "event"):
        value = getattr(step, key)
        if key == target and value is None:
            faults.add((*path, key), f"`{kind}: {key}` needs `{key}`", "missing-key")
        if key != target and value is not None:
            message = f"`{kind}: {target}` does not take `{key}`"
            faults.add_key((*path, key), message, "key-not-used")


def _check_graph(body: tuple[StepNode, ...], faults: Faults) -> None:
    for node in body:
        if node.kind not in IN_A_GRAPH:
            message = f"a graph cannot hold `{node.kind}`; it can hold {', '.join(IN_A_GRAPH)}"
            faults.add_at(node.place, message, "not-in-a-graph")
        elif node.kind == "repeat":
            _check_graph(node.body, faults)


def _check_kernel_steps(
    steps: tuple[StepNode, ...], kernels: frozenset[str], faults: Faults
) -> None:
    for node in steps:
        if isinstance(node.step, KernelStep):
            check_kernel_step(node, node.step, kernels, faults)
        _check_kernel_steps(node.body, kernels, faults)
