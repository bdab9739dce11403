"""Which calls of the driver are taken down, and where each one's parameters are.  Pure; no CUPTI.

A parameter is written as CUPTI's classes name it (`cupti.CuMemAllocAsyncParams.bytesize`).  `*dptr`
is the 64-bit number that it points to, `*config+32` the one 32 bytes further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poolbench.recording.raw import What


@dataclass(frozen=True, slots=True)
class Call:
    """`name` is that of the callback (`DriverApiTraceCbid`); "" is a parameter that there is not.

    is_always
        taken down outside of the recorded part too: what is needed to know the state at its start.
    """

    name: str
    what: What
    stream: str = ""
    a: str = ""
    b: str = ""
    c: str = ""
    is_per_thread: bool = False
    is_always: bool = False

    @property
    def params(self) -> str:
        """The class of its parameters; "" for a call that has none."""
        if self.name in _WITHOUT_PARAMETERS:
            return ""
        name, _, ending = self.name.partition("_")
        endings = "".join(part.capitalize() for part in ending.split("_") if part)
        return f"C{name[1:]}{endings}Params"

    @property
    def fields(self) -> tuple[str, ...]:
        """The attributes of `params` that are read."""
        used = (self.stream, self.a, self.b, self.c)
        return tuple(text.lstrip("*").partition("+")[0] for text in used if text)


_WITHOUT_PARAMETERS = ("cuCtxSynchronize",)
MAX_SIZE = "*pool_props+24"
"""`CUmemPoolProps.maxSize`."""
LAUNCH_STREAM = "*config+32"
"""`CUlaunchConfig.hStream`."""


def _async(name: str, what: What, **fields: str) -> Iterator[Call]:
    """A call that takes a stream, in both of its forms."""
    fields.setdefault("stream", "h_stream")
    is_always = what in (What.ALLOC, What.FREE)
    for ending, is_per_thread in (("", False), ("_ptsz", True)):
        yield Call(
            f"{name}{ending}", what, is_per_thread=is_per_thread, is_always=is_always, **fields
        )


def _blocking(name: str, what: What) -> Iterator[Call]:
    """A call on the default stream that takes none."""
    for ending, is_per_thread in (("", False), ("_ptds", True)):
        yield Call(f"{name}{ending}", what, is_per_thread=is_per_thread)


def _calls() -> Iterator[Call]:
    yield from _async("cuMemAllocAsync", What.ALLOC, a="*dptr", b="bytesize")
    yield from _async("cuMemAllocFromPoolAsync", What.ALLOC, a="*dptr", b="bytesize", c="pool")
    yield from _async("cuMemFreeAsync", What.FREE, a="dptr")
    yield Call("cuMemAlloc_v2", What.PLAIN_ALLOC, a="*dptr", b="bytesize", is_always=True)
    yield Call("cuMemFree_v2", What.PLAIN_FREE, a="dptr", is_always=True)
    yield Call("cuMemAllocManaged", What.OTHER_ALLOC, b="bytesize")
    yield Call("cuMemAllocPitch_v2", What.OTHER_ALLOC)
    yield Call("cuMemCreate", What.OTHER_ALLOC)

    yield from _async("cuLaunchKernel", What.LAUNCH)
    yield from _async("cuLaunchKernelEx", What.LAUNCH, stream=LAUNCH_STREAM)
    yield from _async("cuLaunchCooperativeKernel", What.LAUNCH)
    yield from _async("cuGraphLaunch", What.GRAPH_LAUNCH)
    yield from _async("cuLaunchHostFunc", What.HOST_FUNCTION)
    yield from _async("cuLaunchHostFunc_v2", What.HOST_FUNCTION)
    yield from _async("cuStreamAddCallback", What.HOST_FUNCTION)
    for name in ("cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamWriteValue32",
                 "cuStreamWriteValue64", "cuStreamBatchMemOp"):  # fmt: skip
        yield from _async(f"{name}_v2", What.MEMORY_OPERATION, stream="stream")

    for name in ("cuMemcpyAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
                 "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync", "cuMemcpy2DAsync_v2",
                 "cuMemcpy3DAsync_v2", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2",
                 "cuMemcpyHtoAAsync_v2", "cuMemcpyAtoHAsync_v2",
                 "cuMemcpyWithAttributesAsync"):  # fmt: skip
        yield from _async(name, What.COPY)
    for name in ("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpy", "cuMemcpy2D_v2",
                 "cuMemcpy2DUnaligned_v2", "cuMemcpy3D_v2"):  # fmt: skip
        yield from _blocking(name, What.COPY_AND_WAIT)
    yield from _blocking("cuMemcpyDtoD_v2", What.COPY)
    for width in ("D8", "D16", "D32", "D2D8", "D2D16", "D2D32"):
        yield from _async(f"cuMemset{width}Async", What.SET)
        yield from _blocking(f"cuMemset{width}_v2", What.SET)

    yield from _async("cuEventRecord", What.RECORD, a="h_event")
    yield from _async("cuEventRecordWithFlags", What.RECORD, a="h_event")
    yield from _async("cuStreamWaitEvent", What.WAIT, a="h_event")
    yield from _async("cuStreamSynchronize", What.SYNC_STREAM)
    yield from _async("cuStreamQuery", What.QUERY_STREAM)
    yield Call("cuEventSynchronize", What.SYNC_EVENT, a="h_event")
    yield Call("cuEventQuery", What.QUERY_EVENT, a="h_event")
    yield Call("cuCtxSynchronize", What.SYNC_DEVICE)
    yield Call("cuCtxSynchronize_v2", What.SYNC_DEVICE)

    yield Call("cuMemPoolTrimTo", What.TRIM, a="min_bytes_to_keep", c="pool")
    yield Call("cuMemPoolCreate", What.POOL_CREATE, a=MAX_SIZE, c="*pool", is_always=True)
    yield Call(
        "cuMemPoolSetAttribute", What.POOL_SET, a="attr", b="*value", c="pool", is_always=True
    )
    yield Call("cuDeviceGetDefaultMemPool", What.POOL_OF_DEVICE, c="*pool_out", is_always=True)
    yield Call("cuDeviceSetMemPool", What.POOL_CHOSEN, c="pool", is_always=True)
    yield Call("cuStreamCreate", What.STREAM_CREATE, a="*ph_stream", b="flags_", is_always=True)
    yield Call(
        "cuStreamCreateWithPriority",
        What.STREAM_CREATE,
        a="*ph_stream",
        b="flags_",
        is_always=True,
    )
    yield Call("cuStreamDestroy_v2", What.STREAM_DESTROY, stream="h_stream", is_always=True)
    for name in ("cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph"):
        for call in _async(name, What.CAPTURE_BEGIN):
            yield _always(call)
    for call in _async("cuStreamEndCapture", What.CAPTURE_END):
        yield _always(call)


def _always(call: Call) -> Call:
    return Call(call.name, call.what, call.stream, is_per_thread=call.is_per_thread, is_always=True)


CALLS: tuple[Call, ...] = tuple(_calls())
ESSENTIAL: tuple[str, ...] = (
    "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuLaunchKernel",
    "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize",
)  # fmt: skip
"""Without one of these no recording is worth making; others may be missing in an older CUPTI."""

ACTIVITIES: dict[str, tuple[str, ...]] = {
    "CONCURRENT_KERNEL": (
        "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id",
        "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "name",
    ),
    "MEMCPY": (
        "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id",
        "bytes", "src_kind", "dst_kind",
    ),
    "MEMCPY2": (
        "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id",
        "bytes",
    ),
    "MEMSET": (
        "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id",
        "bytes",
    ),
    "GRAPH_TRACE": (
        "start", "end", "device_id", "context_id", "stream_id", "correlation_id", "graph_id",
    ),
    "MEMORY2": (
        "timestamp", "device_id", "context_id", "stream_id", "correlation_id",
        "memory_pool_config", "memory_operation_type", "bytes", "address",
    ),
    "OVERHEAD": ("start", "end"),
}  # fmt: skip
"""Kind of activity (`ActivityKind`) -> attributes of its records that are read."""
