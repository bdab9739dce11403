"""What a step did while a latch was closed: the causal proof that it does, or does not, wait.

Pure.  Nanoseconds on the host's axis.  Whatever completed while a stream was provably held does not
depend on that stream; a call that came back only once the latch was open waited for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poolbench.analysis.claims import Claim, matching_rows, tally
from poolbench.plan.plan import Plan
from poolbench.plan.steps import Alloc, Free
from poolbench.trace import NONE, LatchOpening, StepTrace, Trace

CLOCK_TOLERANCE_NS = 1_000
"""Device work that began this shortly before a latch opened began with it: the clocks of host and
device agree no better."""

Held = Literal["ran", "returned", "waited"]

_NO_LATCH = "no latch was closed"
_WORDS: dict[Held, str] = {"ran": "runs", "returned": "returns", "waited": "waits"}


def held_claim(plan: Plan, trace: Trace, steps: StepTrace, label: str, wanted: Held) -> Claim:
    """Every matching call was made while a latch was closed, and did what is claimed."""
    text = f"{label} {_WORDS[wanted]} while a stream is held"
    rows = matching_rows(plan, steps, label)
    if not rows:
        return Claim(text, False, f"no step {label} was issued")
    found: dict[str, int] = {}
    is_met = True
    for row in rows:
        call = while_held(plan, trace, steps, row)
        is_met = is_met and call is not None and call.has(wanted)
        seen = call.seen if call is not None else _NO_LATCH
        found[seen] = found.get(seen, 0) + 1
    return Claim(text, is_met, tally(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """One call that was made while `latches` (at least one) were closed.

    `device_start_ns` is when its work can have begun at the latest: the span of an allocation or
    free starts with an event that may pass before the wait, so that its end counts.
    """

    host_end_ns: int
    device_start_ns: int
    device_end_ns: int
    latches: tuple[LatchOpening, ...]

    @property
    def first_opened_ns(self) -> int:
        return min(latch.opened_ns for latch in self.latches)

    @property
    def has_returned(self) -> bool:
        return NONE < self.host_end_ns <= self.first_opened_ns

    @property
    def has_run(self) -> bool:
        return NONE < self.device_end_ns <= self.first_opened_ns

    @property
    def has_waited(self) -> bool:
        """The call spans an opening, or its work began only then."""
        from_ns = self.first_opened_ns - CLOCK_TOLERANCE_NS
        has_begun_after = self.device_start_ns != NONE and self.device_start_ns >= from_ns
        return self.host_end_ns > self.first_opened_ns or has_begun_after

    def has(self, wanted: Held) -> bool:
        match wanted:
            case "ran":
                return self.has_run
            case "returned":
                return self.has_returned
            case "waited":
                return self.has_waited

    @property
    def seen(self) -> str:
        parts = ["returned" if self.has_returned else "did not return"]
        if not self.has_returned and any(
            latch.by_watchdog and self.host_end_ns > latch.opened_ns for latch in self.latches
        ):
            parts = ["did not return before the watchdog opened the latch"]
        if self.device_end_ns != NONE:
            parts.append("ran" if self.has_run else "did not run to its end")
        return " and ".join(parts)


def while_held(plan: Plan, trace: Trace, steps: StepTrace, row: int) -> HeldCall | None:
    """What the step of a row did; `None` where no latch was closed when the step was issued.

    Latches of other streams say most; where there is none, the step's own; those of `issue: ahead`
    hold everything and come last.
    """
    step = plan.steps[row % plan.n_steps]
    begin = int(steps.host_begin_ns[row])
    closed = [one for one in trace.latches if one.closed_ns <= begin < one.opened_ns]
    own = getattr(step, "stream", NONE)
    others = [one for one in closed if one.row != NONE and one.stream != own]
    mine = [one for one in closed if one.row != NONE and one.stream == own]
    latches = others or mine or closed
    if not latches:
        return None
    is_bracketed = isinstance(step, Alloc | Free)
    starts = steps.device_end_ns if is_bracketed else steps.device_begin_ns
    return HeldCall(
        host_end_ns=int(steps.host_end_ns[row]),
        device_start_ns=int(starts[row]),
        device_end_ns=int(steps.device_end_ns[row]),
        latches=tuple(latches),
    )
