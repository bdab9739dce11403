"""Work of the device as steps: kernels as long as they were, copies, memsets, graphs.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from poolbench.domain import MemoryKind
from poolbench.imports.builder import Builder
from poolbench.recording.raw import RAN, MemoryCode, What
from poolbench.recording.read import cells
from poolbench.recording.work import Row

_RAN = cells(RAN)
_HOST_SIDE: Mapping[int, MemoryKind] = {
    MemoryCode.PAGEABLE: MemoryKind.PAGEABLE,
    MemoryCode.PINNED: MemoryKind.PINNED,
}


class Played:
    """Hands work on to the builder; `last_end` is when the last of it was done."""

    def __init__(self, builder: Builder, texts: Sequence[str]) -> None:
        self._builder = builder
        self._texts = texts
        self.last_end = 0

    def work(self, work: Row, stream: int) -> bool:
        """One piece of work as a step; whether it has a side in the host's memory."""
        a, b, c = work[_RAN["a"]], work[_RAN["b"]], work[_RAN["c"]]
        duration_ns = max(0, work[_RAN["end"]] - work[_RAN["start"]])
        self.last_end = max(self.last_end, work[_RAN["end"]])
        fidelity = self._builder.fidelity
        match work[0]:
            case What.KERNEL_RAN:
                name = self._texts[c] if 0 <= c < len(self._texts) else ""
                self._builder.kernel(duration_ns, stream, blocks=max(1, a), threads=b, name=name)
                fidelity.kept["kernels, as long as they were"] += 1
            case What.COPY_RAN:
                source, target = (_HOST_SIDE.get(side, MemoryKind.DEVICE) for side in (b, c))
                if MemoryKind.DEVICE not in (source, target):
                    fidelity.lost["copies from host to host"] += 1
                else:
                    self._builder.copy(a, stream, source, target)
                return source in _HOST_SIDE.values() or target in _HOST_SIDE.values()
            case What.SET_RAN:
                self._builder.memset(a, stream)
            case What.COPY_BETWEEN_DEVICES_RAN:
                fidelity.lost["copies between devices"] += 1
        return False

    def graph(self, work: Sequence[Row], stream: int) -> None:
        """A launched graph: one kernel for as long as it ran, as wide as its widest."""
        start = min(one[_RAN["start"]] for one in work)
        end = max(one[_RAN["end"]] for one in work)
        kernels = [one for one in work if one[0] == What.KERNEL_RAN]
        blocks = max((one[_RAN["a"]] for one in kernels), default=1)
        self.last_end = max(self.last_end, end)
        self._builder.kernel(max(0, end - start), stream, blocks=max(1, blocks), name="graph")
        fidelity = self._builder.fidelity
        fidelity.guessed["launches of graphs: one kernel each, for as long as the graph ran"] += 1
        fidelity.lost["kernels inside graphs, as kernels of their own"] += len(kernels)
