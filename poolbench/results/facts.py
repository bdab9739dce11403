"""What has to be known to believe a table: who made it, on what, and its floors.

Pure.
"""

from __future__ import annotations

from poolbench.analysis.blocks import blocks_of
from poolbench.analysis.comparison import control_of
from poolbench.domain import BackendKind
from poolbench.results.environment import ClockState, Environment
from poolbench.results.record import RunRecord

PREDICTED = "predicted, not measured"


def source(record: RunRecord) -> str:
    """`measured on NVIDIA H200, driver 580.159.04`, or that nothing was measured."""
    return environment_title(record.before)


def environment_title(where: Environment) -> str:
    if not BackendKind(where.backend).is_measured:
        return f"PREDICTED by the model, not measured: {where.device}"
    return f"measured on {where.device}, driver {where.driver}"


def title(record: RunRecord) -> str:
    return f"{record.scenario}: {source(record)}"


def circumstances(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """(word, text): device, clocks, floors, effort."""
    facts = [("device", device_text(record))]
    if not record.is_predicted:
        facts.append(("clocks", clocks_text(record)))
        facts.append(("floors", floors_text(record.before)))
        if record.before.issue_loop:
            facts.append(("loop", record.before.issue_loop))
    facts.append(("run", effort_text(record)))
    control = control_text(record)
    if control:
        facts.append(("control", control))
    return tuple(facts)


def device_text(record: RunRecord) -> str:
    where = record.before
    memory = f"{where.memory_total / 2**30:.0f} GiB"
    text = f"{where.device}, {where.n_multiprocessors} multiprocessors, {memory}"
    if where.driver:
        text = f"{text}, driver {where.driver}"
    if where.cuda:
        text = f"{text}, CUDA {where.cuda}"
    if record.is_predicted:
        return f"model of {text}: {PREDICTED}"
    return text


def _clock_text(clocks: ClockState) -> str:
    parts = []
    if clocks.sm_mhz is not None:
        parts.append(f"SM {clocks.sm_mhz} MHz")
    if clocks.memory_mhz is not None:
        parts.append(f"memory {clocks.memory_mhz} MHz")
    if clocks.temperature_c is not None:
        parts.append(f"{clocks.temperature_c} °C")
    if not parts:
        return "not known"
    reasons = ", ".join(clocks.throttle_reasons)
    return f"{', '.join(parts)}, {f'throttled by {reasons}' if reasons else 'not throttled'}"


def clocks_text(record: RunRecord) -> str:
    before = _clock_text(record.before.clocks)
    if record.after is None:
        return before
    after = _clock_text(record.after.clocks)
    return before if before == after else f"{before}; afterwards {after}"


def floors_text(environment: Environment) -> str:
    floors = environment.floors
    known = {
        "event pair": floors.event_pair_ns,
        "empty kernel": floors.kernel_ns,
        "host call": floors.host_call_ns,
        "launch": floors.launch_ns,
    }
    parts = [f"{name} {ns / 1000:.2f} us" for name, ns in known.items() if ns]
    return ", ".join([*parts, f"clocks agree within {floors.clock_error_ns / 1000:.2f} us"])


def effort_text(record: RunRecord) -> str:
    parts = [_times(record.repeats, "timed repetition")]
    if record.shard is not None:
        index, of = record.shard
        parts.insert(0, f"part {index} of {of}")
    if record.parts:
        parts.insert(0, f"put together from {_times(len(record.parts), 'run')}")
    if record.warmup:
        settled = "" if record.is_settled is not False else " (times had not settled)"
        parts.append(_times(record.warmup, "warm-up") + settled)
    if record.throttled:
        again = f", {len(record.set_aside)} of them run again" if record.set_aside else ""
        parts.append(f"{_times(len(record.throttled), 'block')} slowed down by the device{again}")
    parts.append(f"seed {record.seed}")
    tracing = tracing_text(record)
    if tracing:
        parts.append(tracing)
    return ", ".join(parts)


def control_text(record: RunRecord) -> str:
    """`A/A: a row against itself reads 0.998 to 1.004`, over all blocks that have a control."""
    found = [control_of(block) for block in blocks_of(record)]
    ratios = [one.ratio for one in found if one is not None]
    if not ratios:
        return ""
    low, high = f"{min(ratios):.3f}", f"{max(ratios):.3f}"
    span = low if low == high else f"{low} to {high}"
    return f"A/A: a row against itself reads {span} times its makespan"


def _times(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def tracing_text(record: RunRecord) -> str:
    """How much tracing slowed the runs, over all cases; empty where nothing was traced."""
    ratios = [
        result.findings.tracing_ratio
        for result in record.cases
        if result.findings is not None and result.findings.tracing_ratio is not None
    ]
    if not ratios:
        return ""
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    span = low if low == high else f"{low} to {high}"
    return f"tracing made runs {span} times as long"
