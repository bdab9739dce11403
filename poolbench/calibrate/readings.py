"""What each figure of a profile is read off.

Pure.  A figure is measured in the setting in which the model uses it: in the loop that issues the
steps, per call, as the median over calls and repetitions.  What costs by size or by chunk is the
slope between two sizes, and the rest is what is left at the smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping

from poolbench.backends.model.profile import DeviceProfile
from poolbench.calibrate.samples import Figure, Runs, derived, figure
from poolbench.results.environment import Environment
from poolbench.trace import StepTrace

Read = Mapping[str, Runs]
"""Runs by the scenario's name; those of another row as `name/row`."""

_GIB_MIB = 1024
_CHUNK_MIB = 32
_MIB = 1 << 20
_COPY_GAP = "device.copy_gap_ns"
_N_LOOKS = 28
"""Eight streams one after the other: each looks at those before it."""


def figures(runs: Read, environment: Environment, base: DeviceProfile) -> dict[str, Figure]:
    """Figure (`pool.alloc_ns`) -> what was measured.  `base` has what cannot be measured and stands
    in the way of what can."""
    event = Figure(value=environment.floors.event_pair_ns, spread=0.0, n=1)
    copy_gap = Figure(value=base.device.copy_gap_ns, spread=0.0, n=0)
    found = {"device.timing_event_ns": event, _COPY_GAP: copy_gap}
    for part in (
        _calls,
        _sizes,
        _chunks,
        _plain,
        _latches,
        _rates,
        _callbacks,
        _graphs,
        _opportunistic,
    ):
        found |= part(runs, found)
    del found[_COPY_GAP]
    return found


Found = Mapping[str, Figure]


def _calls(runs: Read, _: Found) -> dict[str, Figure]:
    mixed, syncs = runs["calls"], runs["syncs"]
    found = {
        f"host.{label}_ns": figure(mixed.host(label))
        for label in ("launch", "record", "wait", "query", "memset", "memcpy", "sample")
    }
    cold = [
        figure(mixed.first_host(label)).value - found[f"host.{label}_ns"].value
        for label in ("record", "wait", "query", "memset", "memcpy")
    ]
    found["host.cold_ns"] = figure([max(0.0, one) for one in cold])
    first = figure(mixed.first_host("launch"))
    launch = found["host.launch_ns"]
    found["host.cold_launch_ns"] = derived(max(0.0, first.value - launch.value), first, launch)
    found["host.sync_ns"] = figure(syncs.host("sync_idle"))
    found["host.sync_return_ns"] = figure(
        syncs.between(
            "sync_busy",
            lambda steps, row: steps.host_end_ns[row],
            "busy",
            begin=lambda steps, row: steps.device_end_ns[row],
        )
    )
    loop = runs["steps"]
    per_step = figure([float(trace.host_ns[0]) / loop.plan.n_steps for trace in loop.traces])
    sample = found["host.sample_ns"]
    found["host.step_ns"] = derived(max(0.0, per_step.value - sample.value), per_step, sample)
    return found


def _line(small: Figure, large: Figure, low: float, high: float) -> tuple[Figure, Figure]:
    """(what is left at 0, slope) of the line through two medians."""
    slope = (large.value - small.value) / (high - low)
    return (
        derived(max(0.0, small.value - slope * low), small),
        derived(max(0.0, slope), large),
    )


def _sizes(runs: Read, _known: Found) -> dict[str, Figure]:
    """A reuse and a free: by size from a loop of their own, the rest from the mixed loop."""
    sizes, mixed = runs["sizes"], runs["calls"]
    found: dict[str, Figure] = {}
    for kind in ("alloc", "free"):
        large = figure(sizes.host(f"{kind}_1024"))
        _rest, slope = _line(figure(sizes.host(f"{kind}_1")), large, 1, _GIB_MIB)
        one = figure(mixed.host(f"{kind}_1"))
        found[f"pool.{kind}_ns_per_mib"] = slope
        found[f"pool.{kind}_ns"] = derived(max(0.0, one.value - slope.value), one)
    return found


