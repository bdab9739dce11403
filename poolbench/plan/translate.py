"""One step of the file, in one pass of its loops, as a concrete step of the plan.

Faults go to the scope's list; a step that cannot be made at all is `None`, one with a bad number
goes on with a placeholder so that what depends on it is still checked.
"""

from __future__ import annotations

from poolbench.plan import steps
from poolbench.plan.control_steps import callback, event_step, host_step, stream_step
from poolbench.plan.launches import launch
from poolbench.plan.memory_steps import alloc, free, memcpy, pattern
from poolbench.plan.step_values import Made, Source, Values
from poolbench.scenario import fieldtypes
from poolbench.scenario import step_models as models


def translate(to: Values, source: Source, at: int) -> Made:
    """The concrete step at index `at`, and its name for messages and tables."""
    model = source.node.step
    made, name = _made(to, source, model, at)
    if made is None:
        to.tables.is_complete = False
    if model.label is not None:
        label = to.name(source, "label", model.label)
        name = name if label is None else label
    return made, name


def _made(to: Values, source: Source, model: models.StepModel, at: int) -> Made:
    match model:
        case models.AllocStep():
            return alloc(to, source, model, at)
        case models.FreeStep():
            return free(to, source, model, at)
        case models.KernelStep():
            return launch(to, source, model)
        case models.MemcpyStep():
            return memcpy(to, source, model)
        case models.MemsetStep() | models.FillStep() | models.CheckStep():
            return pattern(to, source, model)
        case models.RecordStep() | models.WaitStep():
            return event_step(to, source, model)
        case models.SyncStep() | models.QueryStep():
            return host_step(to, source, model)
        case models.HostStep(host=host):
            duration_ns = to.number(source, "host", host, fieldtypes.read_duration)
            return steps.HostWork(duration_ns=duration_ns or 0), ""
        case models.CallStep(call=call):
            return steps.CallDriver(call=call), call.value
        case models.CallbackStep():
            return callback(to, source, model)
        case models.TrimStep(trim=trim):
            return steps.Trim(keep=to.number(source, "trim", trim, fieldtypes.read_size) or 0), ""
        case models.SampleStep(sample=sample):
            name = to.name(source, "sample", sample)
            return (None, "") if name is None else (steps.Sample(name=name), name)
        case models.HoldStep() | models.ReleaseStep() | models.CreateStep() | models.DestroyStep():
            return stream_step(to, source, model)
        case _:
            raise TypeError(f"no plan step for {type(model).__name__}")
