"""A CUPTI for tests, with a driver behind it: `call` makes a call of the driver, as a program
would.

The names are the real ones (`tests/recording/test_names.py` holds them to the package), and so is
the way of the data: callbacks at the begin and end of a call, with a pointer to its result; objects
made of pointers to parameters; records of work that come when CUPTI is flushed, all at once and
backwards.
"""

from __future__ import annotations

import ctypes
import os
import time
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from poolbench.recording.calls import ACTIVITIES, CALLS

if os.environ.get("FAKE_CUPTI") == "broken":
    raise ImportError("libcupti.so.13: cannot open shared object file")


class cuptiError(Exception):  # noqa: N801  # its real name
    def __init__(self, status: int, name: str) -> None:
        super().__init__(f"{name} ({status})")
        self.status = status


DriverApiTraceCbid = IntEnum("DriverApiTraceCbid", [call.name for call in CALLS])
CallbackDomain = IntEnum("CallbackDomain", {"DRIVER_API": 1, "NVTX": 5})
ActivityKind = IntEnum("ActivityKind", list(ACTIVITIES))

_params: dict[int, SimpleNamespace] = {}
"""Address -> what "lies" there."""
_state = SimpleNamespace(callback=None, completed=None, enabled=set(), kinds=set())
_records: list[SimpleNamespace] = []
_next = SimpleNamespace(correlation=0, address=0x7F00_0000_0000)


class _Params:
    @staticmethod
    def from_ptr(pointer: int, readonly: bool = False, owner: object = None) -> SimpleNamespace:
        assert readonly
        return _params[pointer]


for _call in CALLS:
    if _call.params:
        globals()[_call.params] = _Params


def get_timestamp() -> int:
    return time.monotonic_ns()


def subscribe(callback: Any, userdata: object) -> int:
    match os.environ.get("FAKE_CUPTI"):
        case "no-driver":
            raise RuntimeError("CUDA driver is not found (libcuda.so.1)")
        case "taken":
            raise cuptiError(39, "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
        case "odd":
            raise cuptiError(999, "ERROR_UNKNOWN")
    _state.callback = lambda *cells: callback(userdata, *cells)
    return 1


def unsubscribe(subscriber: int) -> None:
    _state.callback = None


def enable_callback(enable: int, subscriber: int, domain: int, cbid: int) -> None:
    assert subscriber == 1
    (_state.enabled.add if enable else _state.enabled.discard)(int(cbid))


def enable_domain(enable: int, subscriber: int, domain: int) -> None:
    assert subscriber == 1


def activity_register_callbacks(requested: Any, completed: Any) -> None:
    size, _ = requested()
    assert size > 0
    _state.completed = completed


def activity_enable(kind: int) -> None:
    _state.kinds.add(int(kind))


def activity_disable(kind: int) -> None:
    _state.kinds.discard(int(kind))


def activity_flush_all(flag: int) -> None:
    if _records:
        _state.completed(_records[::-1])
        _records.clear()


def activity_get_num_dropped_records(context: int, stream: int, dropped: int) -> None:
    ctypes.c_size_t.from_address(dropped).value = int(os.environ.get("FAKE_DROPPED", "0"))


def get_stream_id_ex(context: int, stream: int, per_thread: int) -> int:
    return stream % 1000


# --- the driver behind it -------------------------------------------------------------------


def call(name: str, *, result: int = 0, ns: int = 0, **fields: Any) -> int:
    """One call of the driver; work that it issues is recorded.  Its correlation."""
    _next.correlation += 1
    cbid = int(DriverApiTraceCbid[name])
    if cbid in _state.enabled and _state.callback is not None:
        returned = ctypes.c_int32(result)
        data = SimpleNamespace(
            callback_site=0, context=0xC, context_uid=1, correlation_id=_next.correlation,
            function_params=id(returned), function_return_value=0,
        )  # fmt: skip
        _params[id(returned)] = SimpleNamespace(**fields)
        _state.callback(CallbackDomain.DRIVER_API, cbid, data)
        data.callback_site = 1
        data.function_return_value = ctypes.addressof(returned)
        _state.callback(CallbackDomain.DRIVER_API, cbid, data)
        del _params[id(returned)]
    return int(_next.correlation)


def alloc(size: int, stream: int) -> int:
    _next.address += 0x1000
    place = ctypes.c_uint64(_next.address)
    call("cuMemAllocAsync", dptr=ctypes.addressof(place), bytesize=size, h_stream=stream)
    return int(_next.address)


def free(address: int, stream: int) -> None:
    call("cuMemFreeAsync", dptr=address, h_stream=stream)


def create_stream(flags: int = 1) -> int:
    _next.address += 0x1000
    place = ctypes.c_uint64(_next.address)
    call("cuStreamCreate", ph_stream=ctypes.addressof(place), flags_=flags)
    return int(_next.address)


def launch(ns: int, stream: int, name: str = "kernel") -> None:
    correlation = call("cuLaunchKernel", h_stream=stream)
    if int(ActivityKind.CONCURRENT_KERNEL) in _state.kinds:
        start = get_timestamp()
        _records.append(
            SimpleNamespace(
                kind=ActivityKind.CONCURRENT_KERNEL, start=start, end=start + ns, device_id=0,
                context_id=1, stream_id=stream % 1000, correlation_id=correlation, graph_id=0,
                grid_x=4, grid_y=2, grid_z=1, block_x=64, block_y=2, block_z=1, name=name,
            )
        )  # fmt: skip


def copy(size: int, stream: int, source: int = 2, target: int = 3) -> None:
    correlation = call("cuMemcpyAsync", h_stream=stream)
    if int(ActivityKind.MEMCPY) in _state.kinds:
        start = get_timestamp()
        _records.append(
            SimpleNamespace(
                kind=ActivityKind.MEMCPY, start=start, end=start + 100, device_id=0,
                context_id=1, stream_id=stream % 1000, correlation_id=correlation, graph_id=0,
                bytes=size, src_kind=source, dst_kind=target,
            )
        )  # fmt: skip


def synchronise(stream: int) -> None:
    call("cuStreamSynchronize", h_stream=stream)
