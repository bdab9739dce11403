"""The only importer of `cuda.*`: the driver API and NVRTC, with faults that explain themselves.

Calls whose names start with `cu` are the driver's own entry points, unchecked, for the issuing
loop; everything else goes through `check`.  Importing this module needs the packages but no driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from cuda.bindings import driver as _driver
from cuda.bindings import nvrtc as _nvrtc

cuCtxSynchronize = _driver.cuCtxSynchronize  # noqa: N816
cuDeviceGraphMemTrim = _driver.cuDeviceGraphMemTrim  # noqa: N816
cuEventCreate = _driver.cuEventCreate  # noqa: N816
cuEventDestroy = _driver.cuEventDestroy  # noqa: N816
cuEventElapsedTime = _driver.cuEventElapsedTime  # noqa: N816
cuEventQuery = _driver.cuEventQuery  # noqa: N816
cuEventRecord = _driver.cuEventRecord  # noqa: N816
cuEventSynchronize = _driver.cuEventSynchronize  # noqa: N816
cuGraphDestroy = _driver.cuGraphDestroy  # noqa: N816
cuGraphExecDestroy = _driver.cuGraphExecDestroy  # noqa: N816
cuGraphLaunch = _driver.cuGraphLaunch  # noqa: N816
cuGraphUpload = _driver.cuGraphUpload  # noqa: N816
cuLaunchKernel = _driver.cuLaunchKernel  # noqa: N816
cuMemAlloc = _driver.cuMemAlloc  # noqa: N816
cuMemAllocFromPoolAsync = _driver.cuMemAllocFromPoolAsync  # noqa: N816
cuMemFree = _driver.cuMemFree  # noqa: N816
cuMemFreeAsync = _driver.cuMemFreeAsync  # noqa: N816
cuMemFreeHost = _driver.cuMemFreeHost  # noqa: N816
cuMemHostAlloc = _driver.cuMemHostAlloc  # noqa: N816
cuMemPoolCreate = _driver.cuMemPoolCreate  # noqa: N816
cuMemPoolDestroy = _driver.cuMemPoolDestroy  # noqa: N816
cuMemPoolGetAttribute = _driver.cuMemPoolGetAttribute  # noqa: N816
cuMemPoolTrimTo = _driver.cuMemPoolTrimTo  # noqa: N816
cuMemcpyDtoDAsync = _driver.cuMemcpyDtoDAsync  # noqa: N816
cuMemcpyDtoHAsync = _driver.cuMemcpyDtoHAsync  # noqa: N816
cuMemcpyHtoDAsync = _driver.cuMemcpyHtoDAsync  # noqa: N816
cuMemsetD8Async = _driver.cuMemsetD8Async  # noqa: N816
cuModuleLoadData = _driver.cuModuleLoadData  # noqa: N816
cuModuleUnload = _driver.cuModuleUnload  # noqa: N816
cuStreamDestroy = _driver.cuStreamDestroy  # noqa: N816
cuStreamEndCapture = _driver.cuStreamEndCapture  # noqa: N816
cuStreamQuery = _driver.cuStreamQuery  # noqa: N816
cuStreamSynchronize = _driver.cuStreamSynchronize  # noqa: N816
cuStreamWaitEvent = _driver.cuStreamWaitEvent  # noqa: N816
cuStreamWaitValue32 = _driver.cuStreamWaitValue32  # noqa: N816

PoolAttribute = _driver.CUmemPool_attribute
RESERVED = PoolAttribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
RESERVED_HIGH = PoolAttribute.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
USED = PoolAttribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
USED_HIGH = PoolAttribute.CU_MEMPOOL_ATTR_USED_MEM_HIGH
FOLLOW = PoolAttribute.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
OPPORTUNISTIC = PoolAttribute.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
INTERNAL = PoolAttribute.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
THRESHOLD = PoolAttribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

OUT_OF_MEMORY = int(_driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY)
NOT_READY = int(_driver.CUresult.CUDA_ERROR_NOT_READY)
NOT_SUPPORTED = int(_driver.CUresult.CUDA_ERROR_NOT_SUPPORTED)

GEQ = int(_driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ)
HOST_MAPPED = _driver.CU_MEMHOSTALLOC_DEVICEMAP | _driver.CU_MEMHOSTALLOC_PORTABLE
TIMING = 0
NO_TIMING = int(_driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)

STREAM_LEGACY = _driver.CUstream(_driver.CU_STREAM_LEGACY)
STREAM_PER_THREAD = _driver.CUstream(_driver.CU_STREAM_PER_THREAD)


class DriverError(Exception):
    """A driver call failed; `code` is the `CUresult` as a number."""

    def __init__(self, code: int, call: str, explanation: str) -> None:
        super().__init__(f"{call}: {explanation}")
        self.code = code


class CompileError(Exception):
    """NVRTC refused a kernel; the message holds its log."""


def explain(code: int) -> str:
    """`CUDA_ERROR_OUT_OF_MEMORY (out of memory)` for 2."""
    result = _driver.CUresult(code)
    _, text = _driver.cuGetErrorString(result)
    return f"{result.name} ({text.decode() if text else 'unknown'})"


def check(result: tuple[Any, ...], call: str = "driver call") -> Any:
    """The value of a driver call.  Raises `DriverError`."""
    code = int(result[0])
    if code:
        raise DriverError(code, call, explain(code))
    if len(result) == 1:
        return None
    return result[1] if len(result) == 2 else result[1:]


def entry_point(name: str) -> int:
    """The address of one of the driver's functions, by its name in the library."""
    address = ctypes.cast(getattr(ctypes.CDLL("libcuda.so.1"), name), ctypes.c_void_p).value
    assert address is not None
    return address


