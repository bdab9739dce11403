"""A kernel step: which keys its kernel has, its arguments, and how much of the GPU it fills.

Faults go to the scope's list, as in `step_values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from poolbench.plan import steps
from poolbench.plan.head import BUILT_IN_KERNELS
from poolbench.plan.names import suggestion
from poolbench.plan.step_values import Made, Source, Values
from poolbench.scenario import fieldtypes
from poolbench.scenario import step_models as models
from poolbench.scenario.values import REF

MAX_THREADS = 1024
DEFAULT_THREADS = 256

Argument = int | tuple[str, int | float]

_INTEGERS = {
    "i32": (-(2**31), 2**31 - 1),
    "u32": (0, 2**32 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
}
_FLOATS = ("f32", "f64")
_F32_MAX = 3.4028234663852886e38
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)

_KEYS: dict[str, tuple[str, ...]] = {
    "spin": ("duration", "reads", "writes"),
    "stream": ("reads", "writes"),
    "compute": ("flops", "reads", "writes"),
}
_OWN_KEYS = ("arguments", "reads", "writes")


def _typed(kind: str, value: int | float) -> tuple[str, int | float] | str:
    """A scalar argument, or what is wrong with it."""
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        if isinstance(value, float):
            return f"{value} is not a whole number"
        return (kind, value) if low <= value <= high else f"{value} does not fit {kind}"
    if kind not in _FLOATS:
        known = (*_INTEGERS, *_FLOATS)
        return (
            f"unknown type {kind[:20]!r}{suggestion(kind, known) or '; known: ' + ', '.join(known)}"
        )
    try:
        number = float(value)
    except OverflowError:
        return f"{value} does not fit {kind}"
    if kind == "f32" and _F32_MAX < abs(number) < float("inf"):
        return f"{value} does not fit {kind}"
    return (kind, number)


def _argument(
    to: Values, source: Source, raw: fieldtypes.Scalar | dict[str, int | float]
) -> Argument | None:
    found: tuple[str, int | float] | str
    if isinstance(raw, dict):
        if len(raw) == 1:
            kind, value = next(iter(raw.items()))
            found = _typed(kind, value)
        else:
            found = "a typed argument is a mapping of one type to one value, such as {u64: 1024}"
    elif isinstance(raw, bool):
        found = "true and false are no kernel arguments; write {i32: 1}"
    elif isinstance(raw, int):
        found = _typed("i64", raw)
    elif isinstance(raw, float):
        found = _typed("f32", raw)
    else:
        reference = REF.fullmatch(raw)
        if reference:
            text = to.scope.text(reference[1] or reference[2], source.place("arguments"))
            if text is None:
                return None
            if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
                is_whole = _INTEGER.fullmatch(text) is not None
                found = _typed("i64", int(text)) if is_whole else _typed("f32", float(text))
            else:
                return to.device_buffer(source, "arguments", raw, "kernel")
        else:
            return to.device_buffer(source, "arguments", raw, "kernel")
    if isinstance(found, str):
        to.error(source, "arguments", "bad-argument", found, str(raw))
        return None
    return found


def _wrong_keys(model: models.KernelStep, kernel: str) -> Iterator[tuple[str, str, str]]:
    """(key, code, message) of keys that the kernel lacks or has no use for."""
    allowed = _KEYS.get(kernel, _OWN_KEYS)
    given = {
        "duration": model.duration is not None,
        "flops": model.flops is not None,
        "arguments": bool(model.arguments),
    }
    for key, is_given in given.items():
        if is_given and key not in allowed:
            yield key, "key-not-used", f"kernel {kernel} has no use for the key {key}"
        if key in allowed and not is_given and key != "arguments":
            yield "kernel", "missing-key", f"kernel {kernel} needs the key {key}"
    if kernel == "stream" and not (model.reads or model.writes):
        yield "kernel", "missing-key", "kernel stream needs the key reads or writes"


def _grid(to: Values, source: Source, model: models.KernelStep, kernel: str) -> steps.Grid:
    is_own = kernel not in BUILT_IN_KERNELS
    numbers = {}
    for key, value, low, high in (
        ("blocks", model.blocks, 1, fieldtypes.MAX_COUNT),
        ("threads", model.threads, 1, MAX_THREADS),
    ):
        number = None if value is None else to.number(source, key, value, fieldtypes.read_count)
        if number is not None and not low <= number <= high:
            to.error(source, key, "out-of-range", f"{key} must be {low} to {high}, not {number}")
            number = None
        numbers[key] = number
    blocks, threads = numbers["blocks"], numbers["threads"]
    if model.share is not None and (model.blocks is not None or is_own):
        why = "blocks" if model.blocks is not None else f"a kernel of your own ({kernel})"
        to.error(source, "share", "bad-grid", f"share cannot be combined with {why}")
    if is_own and model.blocks is None:
        to.error(source, "kernel", "missing-key", f"kernel {kernel} needs the key blocks")
    if model.share is not None:
        return steps.Grid(share=model.share, threads=threads or DEFAULT_THREADS)
    if model.blocks is not None or is_own:
        return steps.Grid(blocks=blocks or 1, threads=threads or DEFAULT_THREADS)
    if kernel == "spin":
        return steps.Grid(blocks=1, threads=threads or 1)
    return steps.Grid(share=1.0, threads=threads or DEFAULT_THREADS)


def launch(to: Values, source: Source, model: models.KernelStep) -> Made:
    """The launch that a kernel step means, and the kernel's name."""
    name = to.name(source, "kernel", model.kernel)
    if name is None:
        return None, ""
    own = to.tables.kernel_index.get(name)
    if name not in BUILT_IN_KERNELS and own is None:
        known = [*BUILT_IN_KERNELS, *to.tables.kernel_index]
        to.error(
            source,
            "kernel",
            "unknown-kernel",
            f"there is no kernel {name}{suggestion(name, known)}",
            model.kernel,
        )
        return None, name
    for key, code, message in _wrong_keys(model, name):
        to.error(source, key, code, message)
    stream = to.stream(source, "stream", model.stream)
    reads = [to.device_buffer(source, "reads", written, "kernel") for written in model.reads]
    writes = [to.device_buffer(source, "writes", written, "kernel") for written in model.writes]
    arguments = [_argument(to, source, raw) for raw in model.arguments] if own is not None else []
    grid = _grid(to, source, model, name)
    duration_ns = (
        None
        if model.duration is None
        else to.number(source, "duration", model.duration, fieldtypes.read_duration)
    )
    if stream is None or None in (*reads, *writes, *arguments):
        return None, name
    read = tuple(index for index in reads if index is not None)
    written = tuple(index for index in writes if index is not None)
    passed = tuple(argument for argument in arguments if argument is not None)
    work: steps.Work
    if name == "spin":
        work = steps.Spin(duration_ns=duration_ns or 0)
    elif name == "stream":
        work = steps.Touch(reads=read, writes=written)
    elif name == "compute":
        work = steps.Compute(flops=model.flops or 1)
    else:
        work = steps.Custom(kernel=own or 0, arguments=passed)
    # nothing is known of what a kernel of one's own does to a buffer that it does not declare
    undeclared = tuple(
        argument
        for argument in passed
        if isinstance(argument, int) and argument not in read and argument not in written
    )
    made = steps.Launch(
        stream=stream,
        work=work,
        grid=grid,
        buffers=tuple(dict.fromkeys((*read, *written, *undeclared))),
        writes=tuple(dict.fromkeys((*written, *undeclared))),
    )
    return made, name
