"""Draws random scenarios in which timing cannot decide an outcome.

Deterministic in (seed, index).  Whatever a step puts on a stream that no latch holds is short, and
the host waits until it is over before anything asks whether it is: before the next allocation,
wait, query or latch.  The host never synchronises with what a closed latch may hold up, so that no
latch is opened but by its own step.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from poolbench.domain import OnOom, StreamKind
from poolbench.fuzz.drawn import Drawn, Scalar, StepData

MIB = 1 << 20
SETTLE_US = 300
"""The host's wait after short work: far longer than that takes."""
MAX_LIVE = 2048 * MIB
"""Bytes allocated at one time, at most."""
MAX_SIZE = 512 * MIB
LATCH_LIMIT = "5s"

_WEIGHTS = {
    "alloc": 30,
    "free": 24,
    "spin": 5,
    "memset": 2,
    "record": 7,
    "wait": 7,
    "sync": 6,
    "query": 2,
    "host": 2,
    "hold": 7,
    "release": 5,
    "trim": 2,
    "sample": 1,
}
_SHARED = (StreamKind.BLOCKING, StreamKind.PER_THREAD_DEFAULT, StreamKind.LEGACY_DEFAULT)
"""Streams that wait for each other where one of them is the legacy default stream."""


def draw(seed: int, index: int) -> Drawn:
    """The scenario `index` of the campaign `seed`."""
    return _Drawing(random.Random(f"{seed}/{index}"), f"fuzz-{seed}-{index}").drawn()


