"""Inside the recorded program: which part of it is recorded, from its start to its end.

Started by `inject/sitecustomize.py` before the first line of the program.  The one place of
poolbench with state of the whole process: a program has one recorder, and `poolbench.record()` has
to find it. The standard library, and `cupti` once there is something to record.

Nothing is imported at exit: Python would forget that the program was interrupted, and end with
another exit code.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from poolbench.recording import raw
from poolbench.recording.capture import Capture, Missing
from poolbench.recording.ranges import Ranges

FOLDER = "POOLBENCH_RECORD"
"""Variable of the environment: the folder of the recording."""
COULD_NOT_START = 64
"""Exit code of a program that was not started, because it could not have been recorded."""
_MAX_HISTORY = 1_000_000
_NAMED = ("torch", "cupy", "rmm", "cudf", "numba", "jax", "tensorflow", "warp")
"""Packages whose version the recording keeps, where the program uses them."""

_session: Session | None = None


def current() -> Session | None:
    """The recorder of this process."""
    return _session


def start(folder: Path) -> None:
    """Begins to record this process, unless another process of the program is recorded already.

    Ends the process where it cannot be recorded: nobody wants to wait for a program's end to hear
    it.
    """
    global _session  # see above
    try:
        (folder / raw.STARTED).touch(exist_ok=False)
    except FileExistsError:
        with (folder / raw.OTHERS).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        return
    plan = json.loads((folder / raw.PLAN).read_text(encoding="utf-8"))
    try:
        cupti = importlib.import_module("cupti.cupti")
    except ImportError as fault:
        _refuse(folder, "missing", f"cupti-python cannot be imported: {fault}")
        return
    capture = Capture(cupti, raw.Writer(folder))
    try:
        capture.start()
        session = Session(folder, plan, capture)
        if session.wanted:
            os.environ.setdefault("NVTX_INJECTION64_PATH", _library())
            capture.listen_to_ranges(Ranges(cupti, session.wanted, session.on_range).hear)
        session.begin_program()
    except cupti.cuptiError as fault:
        _refuse(folder, "cupti", str(fault))
        return
    except (RuntimeError, Missing) as fault:  # no driver, or a CUPTI that is too old
        _refuse(folder, "driver", str(fault))
        return
    _session = session
    atexit.register(session.finish)
    os.register_at_fork(after_in_child=session.forget)


def _refuse(folder: Path, kind: str, reason: str) -> None:
    text = json.dumps({"kind": kind, "reason": reason, "python": sys.executable})
    (folder / raw.FAILED).write_text(text, encoding="utf-8")
    os._exit(COULD_NOT_START)


def _library() -> str:
    """The CUPTI that is loaded here: NVTX wants its path."""
    with suppress(OSError), Path("/proc/self/maps").open(encoding="utf-8") as maps:
        for line in maps:
            if "libcupti.so" in line:
                return line.split(maxsplit=5)[-1].strip()
    return ""


class Session:
    """`plan` is what `launch.Wanted` wrote."""

    def __init__(self, folder: Path, plan: Mapping[str, Any], capture: Capture) -> None:
        self._folder = folder
        self._capture = capture
        self._pid = os.getpid()
        self.wanted: str = plan.get("range") or ""
        self._first: int = plan.get("first") or 1
        self._n_wanted: int | None = plan.get("steps")
        self._seconds: float | None = plan.get("seconds")
        self._waits = bool(self.wanted or plan.get("first") or plan.get("steps"))
        """For a mark, before anything is recorded in detail."""
        self._n_marks = 0
        self._depth = 0
        self._is_over = False
        self._history = ""
        """What became of PyTorch's own history."""

    def begin_program(self) -> None:
        if not self._waits:
            self._capture.open(self._seconds)

    def mark(self, name: str, *, begins: bool) -> None:
        """A part that the program itself marks."""
        if not self.wanted or name == self.wanted:
            self._mark(name, begins=begins, is_in_python=True)

    def on_range(self, begins: bool) -> None:
        """An NVTX range of the wanted name; called out of a callback of CUPTI's."""
        self._mark(self.wanted, begins=begins, is_in_python=False)

    def _mark(self, name: str, *, begins: bool, is_in_python: bool) -> None:
        self._depth += 1 if begins else -1
        if self._is_over or self._depth != (1 if begins else 0):
            return
        self._n_marks += begins
        number = self._n_marks - self._first + 1
        if number < 1:
            return
        if begins:
            if is_in_python:
                self._start_history()
            self._capture.open(self._seconds)
        self._capture.mark(name, self._n_marks, begins=begins)
        if not begins and number == self._n_wanted:
            self._end_part(is_in_python=is_in_python)

    def _end_part(self, *, is_in_python: bool) -> None:
        """All that was asked for is there; the program goes on without being watched."""
        self._is_over = True
        self._capture.close()
        if is_in_python:  # in a callback the driver must not be waited for: then at the end
            _synchronise()
            self._capture.flush(ends=True)
            self._dump_history()

    def finish(self) -> None:
        """At the end of the program, after its own exit handlers."""
        if os.getpid() != self._pid or self._capture.is_closed:
            return
        self._capture.is_detailed = False
        _synchronise()
        self._dump_history()
        n_dropped = self._capture.n_dropped()
        self._capture.finish()
        self._write_about(n_dropped)
        self._capture.end_of_rows()

    def forget(self) -> None:
        """In a child that was forked off: it is not recorded."""
        global _session
        self._capture.is_closed = True
        _session = None
        with suppress(OSError), (self._folder / raw.OTHERS).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")

    def _write_about(self, n_dropped: int) -> None:
        about = {
            "python": sys.version.split()[0],
            "packages": _versions(),
            "faults": self._capture.faults,
            "n_faults": self._capture.n_faults,
            "missing": self._capture.missing,
            "n_dropped": n_dropped,
            "n_refused": self._capture.n_refused,
            "n_marks": self._n_marks,
            "history": self._history,
        }
        (self._folder / raw.ABOUT).write_text(json.dumps(about), encoding="utf-8")

    # --- PyTorch's caching allocator ---------------------------------------------------------

    def _start_history(self) -> None:
        """Has PyTorch's own allocator write down what it does, where that is the one in use."""
        torch = sys.modules.get("torch")
        if torch is None or self._history:
            return
        try:
            if not torch.cuda.is_initialized() or torch.cuda.get_allocator_backend() != "native":
                return
            torch.cuda.memory._record_memory_history("all", context=None, max_entries=_MAX_HISTORY)
        except (AttributeError, TypeError, RuntimeError) as fault:
            self._history = f"not to be had: {fault}"
        else:
            self._history = "on"

    def _dump_history(self) -> None:
        if self._history != "on":
            return
        memory = sys.modules["torch"].cuda.memory
        try:
            memory._dump_snapshot(str(self._folder / raw.FRAMEWORK))
            memory._record_memory_history(enabled=None)
        except (AttributeError, TypeError, RuntimeError, OSError) as fault:
            self._history = f"not to be had: {fault}"
        else:
            self._history = "written"


def _synchronise() -> None:
    """Waits for the device, so that CUPTI has all records; harmless without a context."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()


def _versions() -> dict[str, str]:
    found = {}
    for name in _NAMED:
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", "?"))
    for name in ("cupti-python", "nvidia-cuda-cupti"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
