"""Recordings made by hand: calls of the host and work of the device, as CUPTI tells of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from poolbench.imports.builder import Assumed, Builder
from poolbench.recording.decode import Decoded, decode
from poolbench.recording.memory import Plain
from poolbench.recording.raw import CALL, MEMORY, RAN, WIDTH, What
from poolbench.recording.read import Recording
from poolbench.scenario.workload import OPS

MIB = 2**20
A, B = 0xA0, 0xB0
"""Handles of two streams."""


class Tape:
    """Every call takes `call_ns` and begins `gap_ns` after the last; a number each correlates it.

    Streams `A` and `B` are there already, and do not block.
    """

    def __init__(self, *, gap_ns: int = 0, call_ns: int = 1000) -> None:
        self.now = 1_000_000
        self.gap_ns = gap_ns
        self.call_ns = call_ns
        self.rows: list[list[int]] = []
        self.texts: list[str] = []
        self.about: dict[str, Any] = {"n_dropped": 0}
        self.n_others = 0
        self._correlation = 0
        self.stream(A)
        self.stream(B)

    def call(self, what: What, **cells: int) -> int:
        """Its correlation."""
        self.now += self.gap_ns
        self._correlation += 1
        given = {
            "what": int(what), "begin": self.now, "end": self.now + self.call_ns,
            "thread": 1, "context": 1, "correlation": self._correlation, **cells,
        }  # fmt: skip
        self.rows.append(row(CALL, given))
        self.now += self.call_ns
        return int(given["correlation"])

    def ran(self, what: What, correlation: int, start: int, end: int, **cells: int) -> None:
        given = {
            "what": int(what), "start": start, "end": end, "context": 1,
            "correlation": correlation, **cells,
        }  # fmt: skip
        self.rows.append(row(RAN, given))

    def alloc(self, address: int, size: int = MIB, stream: int = A, **cells: int) -> None:
        self.call(What.ALLOC, stream=stream, a=address, b=size, **cells)

    def free(self, address: int, stream: int = A, **cells: int) -> None:
        self.call(What.FREE, stream=stream, a=address, **cells)

    def kernel(
        self, ns: int = 5000, stream: int = A, *, name: str = "k", blocks: int = 8, **cells: int
    ) -> None:
        correlation = self.call(What.LAUNCH, stream=stream, **cells)
        text = self.text(name)
        self.ran(
            What.KERNEL_RAN, correlation, self.now + 500, self.now + 500 + ns,
            a=blocks, b=128, c=text,
        )  # fmt: skip

    def copy(
        self,
        size: int,
        source: int,
        target: int,
        stream: int = A,
        what: What = What.COPY,
        **cells: int,
    ) -> None:
        correlation = self.call(what, stream=stream, **cells)
        self.ran(
            What.COPY_RAN, correlation, self.now + 100, self.now + 900, a=size, b=source, c=target
        )

    def stream(self, handle: int, flags: int = 1) -> None:
        self.call(What.STREAM_CREATE, a=handle, b=flags)

    def mark(self, *, begins: bool, number: int = 1) -> None:
        what = What.MARK_BEGIN if begins else What.MARK_END
        self.now += 10
        self.rows.append(row(CALL, {"what": int(what), "begin": self.now, "a": number}))
        self.now += 10

    def pool(self, reserved: int, used: int, *, threshold: int = 0, pool: int = 7) -> None:
        given = {
            "what": int(What.POOL_MEMORY), "at": self.now, "reserved": reserved, "used": used,
            "threshold": threshold, "pool_type": 1, "pool": pool,
        }  # fmt: skip
        self.rows.append(row(MEMORY, given))

    def text(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def recording(self, *, shuffled: int | None = None) -> Recording:
        """As taken down, or in any other order."""
        rows = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), WIDTH)
        if shuffled is not None:
            rows = rows[np.random.default_rng(shuffled).permutation(len(rows))]
        return Recording(
            rows=rows, texts=tuple(self.texts), about=self.about, n_others=self.n_others
        )

    def decode(self, *, host: bool = False, plain: Plain = Plain.AUTO) -> Read:
        return Read(self.recording(), host=host, plain=plain)


class Read:
    """A decoded recording, and what became of it."""

    def __init__(
        self, recording: Recording, *, host: bool = False, plain: Plain = Plain.AUTO
    ) -> None:
        self.builder = Builder()
        assumed = Assumed(kernel_ns=0, keeps_host=host)
        self.decoded: Decoded = decode(recording, self.builder, assumed, plain=plain)
        self.built = self.decoded.built
        self.fidelity = self.builder.fidelity

    @property
    def ops(self) -> list[str]:
        return [OPS[code] for code in self.built.workload.columns["op"].tolist()]

    def column(self, name: str) -> list[int]:
        found: list[int] = self.built.workload.columns[name].tolist()
        return found

    @property
    def lost(self) -> dict[str, int]:
        return {what: n for what, n in self.fidelity.lost.items() if n}

    @property
    def guessed(self) -> dict[str, int]:
        return {what: n for what, n in self.fidelity.guessed.items() if n}

    def on(self, name: str) -> list[str]:
        """Operations of one stream."""
        number = self.built.workload.streams.index(name)
        pairs = zip(self.ops, self.column("stream"), strict=True)
        return [op for op, stream in pairs if stream == number]


def row(names: tuple[str, ...], given: dict[str, int]) -> list[int]:
    unknown = set(given) - set(names)
    assert not unknown, unknown
    return [given.get(name, 0) for name in names]
