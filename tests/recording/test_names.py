"""What we ask of CUPTI is there in the real package, under these names; skipped where it is not.

No driver is needed: the classes are made, and read, without one.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from poolbench.recording.calls import ACTIVITIES, CALLS, LAUNCH_STREAM, MAX_SIZE
from poolbench.recording.capture import Capture, reader
from poolbench.recording.raw import MemoryCode, What
from tests.recording.fake.cupti import cupti as fake

RECORDS = {
    "CONCURRENT_KERNEL": ("ActivityKernel9", "ActivityKernel10", "ActivityKernel13"),
    "MEMCPY": ("ActivityMemcpy5", "ActivityMemcpy6", "ActivityMemcpy7"),
    "MEMCPY2": ("ActivityMemcpyPtoP4",),
    "MEMSET": ("ActivityMemset4", "ActivityMemset5"),
    "GRAPH_TRACE": ("ActivityGraphTrace2",),
    "MEMORY2": ("ActivityMemory4",),
    "OVERHEAD": ("ActivityOverhead3",),
}
FUNCTIONS = (
    "get_timestamp", "subscribe", "unsubscribe", "enable_callback", "enable_domain",
    "activity_register_callbacks", "activity_enable", "activity_disable", "activity_flush_all",
    "activity_get_num_dropped_records", "get_stream_id_ex",
)  # fmt: skip


@pytest.fixture(scope="module")
def cupti() -> Any:
    return pytest.importorskip("cupti.cupti", reason="cupti-python is not installed")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_calls_and_their_parameters(cupti: Any, call: Any) -> None:
    """The number of the callback, the class, and each attribute, readable at a pointer."""
    assert int(getattr(cupti.DriverApiTraceCbid, call.name)) > 0
    if not call.params:
        return
    params = getattr(cupti, call.params)
    empty = params()
    again = params.from_ptr(empty.ptr, readonly=True)
    for field in call.fields:
        assert int(getattr(again, field)) == 0


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in RECORDS.items() for name in names]
)
def test_activities_and_their_attributes(cupti: Any, kind: str, name: str) -> None:
    """Of every version that a driver may deliver."""
    assert int(getattr(cupti.ActivityKind, kind)) > 0
    for field in ACTIVITIES[kind]:
        assert hasattr(getattr(cupti, name), field), field


def test_functions_and_errors(cupti: Any) -> None:
    """And the fake that other tests run on has the same."""
    for name in (*FUNCTIONS, "cuptiError"):
        assert hasattr(cupti, name), name
        assert hasattr(fake, name), name
    fault = cupti.cuptiError(int(cupti.Result.ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED))
    assert "MULTIPLE_SUBSCRIBERS" in str(fault)


def test_numbers(cupti: Any) -> None:
    """That are compared with in our own code."""
    assert int(cupti.ApiCallbackSite.API_ENTER) == 0
    assert int(cupti.CallbackDomain.DRIVER_API) == fake.CallbackDomain.DRIVER_API
    assert int(cupti.CallbackDomain.NVTX) == fake.CallbackDomain.NVTX
    assert int(cupti.ActivityMemoryOperationType.RELEASE) == 2
    assert int(cupti.ActivityMemoryPoolType.LOCAL) == 1
    for code in MemoryCode:
        assert int(cupti.ActivityMemoryKind[code.name]) == code


def test_parameters_are_read_where_they_are(cupti: Any) -> None:
    """Values, and what pointers point to."""
    place = ctypes.c_uint64(0x7F12_3456_0000)
    numbers = (ctypes.c_uint64 * 3)(ctypes.addressof(place), 4096, 0xABC)
    params = cupti.CuMemAllocAsyncParams.from_ptr(ctypes.addressof(numbers), readonly=True)
    assert [reader(field)(params) for field in ("*dptr", "bytesize", "h_stream", "")] == [
        0x7F12_3456_0000, 4096, 0xABC, 0,
    ]  # fmt: skip


def test_the_pools_memory_is_read(cupti: Any) -> None:
    """From a record as CUPTI lays it out."""
    import numpy as np

    record = np.zeros(1, dtype=cupti.activity_memory4_dtype)
    record["kind"] = int(cupti.ActivityKind.MEMORY2)
    record["memory_pool_config"]["pool"]["size_"] = 77
    record["memory_pool_config"]["utilized_size"] = 55
    record["memory_pool_config"]["release_threshold"] = 2**64 - 1
    rows: list[tuple[int, ...]] = []

    class Heard:
        def add(self, *cells: int) -> None:
            rows.append(cells)

    capture = Capture(cupti, Heard())  # type: ignore[arg-type]
    capture._on_activity("MEMORY2", cupti.ActivityMemory4.from_data(record))
    ((what, *cells),) = rows
    assert what == What.POOL_MEMORY
    assert (cells[5], cells[6], cells[7]) == (77, 55, -1)


def test_structures_of_the_driver() -> None:
    """Where `cuMemPoolCreate` and `cuLaunchKernelEx` hide what is wanted."""
    driver = pytest.importorskip("cuda.bindings.driver")
    pool = driver.CUmemPoolProps()
    pool.maxSize = 0x1234_5678_9ABC
    offset = int(MAX_SIZE.partition("+")[2])
    assert ctypes.c_uint64.from_address(pool.getPtr() + offset).value == 0x1234_5678_9ABC
    launch = driver.CUlaunchConfig()
    launch.hStream = driver.CUstream(0xABCD)
    offset = int(LAUNCH_STREAM.partition("+")[2])
    assert ctypes.c_uint64.from_address(launch.getPtr() + offset).value == 0xABCD


def test_nvtx_parameters(cupti: Any) -> None:
    """Of pushes, pops and registered texts."""
    for name, field in (
        ("NvtxRangePushAParams", "message"),
        ("NvtxRangePushExParams", "event_attrib"),
        ("NvtxDomainRangePushExParams", "core"),
        ("NvtxDomainRangePopParams", "domain"),
        ("NvtxDomainRegisterStringAParams", "string"),
    ):
        assert hasattr(getattr(cupti, name), field)
    for name in ("nvtxRangePushA", "nvtxRangePushEx", "nvtxDomainRangePushEx", "nvtxRangePop",
                 "nvtxDomainRangePop", "nvtxDomainRegisterStringA"):  # fmt: skip
        assert hasattr(cupti.NvtxApiTraceCbid, name)
