"""cuda-python: a pipeline of three streams that load, compute and store, with a pool of its own.

A batch is allocated where it is loaded and freed where it was used last; events order the stages.
The pool is capped, so that batches have to wait for memory now and then.
"""

import ctypes
from typing import Any

from cuda.bindings import driver, nvrtc

import poolbench

WARM_UP, BATCHES, MIB = 8, 120, 2**20
SIZES = (24 * MIB, 48 * MIB, 16 * MIB, 32 * MIB)
POOL_SIZE = 512 * MIB
SOURCE = b"""
extern "C" __global__ void scale(float *target, const float *source, unsigned long n) {
  unsigned long first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned long i = first; i < n; i += gridDim.x * blockDim.x) {
    float x = source[i];
    for (int round = 0; round < 64; ++round) x = x * 1.0001f + 0.5f;
    target[i] = x;
  }
}
"""


def do(result: tuple[Any, ...]) -> Any:
    if int(result[0]):
        raise RuntimeError(f"the driver or NVRTC answers {result[0]!r}")
    return result[1] if len(result) == 2 else result[1:]


def kernel(device: Any) -> Any:
    attribute = driver.CUdevice_attribute
    parts = (
        do(driver.cuDeviceGetAttribute(part, device))
        for part in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    options = [f"--gpu-architecture=sm_{''.join(map(str, parts))}".encode()]
    program = do(nvrtc.nvrtcCreateProgram(SOURCE, b"load.cu", 0, [], []))
    do(nvrtc.nvrtcCompileProgram(program, len(options), options))
    code = b" " * do(nvrtc.nvrtcGetCUBINSize(program))
    do(nvrtc.nvrtcGetCUBIN(program, code))
    return do(driver.cuModuleGetFunction(do(driver.cuModuleLoadData(code)), b"scale"))


def make_pool() -> Any:
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    properties.maxSize = POOL_SIZE
    pool = do(driver.cuMemPoolCreate(properties))
    threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    do(driver.cuMemPoolSetAttribute(pool, threshold, driver.cuuint64_t(2**64 - 1)))
    return pool


def main() -> None:
    do(driver.cuInit(0))
    device = do(driver.cuDeviceGet(0))
    do(driver.cuCtxSetCurrent(do(driver.cuDevicePrimaryCtxRetain(device))))
    scale, pool = kernel(device), make_pool()
    load, compute, store = (do(driver.cuStreamCreate(1)) for _ in range(3))
    loaded, computed = (do(driver.cuEventCreate(2)) for _ in range(2))
    host_in, host_out = (do(driver.cuMemHostAlloc(max(SIZES), 0)) for _ in range(2))

    def batch(index: int) -> None:
        size = SIZES[index % len(SIZES)]
        source = do(driver.cuMemAllocFromPoolAsync(size, pool, load))
        do(driver.cuMemcpyHtoDAsync(source, host_in, size, load))
        do(driver.cuEventRecord(loaded, load))
        do(driver.cuStreamWaitEvent(compute, loaded, 0))
        target = do(driver.cuMemAllocFromPoolAsync(size, pool, compute))
        arguments = ((target, source, size // 4), (None, None, ctypes.c_ulong))
        do(driver.cuLaunchKernel(scale, 264, 1, 1, 256, 1, 1, 0, compute, arguments, 0))
        do(driver.cuMemFreeAsync(source, compute))
        do(driver.cuEventRecord(computed, compute))
        do(driver.cuStreamWaitEvent(store, computed, 0))
        do(driver.cuMemcpyDtoHAsync(host_out, target, size, store))
        do(driver.cuMemFreeAsync(target, store))

    for index in range(WARM_UP):
        batch(index)
    do(driver.cuCtxSynchronize())
    for index in range(BATCHES):
        with poolbench.record():
            batch(index)
    do(driver.cuCtxSynchronize())


if __name__ == "__main__":
    main()
