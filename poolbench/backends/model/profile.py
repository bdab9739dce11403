"""What a device profile says: the numbers that the model computes with.

Pure.  Times are nanoseconds (rates: nanoseconds per MiB or per chunk), sizes bytes, bandwidths
bytes per nanosecond (which is GB/s).  The numbers are in `profiles/`, each with its source;
`profile_file` reads and writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from poolbench.domain import HostCall

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCosts:
    """What the pool's calls cost the host.

    A device that ballast fills takes more time for each chunk that the pool grows by.
    """

    alloc_ns: int
    alloc_ns_per_mib: float
    grow_ns: int
    grow_ns_per_chunk: int
    grow_crowded_ns_per_chunk: int
    first_grow_ns: int
    remap_ns: int
    remap_ns_per_chunk: int
    remap_failed_ns_per_chunk: int
    """For nothing: spare chunks that were not enough."""
    alloc_failed_ns: int
    free_ns: int
    free_ns_per_mib: float
    trim_ns: int
    release_ns: int
    release_ns_per_chunk: int
    look_ns: int
    """Opportunistic reuse looks at a stream's progress; in the traced pass, where an event follows
    each free, it costs less."""
    look_traced_ns: int
    opportunistic_free_ns: int
    """What a free costs more where it may be looked for; not in the traced pass."""
    read_ns: int
    """One statistic read from the pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCosts:
    """What every other call costs the host; a pageable copy takes the copy's time.

    A call from the issuing loop, in a run of dozens; a loop of nothing but one call is quicker.
    The first call of each kind finds nothing of it in the caches: `cold_ns`.
    """

    launch_ns: int
    cold_launch_ns: int
    cold_ns: int
    record_ns: int
    timing_record_ns: int
    wait_ns: int
    query_ns: int
    sync_ns: int
    """A synchronisation that finds nothing to wait for."""
    sync_return_ns: int
    """From the end of the work that the host waits for to the return of its call."""
    hold_ns: int
    release_ns: int
    memset_ns: int
    memcpy_ns: int
    callback_ns: int
    graph_launch_ns: int
    graph_node_ns: float
    """What `cuGraphLaunch` takes longer for each step of the graph."""
    create_stream_ns: int
    destroy_stream_ns: int
    step_ns: int
    """The issuing loop itself."""
    sample_ns: int
    copy_turn_ns: int
    """What mapping a piece of memory waits for at most while a copy to the host runs."""
    pool_create_ns: int
    pool_destroy_ns: int
    host_alloc_ns: int
    host_free_ns: int
    module_load_ns: int
    plain_alloc_ns: int
    plain_alloc_ns_per_mib: float
    plain_free_ns: int
    plain_free_ns_per_mib: float
    plain_cold_ns: int
    """The first `cuMemAlloc` of a run."""
    clear_ns_per_mib: float
    """`cuMemAlloc` of memory that was given back before: only where nothing else is left."""
    small_plain_ns: int
    """`cuMemAlloc` and `cuMemFree` up to `DeviceProfile.small_plain_size`."""

    def of_call(self, call: HostCall) -> int:
        match call:
            case HostCall.POOL_CREATE:
                return self.pool_create_ns
            case HostCall.POOL_DESTROY:
                return self.pool_destroy_ns
            case HostCall.HOST_ALLOC:
                return self.host_alloc_ns
            case HostCall.HOST_FREE:
                return self.host_free_ns
            case HostCall.MODULE_LOAD:
                return self.module_load_ns
            case _:
                assert_never(call)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCosts:
    """Latencies on the device: what stands between two kernels that are queued behind a latch costs
    so much more than nothing."""

    command_latency_ns: int
    """From the return of a call (record, wait, alloc, free) until the stream can pass it."""
    launch_latency_ns: int
    """The same for a kernel or a copy, until it runs on an idle device."""
    kernel_gap_ns: int
    """From the end of what is ahead in the stream to the start of a kernel."""
    dependency_ns: int
    """What waiting for another stream adds."""
    free_ns: int
    """A free's place in its stream."""
    timing_event_ns: int
    """A timing event's place in its stream; also what two of them back to back read."""
    latch_open_ns: int
    """From the host's store until a held stream goes on (the first kernel starts 8 us after)."""
    copy_gap_ns: int
    copy_setup_ns: int
    callback_ns: int
    """What a host function takes in its stream beside its own time: the thread that calls it has to
    wake up, and the stream to go on after it."""
    graph_start_ns: int
    """From when a graph could start until its first step can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """One device, predicted.

    n_launches_queued
        kernel launches that one stream can hold unstarted; the next one blocks the host.
    touch_rate, memset_rate, d2d_rate, h2d_rate, d2h_rate, pageable_rate
        bytes per nanosecond: kernels that read and write with the whole device (reads and writes
        both counted), then copies of so many bytes.
    flops_rate
        float32 operations per nanosecond with the whole device.
    short_kernel_ns
        least time of a kernel that touches memory or computes.
    """

    name: str
    compute_capability: str
    n_multiprocessors: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    memory_size: int
    memory_free: int
    chunk_size: int
    block_granule: int
    pool_base: int
    plain_granule: int
    small_plain_size: int
    n_launches_queued: int
    touch_rate: float
    memset_rate: float
    d2d_rate: float
    h2d_rate: float
    d2h_rate: float
    pageable_rate: float
    flops_rate: float
    short_kernel_ns: int
    pool: PoolCosts
    host: HostCosts
    device: DeviceCosts