class _Drawing:
    """A scenario in the making.

    `_holds` has the closed latch of each held stream; `_behind` the latches that work put on a
    stream now may have to wait for, `_event_behind` those that an event may have to wait for.
    `_is_unsettled`: work may be going on that no latch holds.
    """

    def __init__(self, dice: random.Random, name: str) -> None:
        self._dice = dice
        self._name = name
        self._bits = f"{dice.randrange(8):03b}"
        self._kinds = self._draw_kinds()
        self._draw_settings()
        self._draw_size = self._sizes()
        self._weights = {
            kind: weight * dice.choice((0, 0.5, 1, 1, 2) if weight < 20 else (1,))
            for kind, weight in _WEIGHTS.items()
        }
        if not self._may_hold:
            self._weights["hold"] = 0
        self._steps: list[StepData] = []
        self._live: dict[str, tuple[str, int]] = {}
        self._n_buffers = self._n_events = self._n_latches = 0
        self._holds: dict[str, int] = {}
        self._behind: dict[str, frozenset[int]] = dict.fromkeys(self._kinds, frozenset())
        self._event_behind: dict[str, frozenset[int]] = {}
        self._is_unsettled = False

    # --- settings ---------------------------------------------------------------------------

    def _draw_kinds(self) -> dict[str, StreamKind]:
        dice = self._dice
        n_streams = dice.randint(2, 6)
        kinds = [StreamKind.NON_BLOCKING] * n_streams
        if dice.random() < 0.35:
            plain = (StreamKind.NON_BLOCKING, StreamKind.BLOCKING)
            kinds = [dice.choice(plain) for _ in range(n_streams)]
            if dice.random() < 0.6:
                kinds[dice.randrange(n_streams)] = StreamKind.LEGACY_DEFAULT
            if dice.random() < 0.4:
                kinds[dice.randrange(n_streams)] = StreamKind.PER_THREAD_DEFAULT
        return {f"s{index}": kind for index, kind in enumerate(kinds)}

    def _draw_settings(self) -> None:
        dice = self._dice
        self._limit = 0
        self._leave_free = 0
        pool: dict[str, Scalar] = {}
        bound = dice.random()
        if bound < 0.35:
            self._limit = dice.randint(1, 16) * 32 * MIB - dice.choice((0, 0, 512, 3 * MIB))
        elif bound < 0.5:
            self._limit = dice.randint(20, 64) * 32 * MIB
        elif bound < 0.55:
            self._leave_free = dice.randint(6, 30) * 32 * MIB + 16 * MIB
        if self._limit:
            pool["max_size"] = _size(self._limit)
        threshold = dice.random()
        if threshold < 0.25:
            pool["release_threshold"] = "max"
        elif threshold < 0.6:
            pool["release_threshold"] = _size(_log_uniform(dice, 1, 1024 * MIB))
        if dice.random() < 0.25:
            # Where little is left of the device, the driver takes memory back from pools.
            most = min(256 * MIB, self._room if self._limit else self._room // 2)
            pool["prime"] = _size(_log_uniform(dice, 1, most))
        self._pool = pool
        policy = dice.choice((OnOom.FAIL, OnOom.FAIL, OnOom.SYNC_RETRY, OnOom.TRIM_RETRY))
        self._may_fail = policy is not OnOom.FAIL
        # A second attempt synchronises with the device, which a latch would keep waiting.
        self._may_hold = not (self._may_fail and (self._limit or self._leave_free))
        self._head: dict[str, Scalar] = {"latch_limit": LATCH_LIMIT}
        if policy is not OnOom.FAIL:
            self._head["on_oom"] = policy.value
        if dice.random() < 0.15:
            self._head["iterations"] = 2

    @property
    def _room(self) -> int:
        return self._limit or self._leave_free or MAX_LIVE

    def _sizes(self) -> Callable[[], int]:
        dice = self._dice
        most = min(MAX_SIZE, self._room if dice.random() < 0.2 else max(self._room // 3, 1))
        way = dice.random()
        if way < 0.4:
            least = dice.choice((1, 1, 4096, MIB))
            return lambda: _log_uniform(dice, min(least, most), most)
        if way < 0.7:
            few = [_log_uniform(dice, min(MIB, most), most) for _ in range(dice.randint(1, 4))]
            return lambda: dice.choice(few)
        return lambda: max(1, min(most, dice.randint(1, 80) * 2 * MIB))

    # --- steps ------------------------------------------------------------------------------

    def drawn(self) -> Drawn:
        kinds, weights = list(self._weights), list(self._weights.values())
        n_steps = self._dice.randint(20, 170)
        while len(self._steps) < n_steps:
            getattr(self, f"_{self._dice.choices(kinds, weights)[0]}")()
        for stream in list(self._holds):
            self._let_go(stream)
        for buffer in sorted(self._live, key=lambda _: self._dice.random()):
            self._free_one(buffer)
        device = {"leave_free": _size(self._leave_free)} if self._leave_free else {}
        return Drawn(
            name=self._name,
            bits=self._bits,
            head=self._head,
            pool=self._pool,
            device=device,
            streams={name: kind.value for name, kind in self._kinds.items()},
            steps=tuple(self._steps),
        )

    def _add(self, **step: Scalar) -> None:
        self._steps.append(step)

    def _any_stream(self) -> str:
        return self._dice.choice(list(self._kinds))

    def _works(self, stream: str) -> None:
        """Something is put on `stream`."""
        if stream not in self._holds:
            self._is_unsettled = True
        kind = self._kinds[stream]
        behind = self._behind[stream]
        if kind in _SHARED:
            for other, other_kind in self._kinds.items():
                if other_kind in _SHARED and StreamKind.LEGACY_DEFAULT in (kind, other_kind):
                    behind |= self._behind[other]
        self._behind[stream] = behind

    def _settle(self) -> None:
        if self._is_unsettled:
            self._add(host=f"{SETTLE_US}us")
            self._is_unsettled = False

    def _alloc(self) -> None:
        size = self._draw_size()
        used = sum(size for _, size in self._live.values())
        most = self._room if self._may_fail or self._dice.random() < 0.02 else self._room * 0.8
        if used + size > min(most, MAX_LIVE) and self._dice.random() < 0.97:
            return self._free()
        self._settle()
        stream = self._any_stream()
        buffer = f"b{self._n_buffers}"
        self._n_buffers += 1
        self._add(alloc=buffer, size=_size(size), stream=stream)
        self._live[buffer] = (stream, size)
        was_unsettled = self._is_unsettled
        self._works(stream)
        self._is_unsettled = was_unsettled
        if self._bits[2] == "1":
            # It may have been given a block that another stream has still to get to the free of.
            self._behind[stream] = frozenset().union(*self._behind.values())
        return None

    def _free(self) -> None:
        if self._live:
            self._free_one(self._dice.choice(list(self._live)))

    def _free_one(self, buffer: str) -> None:
        stream, _ = self._live.pop(buffer)
        if self._dice.random() < 0.2:
            other = self._any_stream()
            if other != stream:
                event = self._new_event(stream)
                self._wait_for(event, other)
                stream = other
        self._add(free=buffer, stream=stream)
        self._works(stream)

    def _spin(self) -> None:
        stream = self._any_stream()
        self._add(kernel="spin", duration=f"{self._dice.randint(1, 20)}us", stream=stream)
        self._works(stream)

    def _memset(self) -> None:
        if self._live:
            buffer = self._dice.choice(list(self._live))
            stream, size = self._live[buffer]
            self._add(memset=buffer, size=_size(min(size, MIB)), stream=stream)
            self._works(stream)

    def _new_event(self, stream: str) -> str:
        event = f"e{self._n_events}"
        self._n_events += 1
        self._add(record=event, stream=stream)
        self._works(stream)
        self._event_behind[event] = self._behind[stream]
        return event

    def _record(self) -> None:
        self._new_event(self._any_stream())

    def _wait(self) -> None:
        if self._event_behind:
            # The events of late are those that still order something.
            late = list(self._event_behind)[-6:]
            self._wait_for(self._dice.choice(late), self._any_stream())

    def _wait_for(self, event: str, stream: str) -> None:
        self._settle()
        self._add(wait=event, stream=stream)
        self._works(stream)
        self._behind[stream] |= self._event_behind[event]

    def _sync(self) -> None:
        match self._dice.randrange(4):
            case 0:
                if not self._holds:
                    self._add(sync="device")
                    self._is_unsettled = False
            case 1:
                events = [event for event, behind in self._event_behind.items() if not behind]
                if events:
                    self._add(sync="event", event=self._dice.choice(events[-6:]))
            case _:
                stream = self._any_stream()
                self._works(stream)
                if not self._behind[stream]:
                    self._add(sync="stream", stream=stream)

    def _query(self) -> None:
        self._settle()
        if self._event_behind and self._dice.random() < 0.5:
            self._add(query="event", event=self._dice.choice(list(self._event_behind)[-6:]))
        else:
            self._add(query="stream", stream=self._any_stream())

    def _host(self) -> None:
        self._add(host=f"{self._dice.choice((10, SETTLE_US))}us")

    def _hold(self) -> None:
        stream = self._any_stream()
        if stream not in self._holds and self._kinds[stream] is not StreamKind.LEGACY_DEFAULT:
            self._settle()
            self._n_latches += 1
            self._add(hold=stream)
            self._holds[stream] = self._n_latches
            self._behind[stream] |= {self._n_latches}

    def _release(self) -> None:
        if self._holds:
            self._let_go(self._dice.choice(list(self._holds)))

    def _let_go(self, stream: str) -> None:
        self._settle()
        self._add(release=stream)
        opened = {self._holds.pop(stream)}
        self._is_unsettled = True
        self._behind = {name: behind - opened for name, behind in self._behind.items()}
        self._event_behind = {name: one - opened for name, one in self._event_behind.items()}

    def _trim(self) -> None:
        self._settle()
        self._add(trim=_size(self._dice.choice((0, 0, _log_uniform(self._dice, 1, 512 * MIB)))))

    def _sample(self) -> None:
        self._add(sample=f"sample{len(self._steps)}")


def _log_uniform(dice: random.Random, least: int, most: int) -> int:
    return min(most, max(least, round(math.exp(dice.uniform(math.log(least), math.log(most))))))


def _size(size: int) -> str:
    """Written with the largest unit that it is a multiple of."""
    if size == 0:
        return "0"
    units: Mapping[str, int] = {"MiB": MIB, "KiB": 1024}
    for unit, factor in units.items():
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"
