"""The recorder itself: pairs of callbacks, threads, faults, NVTX ranges, the files."""

from __future__ import annotations

import ctypes
import threading
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poolbench
from poolbench.recording.capture import Capture, Missing
from poolbench.recording.ranges import Ranges
from poolbench.recording.raw import CALL, TEXTS, WIDTH, What, Writer, signed
from poolbench.recording.read import cells, read
from tests.recording.fake.cupti import cupti as gpu

_CALL = cells(CALL)


class Taken:
    """A capture with its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer(folder)
        self.capture = Capture(gpu, self.writer)
        self.capture.start()

    def rows(self, what: What) -> list[list[int]]:
        self.capture.finish()
        self.writer.close()
        found: list[list[int]] = read(self.folder).of(what).tolist()
        return found


@pytest.fixture
def taken(tmp_path: Path) -> Any:
    made = Taken(tmp_path)
    yield made
    made.capture.finish()
    made.writer.close()
    gpu._state.enabled.clear()
    gpu._records.clear()


def test_a_call_is_one_row(taken: Taken) -> None:
    """When it began and ended, in which thread, with parameters and result."""
    taken.capture.open(None)
    address = gpu.alloc(4096, 0xA0)
    ((*row,),) = taken.rows(What.ALLOC)
    of = {name: row[at] for name, at in _CALL.items()}
    assert (of["a"], of["b"], of["stream"], of["result"]) == (address, 4096, 0xA0, 0)
    assert of["begin"] <= of["begin"] + of["enter_cost"] <= of["end"]
    assert of["enter_cost"] >= 0
    assert of["exit_cost"] > 0
    assert of["thread"] == threading.get_ident()


def test_outside_of_the_part_only_memory_is_taken_down(taken: Taken) -> None:
    """And streams and pools: to know what is there when the part begins."""
    stream = gpu.create_stream()
    gpu.alloc(4096, stream)
    gpu.launch(5, stream)
    taken.capture.open(None)
    gpu.launch(6, stream)
    taken.capture.close()
    gpu.launch(7, stream)
    assert len(taken.rows(What.LAUNCH)) == 1
    taken.writer.close()
    recording = read(taken.folder)
    assert len(recording.of(What.ALLOC)) == len(recording.of(What.STREAM_CREATE)) == 1


def test_calls_of_threads_are_paired_each(taken: Taken) -> None:
    """Begin and end belong together, whatever other threads do in between."""
    taken.capture.open(None)
    cbid = gpu.DriverApiTraceCbid["cuStreamSynchronize"]
    returned = ctypes.c_int32(0)
    gpu._params[1] = SimpleNamespace(h_stream=7)
    data = SimpleNamespace(
        callback_site=0, context=1, context_uid=1, correlation_id=9, function_params=1,
        function_return_value=ctypes.addressof(returned),
    )  # fmt: skip
    begun = threading.Event()
    end = threading.Event()

    def other() -> None:
        taken.capture._on_callback(None, 1, cbid, SimpleNamespace(**vars(data)))
        begun.set()
        end.wait()
        taken.capture._on_callback(None, 1, cbid, SimpleNamespace(**{**vars(data), **exits}))

    exits = {"callback_site": 1}
    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    gpu.launch(5, 7)
    end.set()
    thread.join()
    (launch,) = taken.rows(What.LAUNCH)
    (sync,) = read(taken.folder).of(What.SYNC_STREAM).tolist()
    assert sync[_CALL["begin"]] < launch[_CALL["begin"]]
    assert sync[_CALL["end"]] > launch[_CALL["end"]]
    assert sync[_CALL["thread"]] != launch[_CALL["thread"]]
    del gpu._params[1]


def test_a_fault_of_the_recorder_stays_in_it(taken: Taken) -> None:
    """The program must not notice; a count tells."""
    taken.capture.open(None)
    gpu.call("cuMemAllocAsync", h_stream=7, dptr="no pointer", bytesize=1)
    taken.capture._on_activities([SimpleNamespace(kind=gpu.ActivityKind.MEMCPY)])
    assert taken.capture.n_faults == 2
    assert "no pointer" in taken.capture.faults[0]
    assert not taken.rows(What.ALLOC)


def test_the_value_of_an_attribute_has_its_own_width(taken: Taken) -> None:
    """Reuse attributes are ints, the threshold is 64 bits: the rest of memory is nobody's."""
    wide = ctypes.c_uint64(0xDEAD_BEEF_0000_0001)
    for attribute in (3, 4):
        gpu.call("cuMemPoolSetAttribute", pool=0x50, attr=attribute, value=ctypes.addressof(wide))
    assert [row[_CALL["b"]] for row in taken.rows(What.POOL_SET)] == [
        1, signed(0xDEAD_BEEF_0000_0001),
    ]  # fmt: skip


