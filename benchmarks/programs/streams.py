"""CuPy: four streams side by side, on arrays of changing size from one MemoryAsyncPool."""

import cupy

import poolbench

WARM_UP, ROUNDS, N_STREAMS, MIB = 4, 60, 4, 2**20
SIZES = (16, 48, 8, 96, 24, 64)
"""MiB of an array."""


def main() -> None:
    pool = cupy.cuda.MemoryAsyncPool()
    cupy.cuda.set_allocator(pool.malloc)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(N_STREAMS)]
    sums = [cupy.zeros((), dtype=cupy.float32) for _ in streams]
    cupy.cuda.Device().synchronize()

    def work(number: int, index: int) -> None:
        with streams[number]:
            n = SIZES[(index + number) % len(SIZES)] * MIB // 4
            x = cupy.full(n, 1.5, dtype=cupy.float32)
            y = cupy.sqrt(x * 2.0 + 1.0)
            z = cupy.sort(y[: n // 8]) + x[: n // 8]
            sums[number] += z.sum()

    for index in range(WARM_UP):
        for number in range(N_STREAMS):
            work(number, index)
    cupy.cuda.Device().synchronize()
    for index in range(ROUNDS):
        with poolbench.record():
            for number in range(N_STREAMS):
                work(number, index)
    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    main()
