"""The program's streams: handles that come and go, kinds, and streams that are being
captured.  Pure.

A handle may be given to a new stream once the old one is destroyed; then it stands for another
stream of the scenario.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from poolbench.domain import StreamKind
from poolbench.imports.builder import Builder
from poolbench.recording.work import StreamKey

_LEGACY, _PER_THREAD = 0, 2
_NON_BLOCKING = 1
"""`CU_STREAM_NON_BLOCKING`."""


@dataclass(slots=True)
class Streams:
    builder: Builder
    _flags: dict[tuple[int, int], int] = field(default_factory=dict)
    """Context and handle -> flags it was created with."""
    _age: dict[tuple[int, int], int] = field(default_factory=dict)
    """Context and handle -> how many streams had it before."""
    _captured: dict[StreamKey, StreamKey] = field(default_factory=dict)
    """Stream that is being captured -> the one on which the capture began."""
    _captured_events: dict[int, StreamKey] = field(default_factory=dict)
    """Event that was recorded in a capture -> where that began."""
    _n_per_thread: dict[int, int] = field(default_factory=dict)

    def created(self, context: int, handle: int, flags: int) -> None:
        self._flags[context, handle] = flags

    def destroyed(self, context: int, handle: int) -> None:
        self._flags.pop((context, handle), None)
        self._age[context, handle] = self._age.get((context, handle), 0) + 1

    def number(self, key: StreamKey) -> int:
        """Of the scenario's stream; a new one at its first use."""
        context, handle, thread = key
        if handle == _LEGACY:
            return self.builder.stream("default", StreamKind.LEGACY_DEFAULT, "default")
        if handle == _PER_THREAD:
            return self._of_thread(thread)
        age = self._age.get((context, handle), 0)
        name = f"{context}:{handle:#x}:{age}"
        flags = self._flags.get((context, handle))
        kind = StreamKind.NON_BLOCKING
        if flags is not None and not flags & _NON_BLOCKING:
            kind = StreamKind.BLOCKING
        before = self.builder.n_streams
        number = self.builder.stream(name, kind)
        if flags is None and number == before:
            text = "streams whose creation was not seen: taken as non-blocking"
            self.builder.fidelity.guessed[text] += 1
        return number

    def _of_thread(self, thread: int) -> int:
        """A scenario has one thread: the default streams of others become blocking ones."""
        is_first = self._n_per_thread.setdefault(thread, len(self._n_per_thread)) == 0
        kind = StreamKind.PER_THREAD_DEFAULT if is_first else StreamKind.BLOCKING
        before = self.builder.n_streams
        number = self.builder.stream(f"thread:{thread}", kind, "per-thread" if is_first else "")
        if not is_first and number == before:
            text = "default streams of further threads: taken as blocking ones"
            self.builder.fidelity.guessed[text] += 1
        return number

    # --- captures: what is called then is no work, but a node of a graph ---------------------

    def capture_begins(self, key: StreamKey) -> None:
        self._captured[key] = key

    def capture_ends(self, key: StreamKey) -> None:
        """Ends it for all streams that had joined."""
        origin = self._captured.get(key, key)
        self._captured = {one: of for one, of in self._captured.items() if of != origin}
        self._captured_events = {
            event: of for event, of in self._captured_events.items() if of != origin
        }

    def is_captured(self, key: StreamKey) -> bool:
        return key in self._captured

    def recorded(self, key: StreamKey, event: int) -> bool:
        """Whether this record is part of a capture."""
        if key in self._captured:
            self._captured_events[event] = self._captured[key]
            return True
        self._captured_events.pop(event, None)
        return False

    def waited(self, key: StreamKey, event: int) -> bool:
        """Whether this wait is part of a capture, which the stream joins by it."""
        if event in self._captured_events:
            self._captured[key] = self._captured_events[event]
        return key in self._captured
