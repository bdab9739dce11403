"""Kernels of a scenario: their CUDA C, and the keys that fit each kind.

Pure but for reading the files beside the scenario.
"""

from __future__ import annotations

from pathlib import Path as FilePath

from poolbench.scenario.fields import Faults
from poolbench.scenario.scenario import StepNode
from poolbench.scenario.schema import HeadModel, KernelModel
from poolbench.scenario.step_models import KernelStep
from poolbench.scenario.wording import shown

BUILT_IN = ("spin", "stream", "compute")
MAX_SOURCE = 2**20

_OWN_KEYS = ("duration", "flops", "arguments")
"""Keys that belong to one kind of kernel each."""

_KEY_OF = {"spin": "duration", "compute": "flops"}


def check_kernel_step(
    node: StepNode, step: KernelStep, kernels: frozenset[str], faults: Faults
) -> None:
    """Keys against the kernel's kind; a kernel named by a reference is the planner's."""
    if "$" in step.kernel:
        return
    is_own = step.kernel in kernels
    if not is_own and step.kernel not in BUILT_IN:
        hint = faults.suggestion(step.kernel, [*BUILT_IN, *kernels])
        message = f"unknown kernel {shown(step.kernel)}{hint}"
        faults.add_at(node.places["kernel"], message, "unknown-kernel")
        return
    needed = "arguments" if is_own else _KEY_OF.get(step.kernel)
    for key in _OWN_KEYS:
        if key in step.model_fields_set and key != needed:
            message = f"the kernel {step.kernel} does not take `{key}`"
            faults.add_at(node.places.get(key, node.place), message, "key-not-used")
    if not is_own and needed is not None and getattr(step, needed) is None:
        place = node.places.get(needed, node.place)
        faults.add_at(place, f"a {step.kernel} kernel needs `{needed}`", "missing-key")
    if step.kernel == "stream" and not (step.reads or step.writes):
        message = "a stream kernel needs `reads` or `writes`"
        faults.add_at(node.place, message, "missing-key")


def read_sources(head: HeadModel, folder: FilePath | None, faults: Faults) -> dict[str, str]:
    """Kernel name -> CUDA C."""
    sources = {}
    for name, kernel in head.kernels.items():
        if (kernel.source is None) == (kernel.file is None):
            message = "a kernel needs its CUDA C in `source` or in `file`"
            if kernel.source is not None:
                message = "a kernel has its CUDA C in `source` or in `file`, not in both"
            faults.add_key(("kernels", name), message, "kernel-source")
        elif kernel.source is not None:
            sources[name] = kernel.source
        else:
            text = _read(name, kernel, folder, faults)
            if text is not None:
                sources[name] = text
    return sources


def _read(name: str, kernel: KernelModel, folder: FilePath | None, faults: Faults) -> str | None:
    path = ("kernels", name, "file")
    file = kernel.file or ""
    if folder is None:
        faults.add(path, "there is no folder to read this file from", "kernel-file")
        return None
    try:
        base = folder.resolve()
        target = (base / file).resolve()
        if not target.is_relative_to(base):
            faults.add(path, "the file lies outside the scenario's folder", "kernel-file")
            return None
        if target.exists() and not target.is_file():
            faults.add(path, f"{file[:80]} is not a file", "kernel-file")
            return None
        if target.stat().st_size > MAX_SOURCE:
            faults.add(path, "more than 1 MiB of CUDA C", "kernel-file")
            return None
        return target.read_text("utf-8")
    except UnicodeDecodeError:
        faults.add(path, f"{file[:80]} is not UTF-8 text", "kernel-file")
    except OSError as fault:
        faults.add(path, f"{file[:80]} cannot be read: {fault.strerror}", "kernel-file")
    except ValueError:  # a NUL in the path
        faults.add(path, "this is no file name", "kernel-file")
    return None
