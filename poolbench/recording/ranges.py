"""NVTX ranges out of CUPTI's callbacks: when one of a certain name begins and ends.

Inside the recorded program.  Push and pop, with and without a domain, as `nvtx`, `torch.cuda.nvtx`
and CuPy make them; the standard library and the `cupti` module given.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

_MESSAGE_TYPE = 32
"""Where `nvtxEventAttributes_t.messageType` is, and `message`."""
_MESSAGE = 40
_ASCII, _REGISTERED = 1, 3


class Ranges:
    """Tells of ranges called `wanted`; an inner one of the same name is part of the outer one."""

    def __init__(self, cupti: Any, wanted: str, tell: Callable[[bool], None]) -> None:
        self._cupti = cupti
        self._wanted = wanted
        self._tell = tell
        self._open: dict[tuple[int, int], list[bool]] = {}
        """Thread and domain -> whether each of its open ranges is a wanted one."""
        self._registered: dict[int, str] = {}
        """Handle of a registered text -> the text: NVTX cannot be asked for it."""

    def hear(self, cbid: int, data: Any) -> None:
        """One callback of the NVTX domain."""
        cupti, ids, params = self._cupti, self._cupti.NvtxApiTraceCbid, data.function_params
        if cbid == ids.nvtxRangePushA:
            message = cupti.NvtxRangePushAParams.from_ptr(params, readonly=True).message
            self._push(0, str(message))
        elif cbid == ids.nvtxRangePushEx:
            pushed = cupti.NvtxRangePushExParams.from_ptr(params, readonly=True)
            self._push(0, self._message(int(pushed.event_attrib)))
        elif cbid == ids.nvtxDomainRangePushEx:
            pushed = cupti.NvtxDomainRangePushExParams.from_ptr(params, readonly=True)
            self._push(int(pushed.domain), self._message(int(pushed.core.event_attrib)))
        elif cbid == ids.nvtxRangePop:
            self._pop(0)
        elif cbid == ids.nvtxDomainRangePop:
            popped = cupti.NvtxDomainRangePopParams.from_ptr(params, readonly=True)
            self._pop(int(popped.domain))
        elif cbid == ids.nvtxDomainRegisterStringA and data.function_return_value:
            text = cupti.NvtxDomainRegisterStringAParams.from_ptr(params, readonly=True).string
            handle = ctypes.c_uint64.from_address(data.function_return_value).value
            self._registered[handle] = str(text)

    def _push(self, domain: int, name: str) -> None:
        is_wanted = name == self._wanted
        self._open.setdefault((threading.get_ident(), domain), []).append(is_wanted)
        if is_wanted:
            self._tell(True)

    def _pop(self, domain: int) -> None:
        begun = self._open.get((threading.get_ident(), domain))
        if begun and begun.pop():
            self._tell(False)

    def _message(self, attributes: int) -> str:
        """What an event is called; "" for a kind of text that is not read."""
        if not attributes:
            return ""
        kind = ctypes.c_int32.from_address(attributes + _MESSAGE_TYPE).value
        pointer = ctypes.c_uint64.from_address(attributes + _MESSAGE).value
        if kind == _ASCII and pointer:
            return ctypes.string_at(pointer).decode("utf-8", "replace")
        return self._registered.get(pointer, "") if kind == _REGISTERED else ""
