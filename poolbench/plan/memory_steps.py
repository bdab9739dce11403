"""Steps on buffers: alloc, free, memcpy, memset, fill, check.

Faults go to the scope's list, as in `step_values`.
"""

from __future__ import annotations

from typing import assert_never

from poolbench.domain import CopyKind, MemoryKind
from poolbench.plan import steps
from poolbench.plan.step_values import Made, Source, Values
from poolbench.plan.tables import Buffer
from poolbench.scenario import fieldtypes
from poolbench.scenario import step_models as models

_HOST_SIDES = {
    CopyKind.H2D: (False, True),
    CopyKind.D2H: (True, False),
    CopyKind.D2D: (False, False),
}
"""Copy kind -> whether destination and source are on the host."""


def alloc(to: Values, source: Source, model: models.AllocStep, at: int) -> Made:
    """`alloc`: a buffer of its own each time, also where a fault makes the step impossible."""
    tables = to.tables
    name = to.name(source, "alloc", model.alloc)
    size = to.number(source, "size", model.size, fieldtypes.read_size)
    stream = to.stream(source, "stream", model.stream)
    if name is None:
        return None, ""
    if size == 0:
        to.error(source, "size", "zero-size", f"buffer {name} has 0 bytes", model.alloc)
    known = tables.buffer_index.get(name)
    if known is not None and tables.buffers[known].memory is not None:
        to.error(
            source,
            "alloc",
            "duplicate-name",
            f"{name} is a buffer that exists before the first step",
            model.alloc,
        )
        return None, name
    index = len(tables.buffers)
    tables.buffers.append(Buffer(name=name, written=model.alloc, size=size or 0, alloc_step=at))
    tables.buffer_index[name] = index
    if stream is None:
        return None, name
    return steps.Alloc(stream=stream, buffer=index, size=size or 0), name


def free(to: Values, source: Source, model: models.FreeStep, at: int) -> Made:
    """`free` of the latest buffer of that name; freed twice is left to `lifetimes`."""
    index = to.buffer(source, "free", model.free)
    stream = to.stream(source, "stream", model.stream)
    if index is None:
        return None, ""
    buffer = to.tables.buffers[index]
    if buffer.memory is not None:
        to.error(
            source,
            "free",
            "free-of-buffer",
            f"{buffer.name} exists during the whole run; only what an alloc made can be freed",
            model.free,
        )
        return None, buffer.name
    if stream is None:
        return None, buffer.name
    if buffer.free_step < 0:
        buffer.free_step = at
    return steps.Free(stream=stream, buffer=index), buffer.name


def memcpy(to: Values, source: Source, model: models.MemcpyStep) -> Made:
    """`memcpy`: each side in the memory that the kind says."""
    dst = to.buffer(source, "dst", model.dst)
    src = to.buffer(source, "src", model.src)
    stream = to.stream(source, "stream", model.stream)
    if dst is None or src is None:
        return None, ""
    target, origin = to.tables.buffers[dst], to.tables.buffers[src]
    sides = (("dst", model.dst, target), ("src", model.src, origin))
    for (key, written, buffer), on_host in zip(sides, _HOST_SIDES[model.memcpy], strict=True):
        if buffer.is_device is on_host:
            wanted = "pinned or pageable host memory" if on_host else "device memory"
            kind = buffer.memory or MemoryKind.DEVICE
            to.error(
                source,
                key,
                "wrong-memory",
                f"the {key} of {model.memcpy} must be {wanted}; {buffer.name} is {kind}",
                written,
            )
    if dst == src:
        to.error(source, "src", "copy-to-itself", f"{target.name} is copied to itself", model.src)
    size = to.size_within(source, model.size, (target, origin))
    if stream is None:
        return None, target.name
    is_pageable = MemoryKind.PAGEABLE in (target.memory, origin.memory)
    made = steps.Memcpy(
        stream=stream, kind=model.memcpy, dst=dst, src=src, size=size, is_pageable=is_pageable
    )
    return made, target.name


def pattern(
    to: Values,
    source: Source,
    model: models.MemsetStep | models.FillStep | models.CheckStep,
) -> Made:
    """`memset`, `fill`, `check`: bytes written or compared by value."""
    match model:
        case models.MemsetStep(memset=written):
            key = "memset"
        case models.FillStep(fill=written):
            key = "fill"
        case models.CheckStep(check=written):
            key = "check"
        case _:
            assert_never(model)
    index = to.device_buffer(source, key, written, key)
    stream = to.stream(source, "stream", model.stream)
    if index is None:
        return None, ""
    buffer = to.tables.buffers[index]
    if isinstance(model, models.MemsetStep):
        size = to.size_within(source, model.size, (buffer,))
        if stream is None:
            return None, buffer.name
        memset = steps.Memset(stream=stream, buffer=index, value=model.value, size=size)
        return memset, buffer.name
    if stream is None:
        return None, buffer.name
    if isinstance(model, models.FillStep):
        to.tables.n_fills += 1
        buffer.seed = to.tables.n_fills
        fill = steps.Fill(stream=stream, buffer=index, seed=buffer.seed, size=buffer.size)
        return fill, buffer.name
    check = steps.Check(stream=stream, buffer=index, seed=buffer.seed, size=buffer.size)
    return check, buffer.name
