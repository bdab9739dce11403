"""Ordering faults of buffers: uses, allocations and frees that nothing keeps apart.

Pure.  These are the faults of a program that would be wrong under every attribute set, so that no
table of numbers should be made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from poolbench.errors import Note
from poolbench.plan import steps as s
from poolbench.plan.expansion import Expansion
from poolbench.plan.faults import Fault
from poolbench.plan.order import Order
from poolbench.plan.uses import Use, uses_of


@dataclass(slots=True)
class _Life:
    """What happened to a buffer so far; the last step of each column stands for those before."""

    last_use: dict[int, tuple[int, Use]] = field(default_factory=dict)
    last_write: dict[int, tuple[int, Use]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Lifetimes:
    expansion: Expansion
    order: Order

    def stream(self, step: int) -> str:
        made = self.expansion.steps[step]
        return self.expansion.streams[made.stream].name if isinstance(made, s.DEVICE_STEPS) else ""

    def name(self, buffer: int) -> str:
        return self.expansion.buffers[buffer].name

    def note(self, step: int, key: str, message: str) -> Note:
        return Note(place=self.expansion.place(step, key), message=message)

    def fault(
        self,
        step: int,
        key: str,
        code: str,
        message: str,
        buffer: int,
        *notes: Note,
        is_warning: bool = False,
    ) -> Fault:
        return Fault(
            place=self.expansion.place(step, key),
            code=code,
            message=message,
            written=self.expansion.written[buffer],
            notes=notes,
            is_warning=is_warning,
        )

    def use(self, step: int, use: Use) -> Iterator[Fault]:
        """Faults of a use against its buffer's allocation and free."""
        buffer = self.expansion.buffers[use.buffer]
        if buffer.memory is not None:
            return
        if 0 <= buffer.free_step < step:
            yield self.fault(
                step,
                use.key,
                "use-after-free",
                f"{buffer.name} is used after it was freed",
                use.buffer,
                self.note(buffer.free_step, "free", "freed here first"),
            )
        elif not self.order.happens_before(buffer.alloc_step, step):
            allocated_on = self.stream(buffer.alloc_step)
            yield self.fault(
                step,
                use.key,
                "use-before-alloc-order",
                f"this use of {buffer.name} on stream {self.stream(step)} is not ordered after "
                f"its allocation on stream {allocated_on}",
                use.buffer,
                self.note(buffer.alloc_step, "alloc", f"allocated here on stream {allocated_on}"),
            )

    def races(self, step: int, use: Use, life: _Life) -> Iterator[Fault]:
        """The first fault of a use against other uses: unordered, and one of the two writes."""
        column = int(self.order.column[step])
        against = life.last_use if use.is_write else life.last_write
        is_kept = self.expansion.buffers[use.buffer].memory is not None
        for other_column, (other, how) in against.items():
            if other_column == column or self.order.happens_before(other, step):
                continue
            here, there = (
                "written" if is_write else "read" for is_write in (use.is_write, how.is_write)
            )
            yield self.fault(
                step,
                use.key,
                "race",
                f"{self.name(use.buffer)} is {here} on stream {self.stream(step)} and {there} on "
                f"stream {self.stream(other)} with no order between the two",
                use.buffer,
                self.note(other, how.key, f"{there} here on stream {self.stream(other)}"),
                is_warning=is_kept,
            )
            return

    def free(self, step: int, free: s.Free, life: _Life) -> Iterator[Fault]:
        """Faults of a free against the allocation, other frees and the uses of its buffer."""
        buffer = self.expansion.buffers[free.buffer]
        stream = self.stream(step)
        if buffer.free_step != step:
            yield self.fault(
                step,
                "free",
                "double-free",
                f"{buffer.name} is freed twice",
                free.buffer,
                self.note(buffer.free_step, "free", "freed here first"),
            )
            return
        late = [
            (other, how)
            for other, how in life.last_use.values()
            if not self.order.happens_before(other, step)
        ]
        if late:
            late.sort(key=lambda found: found[0])
            names = ", ".join(dict.fromkeys(self.stream(other) for other, _ in late))
            yield self.fault(
                step,
                "free",
                "free-before-use-order",
                f"the free of {buffer.name} on stream {stream} is not ordered after its last use "
                f"on stream {names}",
                free.buffer,
                *(
                    self.note(other, how.key, f"last used here on stream {self.stream(other)}")
                    for other, how in late
                ),
            )
        elif not self.order.happens_before(buffer.alloc_step, step):
            allocated_on = self.stream(buffer.alloc_step)
            yield self.fault(
                step,
                "free",
                "free-before-alloc-order",
                f"the free of {buffer.name} on stream {stream} is not ordered after its "
                f"allocation on stream {allocated_on}",
                free.buffer,
                self.note(buffer.alloc_step, "alloc", f"allocated here on stream {allocated_on}"),
            )

    def never_freed(self) -> Iterator[Fault]:
        """Allocations that no free ends: a leak, or a name taken again while still live."""
        latest: dict[str, int] = {}
        for index, buffer in enumerate(self.expansion.buffers):
            if buffer.memory is not None:
                continue
            earlier = latest.get(buffer.name)
            latest[buffer.name] = index
            if earlier is None:
                continue
            before = self.expansion.buffers[earlier]
            if before.free_step < 0:
                yield self.fault(
                    buffer.alloc_step,
                    "alloc",
                    "double-alloc",
                    f"{buffer.name} is allocated while it is still live",
                    index,
                    self.note(before.alloc_step, "alloc", "allocated here first"),
                )
        for index in latest.values():
            buffer = self.expansion.buffers[index]
            if buffer.free_step < 0:
                yield self.fault(
                    buffer.alloc_step,
                    "alloc",
                    "never-freed",
                    f"{buffer.name} is never freed; an iteration must free what it allocates",
                    index,
                )


def lifetime_faults(expansion: Expansion, order: Order) -> Iterator[Fault]:
    """Use after free, double free, leaks, and everything about a buffer that is not ordered."""
    check = _Lifetimes(expansion, order)
    lives: dict[int, _Life] = {}
    for index, step in enumerate(expansion.steps):
        if isinstance(step, s.Free):
            yield from check.free(index, step, lives.get(step.buffer, _Life()))
            if expansion.buffers[step.buffer].free_step == index:
                lives.pop(step.buffer, None)
            continue
        column = int(order.column[index])
        for use in uses_of(step):
            life = lives.setdefault(use.buffer, _Life())
            faults = tuple(check.use(index, use))
            yield from faults or check.races(index, use, life)
            life.last_use[column] = (index, use)
            if use.is_write:
                life.last_write[column] = (index, use)
    yield from check.never_freed()