def _chunks(runs: Read, found: Found) -> dict[str, Figure]:
    """Growing, remapping, releasing: each by the chunk, less what every allocation costs."""
    hit, by_mib = found["pool.alloc_ns"].value, found["pool.alloc_ns_per_mib"].value

    def beyond_a_hit(times: list[float], n_chunks: int) -> Figure:
        return figure([time - hit - by_mib * n_chunks * _CHUNK_MIB for time in times])

    growth, crowded, remap = runs["growth"], runs["crowded"], runs["remap"]
    one, four = (beyond_a_hit(growth.host(f"grow_{n}"), n) for n in (1, 4))
    fixed, per_chunk = _line(one, four, 1, 4)
    first = beyond_a_hit(growth.first_host("grow_1"), 1)
    few, many = (beyond_a_hit(crowded.host(f"grow_{n}"), n) for n in (1, 4))
    scattered = {n: beyond_a_hit(remap.first_host(f"remap_{n}"), n) for n in (4, 16)}
    remapped, remapped_chunk = _line(scattered[4], scattered[16], 4, 16)
    beside_failing = found["host.sync_ns"].value + hit + 2 * 64 * by_mib
    failed = figure([time - beside_failing for time in runs["failing"].host("fail")])
    released = {n: figure(_releases(runs, n, found)) for n in (1, 16)}
    release, release_chunk = _line(released[1], released[16], 1, 16)
    return {
        "pool.grow_ns": fixed,
        "pool.grow_ns_per_chunk": per_chunk,
        "pool.first_grow_ns": derived(
            max(0.0, first.value - one.value - found["host.cold_ns"].value), first, one
        ),
        "pool.grow_crowded_ns_per_chunk": _line(few, many, 1, 4)[1],
        "pool.remap_ns": remapped,
        "pool.remap_ns_per_chunk": remapped_chunk,
        "pool.alloc_failed_ns": derived(max(0.0, failed.value), failed),
        "pool.release_ns": release,
        "pool.release_ns_per_chunk": release_chunk,
    }


def _releases(runs: Read, n_chunks: int, found: Found) -> list[float]:
    """What a synchronisation takes longer than one that gives nothing back."""
    idle, late = found["host.sync_ns"].value, found["host.sync_return_ns"].value

    def beyond(steps: StepTrace, sync: int, free: int) -> float:
        plain = max(steps.host_begin_ns[sync] + idle, steps.device_end_ns[free] + late)
        return float(steps.host_end_ns[sync] - plain)

    return runs["release"].pairs(f"release_{n_chunks}", f"freed_{n_chunks}", beyond)


def _plain(runs: Read, known: Found) -> dict[str, Figure]:
    """A free finds nothing to wait for, which costs what a synchronisation costs then."""
    plain = runs["plain/cudamalloc"]
    found: dict[str, Figure] = {"host.small_plain_ns": figure(plain.host("small"))}
    idle, cold = known["host.sync_ns"].value, known["host.cold_ns"].value
    for kind in ("alloc", "free"):
        usual, large = (figure(plain.host(f"{kind}_{size}")) for size in (64, _GIB_MIB))
        fixed, slope = _line(usual, large, 64, _GIB_MIB)
        if kind == "free":
            fixed = derived(max(0.0, fixed.value - idle), fixed)
        found[f"host.plain_{kind}_ns"] = fixed
        found[f"host.plain_{kind}_ns_per_mib"] = slope
        if kind == "alloc":
            first = figure(plain.first_host("alloc_64"))
            found["host.plain_cold_ns"] = derived(
                max(0.0, first.value - usual.value - cold), first, usual
            )
    cleared = figure(runs["clearing/cudamalloc"].host("alloc"))
    without = found["host.plain_alloc_ns"].value
    without += found["host.plain_alloc_ns_per_mib"].value * _GIB_MIB
    clear = max(0.0, cleared.value - without) / _GIB_MIB
    found["host.clear_ns_per_mib"] = Figure(value=clear, spread=cleared.spread, n=cleared.n)
    return found


def _latches(runs: Read, found: Found) -> dict[str, Figure]:
    latched = runs["latches"]

    def gap(label: str, after: str) -> Figure:
        return figure(
            latched.between(
                label,
                lambda steps, row: steps.device_begin_ns[row],
                after,
                begin=lambda steps, row: steps.device_end_ns[row],
            )
        )

    kernel = gap("third", "second")
    freed = gap("after_free", "third")
    other = gap("other", "after_free")
    opened = [
        float(trace.steps.device_begin_ns[row] - opening.opened_ns) - kernel.value
        for trace in latched.traces
        if trace.steps is not None
        for row, opening in zip(latched.rows(trace.steps, "first"), trace.latches, strict=True)
    ]
    latency = latched.between(
        "idle",
        lambda steps, row: steps.device_begin_ns[row],
        "idle",
        begin=lambda steps, row: steps.host_end_ns[row],
    )
    # In the traced pass the free stands between two timing events.
    free = max(0.0, freed.value - kernel.value - 2 * found["device.timing_event_ns"].value)
    # A program holds and releases once or twice: what counts is the first time.
    cold = found["host.cold_ns"].value
    hold, release = (figure(latched.first_host(label)) for label in ("hold", "release"))
    return {
        "host.hold_ns": derived(max(0.0, hold.value - cold), hold),
        "host.release_ns": derived(max(0.0, release.value - cold), release),
        "device.kernel_gap_ns": kernel,
        "device.free_ns": derived(free, freed),
        "device.dependency_ns": derived(max(0.0, other.value - kernel.value), other),
        "device.latch_open_ns": figure(opened),
        "device.launch_latency_ns": figure(latency),
    }


