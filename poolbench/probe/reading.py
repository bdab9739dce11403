"""A probe in words: what the tables come to.

Pure.  Every sentence is told by the answers; where they do not fit a sentence, it is not said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from poolbench.domain import COMBINATIONS, AttributeSet
from poolbench.probe.documented import Reuse, Verdict, Waiting, verdict
from poolbench.probe.questions import AT_MAXIMUM, CALLS, LAYOUT, REUSE, Reading
from poolbench.probe.record import Probe

_ATTRIBUTES: tuple[tuple[str, Callable[[AttributeSet], bool]], ...] = (
    ("follow_event_dependencies", lambda row: row.follow_event_dependencies),
    ("allow_opportunistic", lambda row: row.allow_opportunistic),
    ("allow_internal_dependencies", lambda row: row.allow_internal_dependencies),
)


def reading(probe: Probe) -> tuple[str, ...]:
    return (*_policies(probe), *_last_resort(probe), *_waiting(probe), *_differing(probe))


def depends_on(probe: Probe, scenario: str) -> str | None:
    """The one attribute that decides a question, "" if none does, `None` if it is not so simple."""
    answers = {row: probe.cell(scenario, row.name).answer for row in COMBINATIONS}
    if Reuse.UNKNOWN in answers.values():
        return None
    if len(set(answers.values())) == 1:
        return ""
    for name, is_on in _ATTRIBUTES:
        sides = [
            {answers[row] for row in COMBINATIONS if is_on(row) is side} for side in (False, True)
        ]
        if all(len(side) == 1 for side in sides):
            return name
    return None


def _policies(probe: Probe) -> Iterator[str]:
    free = [
        question.title
        for question in REUSE
        if depends_on(probe, question.scenario) == ""
        and probe.cell(question.scenario, "000").answer is Reuse.REUSES
    ]
    if free:
        yield f"Reuse that no attribute governs: {'; '.join(free)}."
    for name, _ in _ATTRIBUTES:
        titles = [
            question.title for question in REUSE if depends_on(probe, question.scenario) == name
        ]
        if titles:
            yield f"{name} alone decides: {'; '.join(titles)}."


def _last_resort(probe: Probe) -> Iterator[str]:
    room = {probe.cell("pending-with-room", row.name).answer for row in COMBINATIONS}
    if room == {Reuse.GROWS} and depends_on(probe, AT_MAXIMUM) == "allow_internal_dependencies":
        yield (
            "An inserted wait is the last resort: with room to grow the pool grew in all eight "
            "combinations; only where it could not did the driver make a stream wait."
        )


def _waiting(probe: Probe) -> Iterator[str]:
    waiting = [
        question.title for question in CALLS if probe.call(question.key).answer is Waiting.WAITS
    ]
    growths = [question for question in CALLS if question.key.startswith("grow-")]
    if all(probe.call(question.key).answer is Waiting.RETURNS for question in growths):
        per_mib = probe.laid(Reading.GROWTH_COST.value).text
        cost = f"; it costs the host {per_mib} per MiB" if per_mib else ""
        yield f"Growing the pool waits for no running work{cost}."
    if waiting:
        yield f"Waited for running work: {'; '.join(waiting)}."


def _differing(probe: Probe) -> Iterator[str]:
    titles = [title for title, found in verdicts(probe) if found is Verdict.DIFFERENT]
    if titles:
        yield f"Otherwise than documented: {'; '.join(titles)}."
    else:
        yield "Nothing is otherwise than documented."


def verdicts(probe: Probe) -> Iterator[tuple[str, Verdict]]:
    """(title, verdict) of every question of the three tables."""
    for question in REUSE:
        yield question.title, reuse_verdict(probe, question.scenario)
    for call in CALLS:
        answer = probe.call(call.key).answer
        known = None if answer is Waiting.UNKNOWN else answer
        yield call.title, verdict(known, call.promise)
    for layout in LAYOUT:
        text = probe.laid(layout.key).text
        if not text:
            yield layout.title, Verdict.UNKNOWN
        elif layout.promise is None:
            yield layout.title, Verdict.UNSPECIFIED
        else:
            is_kept = text == layout.promise
            yield layout.title, Verdict.AS_PROMISED if is_kept else Verdict.DIFFERENT


def reuse_verdict(probe: Probe, scenario: str) -> Verdict:
    """Of a whole row: different if one combination is, as promised if all that is promised is."""
    question = next(one for one in REUSE if one.scenario == scenario)
    found = set()
    for row in COMBINATIONS:
        answer = probe.cell(scenario, row.name).answer
        known = None if answer is Reuse.UNKNOWN else answer
        found.add(verdict(known, question.promise(row)))
    for worst in (Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.AS_PROMISED):
        if worst in found:
            return worst
    return Verdict.UNSPECIFIED
