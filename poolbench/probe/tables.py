"""The three tables of a probe as texts: the terminal and Markdown draw the same.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from poolbench.domain import COMBINATIONS
from poolbench.probe.documented import Reuse, Verdict, Waiting, verdict
from poolbench.probe.questions import CALLS, LAYOUT, REUSE, CallQuestion
from poolbench.probe.reading import reuse_verdict, verdicts
from poolbench.probe.record import Cell, Probe
from poolbench.results.numbers import ABSENT
from poolbench.results.table import Block, Table, TableColumn, TableRow
from poolbench.units import format_size

REUSE_TITLE = "Who may reuse a block"
CALLS_TITLE = "Which calls wait for running work"
LAYOUT_TITLE = "How the pool lays memory out"

MARKS = {
    Verdict.AS_PROMISED: "=",
    Verdict.UNSPECIFIED: "·",
    Verdict.DIFFERENT: "≠",
    Verdict.UNKNOWN: "?",
}
"""A verdict in one character, where a table has no room for the word."""


def _column(
    key: str, header: str, *, group: int, unit: str = "", is_number: bool = False
) -> TableColumn:
    return TableColumn(key=key, header=(header,), unit=unit, is_number=is_number, group=group)


def _table(columns: Sequence[TableColumn], rows: Sequence[tuple[str, ...]]) -> Table:
    body = tuple(TableRow(status="", cells=cells) for cells in rows)
    return Table(columns=tuple(columns), blocks=(Block(title="", rows=body),))


def reuse_table(probe: Probe) -> Table:
    """The eight combinations side by side, and whether all of it is as documented."""
    columns = [_column("question", "a free, and then", group=-1)]
    columns += [_column(row.name, row.name, group=0) for row in COMBINATIONS]
    columns.append(_column("documented", "doc", group=0))
    rows = []
    for question in REUSE:
        cells = [probe.cell(question.scenario, row.name).answer.value for row in COMBINATIONS]
        mark = MARKS[reuse_verdict(probe, question.scenario)]
        rows.append((question.title, *cells, mark))
    return _table(columns, rows)


def calls_table(probe: Probe) -> Table:
    """Host times in microseconds: of a call that waits, until the watchdog opened the latch."""
    columns = [
        _column("call", "while a stream is held", group=-1),
        _column("answer", "the call", group=0),
        _column("host", "after", unit="us", group=0, is_number=True),
        _column("documented", "documented", group=0),
    ]
    return _table(columns, list(_call_rows(probe)))


def _call_rows(probe: Probe) -> Iterator[tuple[str, ...]]:
    for _, group in groupby(CALLS, key=lambda one: _family(probe, one)):
        questions = list(group)
        answers = [probe.call(question.key) for question in questions]
        answer = answers[0].answer
        known = None if answer is Waiting.UNKNOWN else answer
        times = sorted(one.host_ns for one in answers if one.host_ns is not None)
        yield (
            _family_title(questions),
            answer.value,
            _range(times),
            verdict(known, questions[0].promise).value,
        )


def _family(probe: Probe, question: CallQuestion) -> tuple[str, str]:
    """The same call in several combinations is one line as long as the answer is the same."""
    stem = question.title.rsplit(", ", 1)[0]
    is_family = question.key.startswith("at-maximum-")
    return (stem if is_family else question.title), probe.call(question.key).answer.value


def _family_title(questions: Sequence[CallQuestion]) -> str:
    if len(questions) == 1:
        return questions[0].title
    stem = questions[0].title.rsplit(", ", 1)[0]
    if len(questions) == len(COMBINATIONS):
        return f"{stem}, all eight"
    return f"{stem}, {' '.join(one.title.rsplit(', ', 1)[1] for one in questions)}"


def _range(times_ns: Sequence[int]) -> str:
    texts = list(dict.fromkeys(_us(time) for time in (*times_ns[:1], *times_ns[-1:])))
    return " to ".join(texts) or ABSENT


def _us(time_ns: int) -> str:
    return f"{time_ns / 1000:,.0f}" if time_ns >= 100_000 else f"{time_ns / 1000:.1f}"


def layout_table(probe: Probe) -> Table:
    columns = [
        _column("question", "the pool", group=-1),
        _column("answer", "answer", group=0),
        _column("documented", "documented", group=0),
    ]
    found = dict(verdicts(probe))
    rows = [
        (question.title, probe.laid(question.key).text or ABSENT, found[question.title].value)
        for question in LAYOUT
    ]
    return _table(columns, rows)


def evidence_table(probe: Probe) -> Table:
    """Every cell of the first table, with what it rests on; a block for each question."""
    columns = [
        _column("row", "row", group=-1),
        _column("answer", "answer", group=0),
        _column("distance", "address - freed", group=0, is_number=True),
        _column("reserved", "reserved before, after", group=0, is_number=True),
        _column("ran", "ran while held", group=0),
        _column("host", "host call", unit="us", group=0, is_number=True),
    ]
    blocks = []
    for question in REUSE:
        cells = [probe.cell(question.scenario, row.name) for row in COMBINATIONS]
        rows = tuple(TableRow(status="", cells=_evidence(one)) for one in cells)
        title = f"{question.title} (probe/{question.scenario})"
        blocks.append(Block(title=title, rows=rows))
    return Table(columns=tuple(columns), blocks=tuple(blocks))


def _evidence(cell: Cell) -> tuple[str, ...]:
    if cell.answer is Reuse.UNKNOWN:
        return (cell.row, cell.answer.value, cell.note, ABSENT, ABSENT, ABSENT)
    sizes = [
        ABSENT if size is None else format_size(size)
        for size in (cell.reserved_before, cell.reserved_after)
    ]
    ran = {True: "yes", False: "no", None: ABSENT}[cell.ran_while_held]
    distance = ABSENT if cell.distance is None else _signed(cell.distance)
    host = ABSENT if cell.host_ns is None else _us(cell.host_ns)
    return (cell.row, cell.answer.value, distance, ", ".join(sizes), ran, host)


def _signed(size: int) -> str:
    return f"-{format_size(-size)}" if size < 0 else format_size(size)
