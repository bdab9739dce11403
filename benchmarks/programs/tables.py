"""CuPy: what a dataframe does to an allocator: filters, sorts, joins, groups, all with temporaries.

The sizes of results depend on the data, so that the host has to wait for them again and again.
"""

import cupy

import poolbench

WARM_UP, QUERIES, ROWS, KEYS = 3, 40, 4_000_000, 1000


def query(keys: cupy.ndarray, values: cupy.ndarray, limit: float) -> cupy.ndarray:
    chosen = cupy.flatnonzero(values > limit)
    mine, weights = keys[chosen], values[chosen]
    order = cupy.argsort(mine)
    mine, weights = mine[order], weights[order]
    totals = cupy.bincount(mine, weights=weights, minlength=KEYS)
    counts = cupy.bincount(mine, minlength=KEYS)
    means = totals / cupy.maximum(counts, 1)
    joined = means[mine] - weights
    return cupy.concatenate((joined[joined > 0], means))


def main() -> None:
    pool = cupy.cuda.MemoryAsyncPool()
    cupy.cuda.set_allocator(pool.malloc)
    keys = cupy.arange(ROWS, dtype=cupy.int64) * 7919 % KEYS
    values = (cupy.arange(ROWS, dtype=cupy.float64) * 0.6180339887498949) % 1.0
    for index in range(WARM_UP):
        query(keys, values, index / QUERIES)
    cupy.cuda.Device().synchronize()
    for index in range(QUERIES):
        with poolbench.record():
            query(keys, values, index / QUERIES)
    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    main()
