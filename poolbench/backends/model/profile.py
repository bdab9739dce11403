"""Device profiles: the numbers that the model computes with, and where each of them comes from.

Pure.  Times are nanoseconds (rates: nanoseconds per MiB or per chunk), sizes bytes, bandwidths
bytes per nanosecond (which is GB/s).  Sources, as `docs/model.md` names them: [P] measured with a
script on one NVIDIA H200, driver 580.159.04, in December 2026; [R] fitted to runs of the shipped
scenarios on three such machines, whose hosts differed by a factor of 1.4; [D] data sheet or
programming guide; [A] assumed.
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

    [R], but for the failing call and the costs by size [P].  A device that ballast fills takes more
    time for each chunk that the pool grows by.
    """

    alloc_ns: int = 1_800
    alloc_ns_per_mib: float = 0.19
    grow_ns: int = 10_000
    grow_ns_per_chunk: int = 28_000
    grow_crowded_ns_per_chunk: int = 55_000
    first_grow_ns: int = 20_000
    remap_ns: int = 8_000
    remap_ns_per_chunk: int = 36_000
    remap_failed_ns_per_chunk: int = 16_000
    """For nothing: spare chunks that were not enough."""
    alloc_failed_ns: int = 8_000
    free_ns: int = 1_500
    free_ns_per_mib: float = 0.8
    trim_ns: int = 3_000
    release_ns: int = 25_000
    release_ns_per_chunk: int = 37_500
    look_ns: int = 3_600
    """Opportunistic reuse looks at a stream's progress; in the traced pass, where an event follows
    each free, it costs less.  [R]: eight streams that allocate one after the other, of which each
    has to look at those before it."""
    look_traced_ns: int = 150
    opportunistic_free_ns: int = 1_800
    """What a free costs more where it may be looked for; not in the traced pass [R]."""
    read_ns: int = 1_300
    """One statistic read from the pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCosts:
    """What every other call costs the host; a pageable copy takes the copy's time.

    [R]: a call from the issuing loop, in a run of dozens.  The first call of each kind finds
    nothing of it in the caches: `cold_ns`.  A loop of nothing but one call is quicker [P]: launch
    3.6 us, record 0.6, wait 1.0, alloc and free 1.1 together.
    """

    launch_ns: int = 5_500
    cold_launch_ns: int = 11_000
    cold_ns: int = 3_500
    record_ns: int = 1_100
    timing_record_ns: int = 2_400
    wait_ns: int = 1_300
    query_ns: int = 1_000
    sync_ns: int = 2_000
    """A synchronisation that finds nothing to wait for."""
    sync_return_ns: int = 4_500
    """From the end of the work that the host waits for to the return of its call [P]."""
    hold_ns: int = 5_000
    release_ns: int = 14_000
    memset_ns: int = 5_000
    memcpy_ns: int = 6_000
    create_stream_ns: int = 8_000
    destroy_stream_ns: int = 7_000
    step_ns: int = 250
    """The issuing loop itself."""
    sample_ns: int = 400
    copy_turn_ns: int = 1_000_000
    """What mapping a piece of memory waits for at most while a copy to the host runs [P]."""
    pool_create_ns: int = 180_000
    pool_destroy_ns: int = 280_000
    host_alloc_ns: int = 2_400_000
    host_free_ns: int = 100_000
    module_load_ns: int = 50_000
    plain_alloc_ns: int = 40_000
    plain_alloc_ns_per_mib: float = 40.0
    plain_free_ns: int = 50_000
    plain_free_ns_per_mib: float = 280.0
    plain_cold_ns: int = 40_000
    """The first `cuMemAlloc` of a run."""
    clear_ns_per_mib: float = 7_500.0
    """`cuMemAlloc` of memory that was given back before: only where nothing else is left."""
    small_plain_ns: int = 3_000
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
    """Latencies on the device.  [P] from `%globaltimer` stamps of kernels queued behind a latch:
    what stood between two of them cost so much more than nothing."""

    command_latency_ns: int = 1_000
    """From the return of a call (record, wait, alloc, free) until the stream can pass it."""
    launch_latency_ns: int = 3_500
    """The same for a kernel or a copy, until it runs on an idle device."""
    kernel_gap_ns: int = 1_750
    """From the end of what is ahead in the stream to the start of a kernel."""
    dependency_ns: int = 140
    """What waiting for another stream adds."""
    free_ns: int = 580
    """A free's place in its stream."""
    timing_event_ns: int = 1_300
    """A timing event's place in its stream; also what two of them back to back read."""
    latch_open_ns: int = 6_000
    """From the host's store until a held stream goes on (the first kernel starts 8 us after)."""
    copy_gap_ns: int = 4_500
    copy_setup_ns: int = 2_800


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """One device, predicted.

    n_launches_queued
        kernel launches that one stream can hold unstarted; the next one blocks the host [P].
    touch_rate, memset_rate, d2d_rate, h2d_rate, d2h_rate, pageable_rate
        bytes per nanosecond: kernels that read and write with the whole device (reads and writes
        both counted), then copies of so many bytes [P].
    flops_rate
        float32 operations per nanosecond with the whole device [P].
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
    chunk_size: int = 32 * MIB
    block_granule: int = 512
    pool_base: int = 0x302000000
    plain_granule: int = 2 * MIB
    small_plain_size: int = MIB
    n_launches_queued: int = 1020
    touch_rate: float = 4_350.0
    memset_rate: float = 4_100.0
    d2d_rate: float = 1_800.0
    h2d_rate: float = 55.3
    d2h_rate: float = 55.1
    pageable_rate: float = 9.2
    flops_rate: float = 52_000.0
    short_kernel_ns: int = 2_000
    pool: PoolCosts = PoolCosts()
    host: HostCosts = HostCosts()
    device: DeviceCosts = DeviceCosts()


H200 = DeviceProfile(
    name="H200",
    compute_capability="9.0",
    n_multiprocessors=132,
    threads_per_multiprocessor=2048,
    blocks_per_multiprocessor=32,
    memory_size=150_754_820_096,
    memory_free=139 * GIB,
)
"""NVIDIA H200 SXM, 141 GB: limits from the programming guide [D], memory as the driver says [P]."""


def profiles() -> tuple[DeviceProfile, ...]:
    """Every profile there is, by name unique."""
    return (H200,)