def _rates(runs: Read, found: Found) -> dict[str, Figure]:
    """Bytes (operations) per nanosecond, and what a copy takes beside its bytes.

    The span of a copy or memset begins with the gap before it and ends with a timing event.
    """
    rates, copies = runs["rates"], runs["copies"]
    event, gap = found["device.timing_event_ns"].value, found["device.kernel_gap_ns"].value

    def rate(amount: float, label: str, beside: float = 0.0) -> Figure:
        return _per(amount, figure(rates.device(label)), beside)

    def slope(times: Runs, kind: str, small: int, large: int) -> Figure:
        one, other = (figure(times.device(f"{kind}_{size}")) for size in (small, large))
        return _per((large - small) * _MIB, other, one.value)

    small, large = figure(copies.device("h2d_1")), figure(copies.device("h2d_32"))
    left, _ = _line(small, large, 1, 32)
    setup = max(0.0, left.value - event - found[_COPY_GAP].value)
    pageable = [figure(copies.device(f"pageable_{way}")) for way in ("up", "down")]
    both = derived(sum(one.value for one in pageable), *pageable)
    return {
        "touch_rate": rate(2 * 1024 * _MIB, "touch"),
        "flops_rate": rate(5e10, "compute"),
        "memset_rate": rate(1024 * _MIB, "memset", event + gap),
        "h2d_rate": slope(copies, "h2d", 1, 32),
        "d2h_rate": slope(copies, "d2h", 1, 32),
        "d2d_rate": slope(rates, "d2d", 64, 1024),
        "pageable_rate": _per(16 * _MIB, both, 0.0),
        "device.copy_setup_ns": derived(setup, left),
    }


def _callbacks(runs: Read, found: Found) -> dict[str, Figure]:
    """Like a copy's, the span begins with the gap before it and ends with a timing event."""
    callbacks = runs["host-functions"]
    span = figure(callbacks.device("callback"))
    beside = found["device.timing_event_ns"].value + found[_COPY_GAP].value
    return {
        "host.callback_ns": figure(callbacks.host("callback")),
        "device.callback_ns": derived(max(0.0, span.value - beside), span),
    }


def _graphs(runs: Read, found: Found) -> dict[str, Figure]:
    """The span of a graph of one kernel: its start, the gap before the kernel, the kernel's 5 us,
    and a timing event."""
    graphs = runs["graph-launches"]
    small, large = (figure(graphs.host(f"graph_{n}")) for n in (1, 41))
    fixed, per_node = _line(small, large, 1, 41)
    span = figure(graphs.device("graph_1"))
    beside = found["device.timing_event_ns"].value + found["device.kernel_gap_ns"].value + 5000
    return {
        "host.graph_launch_ns": fixed,
        "host.graph_node_ns": per_node,
        "device.graph_start_ns": derived(max(0.0, span.value - beside), span),
    }


def _per(amount: float, time: Figure, less: float) -> Figure:
    """As uncertain, relatively, as the time that it comes from."""
    return Figure(value=amount / (time.value - less), spread=time.spread, n=time.n)


def _opportunistic(runs: Read, _: Found) -> dict[str, Figure]:
    """What the timed run takes longer with the attribute on: only there it shows."""

    def makespan(name: str, iteration: int) -> Figure:
        return figure([float(trace.makespan_ns[iteration]) for trace in runs[name].traces])

    n_rounds = 40
    marked, plain = makespan("marks/010", 0), makespan("marks", 0)
    mark = derived(max(0.0, (marked.value - plain.value) / n_rounds), marked)
    looked, blind = makespan("looks/010", 1), makespan("looks", 1)
    looks = looked.value - blind.value - 8 * mark.value
    return {
        "pool.opportunistic_free_ns": mark,
        "pool.look_ns": derived(max(0.0, looks / _N_LOOKS), looked, blind),
    }
