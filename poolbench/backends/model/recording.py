"""What the traced pass writes down, and how it becomes the columns of a trace.

Plain lists while the run goes on, numpy at the end.  Times are nanoseconds, sizes bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poolbench.backends.model.ops import Op
from poolbench.domain import OUTCOMES, Outcome
from poolbench.trace import NONE, StepTrace

_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class Recording:
    """One entry a row; `ops` are the device's side."""

    def __init__(self, n_rows: int) -> None:
        self.host_begin, self.host_end = [NONE] * n_rows, [NONE] * n_rows
        self.address, self.waited_for = [NONE] * n_rows, [NONE] * n_rows
        self.reserved, self.used = [NONE] * n_rows, [NONE] * n_rows
        self.outcome = [NONE] * n_rows
        self.n_failures = [0] * n_rows
        self.ops: list[Op] = []
        self.spans: list[tuple[int, Op, Op]] = []
        """(row, timing event before it, and after it) of what is more than one op."""

    def allocated(self, row: int, address: int, outcome: Outcome, reused_row: int) -> None:
        self.address[row] = address
        self.outcome[row] = _CODE[outcome]
        self.waited_for[row] = reused_row

    def steps(self) -> StepTrace:
        n_rows = len(self.host_begin)
        device_begin, device_end = [NONE] * n_rows, [NONE] * n_rows
        for op in self.ops:
            if op.done_ns >= 0:
                device_begin[op.row] = op.begin_ns
                device_end[op.row] = op.done_ns + op.after_ns

        for row, before, after in self.spans:
            if before.done_ns >= 0 and after.done_ns >= 0:
                device_begin[row], device_end[row] = before.done_ns, after.done_ns

        def column(entries: list[int], dtype: Any = np.int64) -> npt.NDArray[Any]:
            return np.array(entries, dtype=dtype)

        return StepTrace(
            host_begin_ns=column(self.host_begin),
            host_end_ns=column(self.host_end),
            device_begin_ns=column(device_begin),
            device_end_ns=column(device_end),
            address=column(self.address),
            reserved=column(self.reserved),
            used=column(self.used),
            outcome=column(self.outcome, np.int8),
            waited_for=column(self.waited_for),
            n_failures=column(self.n_failures, np.int32),
        )