def test_a_cupti_without_the_essential(tmp_path: Path) -> None:
    """Is refused; without anything else it is used."""
    old = SimpleNamespace(
        get_timestamp=gpu.get_timestamp,
        DriverApiTraceCbid=SimpleNamespace(cuLaunchKernel=1),
        CuLaunchKernelParams=object,
    )
    writer = Writer(tmp_path)
    with pytest.raises(Missing, match="cuMemAllocAsync"):
        Capture(old, writer).start()
    writer.close()


# --- the files ------------------------------------------------------------------------------


def test_half_a_row_is_left_out(tmp_path: Path) -> None:
    """A killed program's last write; of texts, too."""
    writer = Writer(tmp_path)
    for number in range(10_000):
        writer.add(*[number] * WIDTH)
    assert writer.text("a\nb") == 0
    assert writer.text("c") == 1
    writer.close()
    with (tmp_path / "rows.bin").open("ab") as file:
        file.write(b"\1" * 50)
    with (tmp_path / TEXTS).open("a") as file:
        file.write('"cut o')
    recording = read(tmp_path)
    assert np.array_equal(recording.rows[:, 3], np.arange(10_000))
    assert recording.texts == ("a\nb", "c")


def test_an_empty_folder_is_an_empty_recording(tmp_path: Path) -> None:
    """Not an error of its own."""
    assert len(read(tmp_path).rows) == 0


# --- marks and ranges -------------------------------------------------------------------------


def test_marks_cost_nothing_where_nobody_records() -> None:
    """And swallow no exception."""
    with pytest.raises(ZeroDivisionError), poolbench.record("x"):
        _ = 1 // 0


class Nvtx:
    """As much of CUPTI as ranges need; `params` are objects, not pointers."""

    NvtxApiTraceCbid = IntEnum(
        "NvtxApiTraceCbid",
        ["nvtxRangePushA", "nvtxRangePushEx", "nvtxDomainRangePushEx", "nvtxRangePop",
         "nvtxDomainRangePop", "nvtxDomainRegisterStringA"],
    )  # fmt: skip

    class _Params:
        @staticmethod
        def from_ptr(params: Any, readonly: bool) -> Any:
            return params

    NvtxRangePushAParams = NvtxRangePushExParams = NvtxDomainRangePushExParams = _Params
    NvtxDomainRangePopParams = NvtxDomainRegisterStringAParams = _Params

    def __init__(self) -> None:
        self.told: list[bool] = []
        self.ranges = Ranges(self, "step", self.told.append)

    def hear(self, name: str, returned: int = 0, **params: Any) -> None:
        data = SimpleNamespace(
            function_params=SimpleNamespace(**params), function_return_value=returned
        )
        self.ranges.hear(int(self.NvtxApiTraceCbid[name]), data)


def attributes(kind: int, message: int) -> Any:
    """An `nvtxEventAttributes_t`."""
    made = (ctypes.c_uint64 * 6)()
    made[4] = kind
    made[5] = message
    return made


def test_ranges_of_the_wanted_name() -> None:
    """Nested ones of other names end without ending it."""
    nvtx = Nvtx()
    nvtx.hear("nvtxRangePushA", message="step")
    nvtx.hear("nvtxRangePushA", message="forward")
    nvtx.hear("nvtxRangePop")
    assert nvtx.told == [True]
    nvtx.hear("nvtxRangePop")
    nvtx.hear("nvtxRangePop")
    assert nvtx.told == [True, False]


def test_ranges_with_texts_of_three_kinds() -> None:
    """ASCII, registered, and one that cannot be read; each domain has its own nesting."""
    nvtx = Nvtx()
    text = ctypes.create_string_buffer(b"step")
    ascii_ = attributes(1, ctypes.addressof(text))
    handle = ctypes.c_uint64(0x77)
    nvtx.hear("nvtxDomainRegisterStringA", ctypes.addressof(handle), string="step")
    registered = attributes(3, 0x77)
    wide = attributes(2, 0x1)
    nvtx.hear("nvtxRangePushEx", event_attrib=ctypes.addressof(wide))
    core = SimpleNamespace(event_attrib=ctypes.addressof(registered))
    nvtx.hear("nvtxDomainRangePushEx", domain=5, core=core)
    assert nvtx.told == [True]
    nvtx.hear("nvtxRangePop")
    assert nvtx.told == [True]
    nvtx.hear("nvtxDomainRangePop", domain=5)
    nvtx.hear("nvtxRangePushEx", event_attrib=ctypes.addressof(ascii_))
    assert nvtx.told == [True, False, True]