def initialise(ordinal: int) -> tuple[Any, Any]:
    """(device, primary context made current).  Raises `DriverError` or `RuntimeError`."""
    check(_driver.cuInit(0), "cuInit")
    device = check(_driver.cuDeviceGet(ordinal), "cuDeviceGet")
    context = check(_driver.cuDevicePrimaryCtxRetain(device), "cuDevicePrimaryCtxRetain")
    check(_driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return device, context


def driver_cuda_version() -> str:
    """The CUDA version that the driver supports, e.g. `13.0`."""
    version = int(check(_driver.cuDriverGetVersion(), "cuDriverGetVersion"))
    return f"{version // 1000}.{version % 1000 // 10}"


def device_count() -> int:
    check(_driver.cuInit(0), "cuInit")
    return int(check(_driver.cuDeviceGetCount(), "cuDeviceGetCount"))


def device_name(device: Any) -> str:
    return str(
        check(_driver.cuDeviceGetName(128, device), "cuDeviceGetName").split(b"\0")[0], "utf8"
    )


def device_attribute(device: Any, name: str) -> int:
    """`name` without its prefix, e.g. `MULTIPROCESSOR_COUNT`."""
    attribute = getattr(_driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check(_driver.cuDeviceGetAttribute(attribute, device), "cuDeviceGetAttribute"))


def device_uuid(device: Any) -> str:
    raw = bytes(check(_driver.cuDeviceGetUuid(device), "cuDeviceGetUuid").bytes).hex()
    return f"GPU-{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def memory_info() -> tuple[int, int]:
    """(free, total) bytes of the device."""
    free, total = check(_driver.cuMemGetInfo(), "cuMemGetInfo")
    return int(free), int(total)


def create_event(flags: int) -> Any:
    return check(_driver.cuEventCreate(flags), "cuEventCreate")


def create_stream(*, is_blocking: bool, priority: int) -> Any:
    flags = _driver.CUstream_flags
    kind = flags.CU_STREAM_DEFAULT if is_blocking else flags.CU_STREAM_NON_BLOCKING
    return check(_driver.cuStreamCreateWithPriority(kind, priority), "cuStreamCreateWithPriority")


def priority_range() -> tuple[int, int]:
    """(least, greatest) stream priority; the greatest is the smaller number."""
    least, greatest = check(_driver.cuCtxGetStreamPriorityRange(), "cuCtxGetStreamPriorityRange")
    return int(least), int(greatest)


def allocate_mapped(size: int) -> tuple[int, int]:
    """(host address, device address) of pinned host memory that the device sees."""
    host = check(_driver.cuMemHostAlloc(size, HOST_MAPPED), "cuMemHostAlloc")
    device = check(_driver.cuMemHostGetDevicePointer(host, 0), "cuMemHostGetDevicePointer")
    ctypes.memset(int(host), 0, size)
    return int(host), int(device)


def write_device(address: int, source: int, size: int) -> None:
    """Copies from the host address `source` to device memory."""
    check(_driver.cuMemcpyHtoD(address, source, size), "cuMemcpyHtoD")


def read_device(target: int, address: int, size: int) -> None:
    """Copies device memory to the host address `target`."""
    check(_driver.cuMemcpyDtoH(target, address, size), "cuMemcpyDtoH")


def pool_properties(ordinal: int, max_size: int) -> Any:
    properties = _driver.CUmemPoolProps()
    properties.allocType = _driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.handleTypes = _driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
    properties.location.type = _driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = ordinal
    properties.maxSize = max_size
    return properties


def create_pool(ordinal: int, max_size: int) -> Any:
    return check(cuMemPoolCreate(pool_properties(ordinal, max_size)), "cuMemPoolCreate")


def set_pool_flag(pool: Any, attribute: Any, value: bool) -> None:
    check(_driver.cuMemPoolSetAttribute(pool, attribute, int(value)), attribute.name)


def set_pool_bytes(pool: Any, attribute: Any, value: int) -> None:
    number = _driver.cuuint64_t(value)
    check(_driver.cuMemPoolSetAttribute(pool, attribute, number), attribute.name)


def pool_value(pool: Any, attribute: Any) -> int:
    return int(check(_driver.cuMemPoolGetAttribute(pool, attribute), attribute.name))


def begin_capture(stream: Any) -> None:
    """Of what this thread does with `stream`, and with streams that wait for its events."""
    mode = _driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    check(_driver.cuStreamBeginCapture(stream, mode), "cuStreamBeginCapture")


def instantiate(graph: Any) -> Any:
    """What can be launched of a captured graph."""
    return check(_driver.cuGraphInstantiate(graph, 0), "cuGraphInstantiate")


def reset_graph_marks(device: Any) -> None:
    attribute = _driver.CUgraphMem_attribute
    for mark in (
        attribute.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
        attribute.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
    ):
        zero = _driver.cuuint64_t(0)
        check(_driver.cuDeviceSetGraphMemAttribute(device, mark, zero), mark.name)


def graph_marks(device: Any) -> tuple[int, int]:
    """High marks (reserved, used) in bytes of the memory that the driver keeps for graphs."""
    attribute = _driver.CUgraphMem_attribute
    reserved, used = (
        int(check(_driver.cuDeviceGetGraphMemAttribute(device, mark), mark.name))
        for mark in (
            attribute.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
            attribute.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
        )
    )
    return reserved, used


@cache
def _host_functions() -> tuple[Callable[[int, int, int], int], int]:
    """(`cuLaunchHostFunc`, address of the C library's `usleep`)."""
    found = _driver.cuGetProcAddress(b"cuLaunchHostFunc", 12000, 0)
    address, _ = check(found, "cuGetProcAddress")
    launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    assert sleep is not None
    return launch(int(address)), sleep


def sleep_in_stream(stream: int, duration_us: int) -> tuple[int]:
    """A host function that sleeps, in a stream given as a number.

    Not through `cuda.bindings`: what it wraps around a host function takes the interpreter's lock,
    so that the function would keep the issuing loop waiting, and lives for one call only, which a
    graph makes many of.  `usleep` takes its one number in the place of the pointer.
    """
    launch, sleep = _host_functions()
    return (launch(stream, sleep, duration_us),)


def compile_cuda(source: str, name: str, architecture: str) -> bytes:
    """Machine code for `architecture` (e.g. `sm_90`).  Raises `CompileError` with NVRTC's log."""
    program = check_nvrtc(_nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
    failed = int(_nvrtc.nvrtcCompileProgram(program, len(options), options)[0])
    if failed:
        log = b" " * check_nvrtc(_nvrtc.nvrtcGetProgramLogSize(program))
        check_nvrtc(_nvrtc.nvrtcGetProgramLog(program, log))
        raise CompileError(log.rstrip(b"\0 \n").decode("utf8", "replace"))
    code: bytes = b" " * check_nvrtc(_nvrtc.nvrtcGetCUBINSize(program))
    check_nvrtc(_nvrtc.nvrtcGetCUBIN(program, code))
    check_nvrtc(_nvrtc.nvrtcDestroyProgram(program))
    return code


def check_nvrtc(result: tuple[Any, ...]) -> Any:
    if int(result[0]):
        _, text = _nvrtc.nvrtcGetErrorString(result[0])
        raise CompileError(f"NVRTC: {text.decode()}")
    return result[1] if len(result) > 1 else None


def nvrtc_version() -> str:
    """Raises `RuntimeError` where NVRTC cannot be loaded."""
    result = _nvrtc.nvrtcVersion()
    check_nvrtc(result)
    return f"{result[1]}.{result[2]}"


def load_module(code: bytes) -> Any:
    return check(_driver.cuModuleLoadData(code), "cuModuleLoadData")


def module_function(module: Any, name: str) -> Any:
    return check(_driver.cuModuleGetFunction(module, name.encode()), f"kernel {name}")


def allow_shared_memory(function: Any, size: int) -> None:
    """Lets a kernel take `size` bytes of dynamic shared memory, and asks for that carve-out."""
    attribute = _driver.CUfunction_attribute
    for name, value in (
        (attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size),
        (attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
    ):
        check(_driver.cuFuncSetAttribute(function, name, value), "cuFuncSetAttribute")
