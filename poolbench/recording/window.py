"""Which part of a recording is wanted: what the program's marks enclose.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.recording.raw import CALL, What
from poolbench.recording.read import Recording, cells

_CALL = cells(CALL)
_EVER = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Times of CUPTI's clock; a call that begins in between is part of it.

    n_marks
        iterations in it; 0 for a program that marks none.
    is_open
        the program ended within an iteration.
    """

    begin: int = 0
    end: int = _EVER
    n_marks: int = 0
    is_open: bool = False

    def has(self, time: int) -> bool:
        return self.begin <= time <= self.end


def window_of(recording: Recording) -> Window:
    """From the first mark to the last, with what lies between two iterations; to the end of the
    time that was asked for, if that comes first."""
    stops = recording.of(What.STOPPED)[:, _CALL["begin"]]
    stop = int(stops.min()) - 1 if len(stops) else _EVER
    marks = recording.of(What.MARK_BEGIN, What.MARK_END)
    begins = marks[marks[:, 0] == What.MARK_BEGIN][:, _CALL["begin"]]
    begins = begins[begins <= stop]
    ends = marks[marks[:, 0] == What.MARK_END][:, _CALL["begin"]]
    if not len(begins):
        return Window(end=stop)
    is_open = len(ends) < len(begins)
    end = _EVER if is_open else int(ends.max())
    return Window(
        begin=int(begins.min()),
        end=min(end, stop),
        n_marks=len(begins),
        is_open=is_open and stop == _EVER,
    )
