"""`call` steps: driver calls on things that exist for them alone.

What a call consumes is made before the clock starts, what it makes is kept until the run is over.
Sizes are bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from poolbench.backends.cuda import driver
from poolbench.backends.cuda.kernels import Kernels
from poolbench.domain import THRESHOLD_MAX, HostCall
from poolbench.plan.plan import Plan
from poolbench.plan.steps import CallDriver

_CHUNK = 32 << 20
_HOST_SIZE = 1 << 20


class DriverCalls:
    """The spare pools, host buffers and modules of one run."""

    def __init__(self, ordinal: int, stream: Any, kernels: Kernels) -> None:
        """`stream` is one that no plan uses."""
        self._ordinal = ordinal
        self._stream = stream
        self._kernels = kernels
        self._properties: Any = None
        self._image = b""
        self._pools: deque[Any] = deque()
        self._host: deque[Any] = deque()
        self._modules: deque[Any] = deque()

    def prepare(self, plan: Plan) -> None:
        """Raises `driver.DriverError`."""
        wanted = [step.call for step in plan.steps if isinstance(step, CallDriver)]
        for call in wanted * plan.n_iterations:
            match call:
                case HostCall.POOL_CREATE:
                    self._properties = driver.pool_properties(self._ordinal, 0)
                case HostCall.POOL_DESTROY:
                    self._pools.append(self._used_pool())
                case HostCall.HOST_ALLOC:
                    pass
                case HostCall.HOST_FREE:
                    self._host.append(driver.check(driver.cuMemHostAlloc(_HOST_SIZE, 0)))
                case HostCall.MODULE_LOAD:
                    self._image = self._image or self._kernels.small_image()
                case _:
                    assert_never(call)

    def _used_pool(self) -> Any:
        """A pool that has grown once and kept the memory, so that destroying it unmaps."""
        pool = driver.create_pool(self._ordinal, 0)
        driver.set_pool_bytes(pool, driver.THRESHOLD, THRESHOLD_MAX)
        block = driver.check(driver.cuMemAllocFromPoolAsync(_CHUNK, pool, self._stream))
        driver.check(driver.cuMemFreeAsync(block, self._stream))
        driver.check(driver.cuStreamSynchronize(self._stream))
        return pool

    def pack(self, call: HostCall) -> Callable[[], Sequence[Any]]:
        match call:
            case HostCall.POOL_CREATE:
                create, properties = driver.cuMemPoolCreate, self._properties
                return lambda: _kept(create(properties), self._pools)
            case HostCall.POOL_DESTROY:
                destroy, pools = driver.cuMemPoolDestroy, self._pools
                return lambda: destroy(pools.popleft())
            case HostCall.HOST_ALLOC:
                allocate = driver.cuMemHostAlloc
                return lambda: _kept(allocate(_HOST_SIZE, 0), self._host)
            case HostCall.HOST_FREE:
                free, host = driver.cuMemFreeHost, self._host
                return lambda: free(host.popleft())
            case HostCall.MODULE_LOAD:
                load, image = driver.cuModuleLoadData, self._image
                return lambda: _kept(load(image), self._modules)
            case _:
                assert_never(call)

    def give_back(self) -> Sequence[Any]:
        """Everything that is left; the first failure, or success."""
        results: list[Sequence[Any]] = [driver.cuMemPoolDestroy(pool) for pool in self._pools]
        results += [driver.cuMemFreeHost(block) for block in self._host]
        results += [driver.cuModuleUnload(module) for module in self._modules]
        return next((result for result in results if int(result[0])), (0,))


def _kept(result: Sequence[Any], where: deque[Any]) -> Sequence[Any]:
    if not result[0]:
        where.append(result[1])
    return result
