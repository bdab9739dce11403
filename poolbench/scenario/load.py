"""A scenario file to a `Scenario`, or every fault of it at once.

Pure but for reading the file and the CUDA C beside it.  References (`$x`) and names are not looked
up here: that is the planner's, which knows the axis values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from poolbench.errors import BadInput, Place, Problem
from poolbench.scenario import source as yaml_source
from poolbench.scenario.fields import Faults, validate
from poolbench.scenario.heads import check_head
from poolbench.scenario.kernels import check_kernel_step, read_sources
from poolbench.scenario.scenario import Path, Scenario, StepNode
from poolbench.scenario.schema import STEP_MODELS, HeadModel, KernelStep, QueryStep, SyncStep
from poolbench.scenario.source import Source

MAX_STEPS = 20_000
_COMMON = frozenset({"label", "when", "every"})


def load(path: FilePath) -> Scenario:
    """Raises `BadInput` with every problem of the file."""
    file = str(path)
    try:
        raw = path.read_bytes()
    except OSError as fault:
        message = f"cannot be read: {fault.strerror}"
        raise _unreadable(file, message, "unreadable", Place(line=1, column=1)) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        column = fault.start - raw.rfind(b"\n", 0, fault.start)
        place = Place(line=line, column=column)
        raise _unreadable(file, "is not UTF-8 text", "not-utf8", place) from None
    return load_text(text, file=file, folder=path.parent, default_name=path.stem)


def _unreadable(file: str, message: str, code: str, place: Place) -> BadInput:
    problem = Problem(file=file, place=place, message=message, code=code)
    return BadInput((problem,), {})


def load_text(
    text: str, *, file: str, folder: FilePath | None, default_name: str = "scenario"
) -> Scenario:
    """`folder` is where CUDA C beside the scenario may lie; `None`: nowhere.  Raises `BadInput`."""
    found = yaml_source.parse(text, file=file)
    faults = Faults(file=file, source=found, problems=found.problems)
    scenario = None
    if found.value is not None or not found.problems:
        scenario = _scenario(found, faults, text, file, folder, default_name)
    if scenario is None or faults.problems:
        unique = tuple(dict.fromkeys(faults.problems))
        raise BadInput(unique, {file: text})
    return scenario


def _scenario(
    found: Source,
    faults: Faults,
    text: str,
    file: str,
    folder: FilePath | None,
    default_name: str,
) -> Scenario | None:
    if not isinstance(found.value, dict):
        faults.add((), "a scenario is a mapping with the keys `streams` and `steps`", "wrong-type")
        return None
    raw_head = {key: value for key, value in found.value.items() if key != "steps"}
    head = validate(HeadModel, raw_head, (), faults, extra_keys=("steps",))
    steps = _steps(found, faults)
    if head is None:
        return None
    check_head(head, faults)
    kernels = frozenset(head.kernels)
    _check_kernel_steps(steps, kernels, faults, ("steps",))
    return Scenario(
        name=head.name or _name_of(default_name),
        file=file,
        text=text,
        head=head,
        steps=steps,
        places=found.places,
        sources=read_sources(head, folder, faults),
    )


def _name_of(stem: str) -> str:
    """A file's stem as a scenario's name: letters, digits, `_` and `-`."""
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in stem)
    return cleaned.strip("-_")[:60] or "scenario"


def _steps(found: Source, faults: Faults) -> tuple[StepNode, ...]:
    if "steps" not in found.value:
        faults.add((), "the scenario has no `steps`", "no-steps")
        return ()
    budget = [MAX_STEPS]
    return _step_list(found.value["steps"], ("steps",), faults, budget)


def _step_list(raw: Any, path: Path, faults: Faults, budget: list[int]) -> tuple[StepNode, ...]:
    if not isinstance(raw, list):
        faults.add(path, "expected a list of steps", "wrong-type")
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
        message = "expected a step, such as {alloc: x, size: 1MiB, stream: a}"
        faults.add(path, message, "wrong-type")
        return None
    kind = _kind(raw, path, faults)
    if kind is None:
        return None
    fields = dict(raw)
    body: tuple[StepNode, ...] = ()
    if kind == "repeat":
        if "steps" in fields:
            body = _step_list(fields.pop("steps"), (*path, "steps"), faults, budget)
        else:
            faults.add(path, "a repeat needs `steps`", "missing-key")
    extra = ("steps",) if kind == "repeat" else ()
    step = validate(STEP_MODELS[kind], fields, path, faults, extra_keys=extra)
    if step is None:
        return None
    if isinstance(step, SyncStep | QueryStep):
        _check_target(step, kind, path, faults)
    places = {key: faults.place((*path, key)) for key in raw}
    return StepNode(kind=kind, step=step, place=faults.place(path), places=places, body=body)


def _kind(raw: Mapping[str, Any], path: Path, faults: Faults) -> str | None:
    kinds = [key for key in raw if key in STEP_MODELS]
    if len(kinds) == 1:
        return kinds[0]
    if len(kinds) > 1:
        first, second = kinds[:2]
        faults.add_key((*path, second), f"a step is one thing: {first} or {second}", "two-kinds")
        return None
    unknown = [key for key in raw if key not in _COMMON]
    if not unknown:
        faults.add(path, f"what does this step do?  known: {', '.join(STEP_MODELS)}", "no-kind")
        return None
    hint = faults.suggestion(unknown[0], STEP_MODELS)
    message = f"no step has this first key: {unknown[0][:40]!r}{hint}"
    faults.add_key((*path, unknown[0]), message, "no-kind")
    return None


def _check_target(step: SyncStep | QueryStep, kind: str, path: Path, faults: Faults) -> None:
    """`sync: stream` needs `stream`, `sync: event` needs `event`, and neither takes the other."""
    target = step.sync if isinstance(step, SyncStep) else step.query
    for key in ("stream", "event"):
        value = getattr(step, key)
        if key == target and value is None:
            faults.add(path, f"`{kind}: {key}` needs `{key}`", "missing-key")
        if key != target and value is not None:
            message = f"`{kind}: {target}` does not take `{key}`"
            faults.add_key((*path, key), message, "key-not-used")


def _check_kernel_steps(
    steps: tuple[StepNode, ...], kernels: frozenset[str], faults: Faults, path: Path
) -> None:
    for node in steps:
        if isinstance(node.step, KernelStep):
            check_kernel_step(node, node.step, kernels, faults)
        _check_kernel_steps(node.body, kernels, faults, path)
