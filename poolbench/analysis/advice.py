"""Which attribute set to use for a workload, and what would do more: `poolbench advise`.

Pure.  Every sentence rests on figures of the record and names them; where the run does not decide,
or did not exercise something, that is what it says.  Nothing is advised that was not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from poolbench.analysis.attribute_sentences import is_internal_exercised
from poolbench.analysis.blocks import Block, blocks_of, makespan_of, order_of, where_text
from poolbench.analysis.comparison import Judgement, Verdict, Yardstick, floor_of, judge
from poolbench.analysis.factorial import factorial_sentences
from poolbench.analysis.quantities import say_count, say_size, say_us
from poolbench.analysis.sentences import listed
from poolbench.analysis.statistics import SAME_SHARE
from poolbench.domain import AttributeSet, Baseline, Status, row_name
from poolbench.findings import CaseResult, InsertedWait
from poolbench.results.record import PREDICTED, RunRecord

MATTERS = 0.05
"""Parts of the critical path below this share of it are not worth a word."""


class Topic(StrEnum):
    """What a piece of advice is about, in the order in which they are told."""

    SET = "attribute set"
    WAITS = "waits"
    SIZE = "pool size"
    GROWTH = "growth"
    RETRIES = "retries"
    HOST = "host"
    ATTRIBUTES = "attributes"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    topic: Topic
    text: str


def advise(record: RunRecord) -> tuple[Advice, ...]:
    """The advice on one scenario; each piece with its evidence."""
    blocks = [block for block in blocks_of(record) if block.pools]
    if not blocks:
        return (_open("No row with a pool has been run: there is nothing to advise on."),)
    found = [
        *_corrupt(blocks),
        *(one for block in blocks for one in _which_set(record, block, len(blocks) > 1)),
        *(one for block in blocks for one in _on_the_path(block, len(blocks) > 1)),
        *_other_sizes(record, blocks),
        *(Advice(topic=Topic.ATTRIBUTES, text=text) for text in factorial_sentences(record)),
        *_not_exercised(blocks),
    ]
    order = list(Topic)
    found.sort(key=lambda one: order.index(one.topic))
    if record.is_predicted:
        found[0] = replace(found[0], text=f"{PREDICTED} {found[0].text}")
    return tuple(found)


def shortened(record: RunRecord) -> tuple[str, ...]:
    """One sentence, for the end of a table: which row to use where.  Nothing where no block
    decides."""
    blocks = [block for block in blocks_of(record) if block.pools]
    chosen: dict[str, list[Block]] = {}
    for block in blocks:
        name = _best_row(record, block)
        if name is not None:
            chosen.setdefault(name, []).append(block)
    if not chosen:
        return ()
    bases = {row_name(block.default_like.case.row) for block in blocks if block.default_like}
    parts = []
    for name, where in chosen.items():
        verb = "keep" if name in bases else "use"
        place = where_text(blocks, where).removeprefix("only ")
        parts.append(f"{verb} {name}{f' {place}' if place else ''}")
    return (f"Advice: {'; '.join(parts)}. More of it: poolbench advise.",)


def _best_row(record: RunRecord, block: Block) -> str | None:
    """The fastest row that is decidedly faster than the one with everything on; that one, if none
    is and all are judged; else `None`."""
    base = block.default_like
    if base is None or base.status is not Status.OK:
        return None
    others = [one for one in block.pools if one.status is Status.OK and one is not base]
    failed = [one for one in block.pools if one.status is Status.OUT_OF_MEMORY]
    held = Yardstick(floor=floor_of(block), n_compared=max(1, len(others)))
    judged = [
        (judge(base, one, is_exact=record.is_predicted, yardstick=held), one) for one in others
    ]
    faster = [(found.ratio or 1.0, one) for found, one in judged if found.verdict is Verdict.FASTER]
    if faster:
        return row_name(min(faster, key=lambda one: one[0])[1].case.row)
    is_decided = all(found.verdict is not Verdict.UNDECIDED for found, _ in judged)
    return row_name(base.case.row) if is_decided and (judged or failed) else None


def _open(text: str) -> Advice:
    return Advice(topic=Topic.OPEN, text=text)


def _corrupt(blocks: Sequence[Block]) -> Iterator[Advice]:
    corrupt = [one for block in blocks for one in block.results if one.status is Status.CORRUPTED]
    if corrupt:
        rows = ", ".join(dict.fromkeys(row_name(one.case.row) for one in corrupt))
        text = f"Do not use {rows} as it is: memory was corrupted ({corrupt[0].reason})."
        yield Advice(topic=Topic.SET, text=text)


def _where(block: Block, has_others: bool) -> str:
    if not has_others or not block.axes:
        return ""
    return f"With {', '.join(f'{name} {text}' for name, text in block.axes)}: "


# --- which set ------------------------------------------------------------------------------


def _which_set(record: RunRecord, block: Block, has_others: bool) -> Iterator[Advice]:
    """The rows that end ok, against the driver's default."""
    lead = _where(block, has_others)
    fine = [one for one in block.pools if one.status is Status.OK]
    failed = [one for one in block.pools if one.status is Status.OUT_OF_MEMORY]
    if failed:
        yield Advice(topic=Topic.SET, text=f"{lead}{_out_of_memory(block, failed)}")
    base = block.default_like
    if base is None or base.status is not Status.OK:
        return
    others = [one for one in fine if one is not base]
    if not others:
        return
    held = Yardstick(floor=floor_of(block), n_compared=len(others))
    judged = [
        (one, judge(base, one, is_exact=record.is_predicted, yardstick=held)) for one in others
    ]
    yield Advice(topic=Topic.SET, text=lead + _choice(base, judged))
    more = [found.n_more for _, found in judged if found.n_more]
    undecided = [row_name(one.case.row) for one, found in judged if _is_open(found)]
    if undecided:
        blocks = f"; {max(more)} more repetitions might decide" if more else ""
        n = say_count(len(undecided), "row")
        yield _open(f"{lead}{n} against {row_name(base.case.row)} undecided{blocks}.")


def _is_open(found: Judgement) -> bool:
    return found.verdict is Verdict.UNDECIDED


def _out_of_memory(block: Block, failed: Sequence[CaseResult]) -> str:
    rows = ", ".join(row_name(one.case.row) for one in failed)
    first = failed[0].failure
    at = f" at {first.allocation} (line {first.line})" if first is not None else ""
    served = [
        one
        for one in block.pools
        if one.status is Status.OK and one.findings and one.findings.n_inserted_waits
    ]
    if served:
        held = served[0].findings
        n = held.n_inserted_waits if held else 0
        return (
            f"Keep allow_internal_dependencies on, or handle failures: {rows} run out of "
            f"memory{at}; with it on the driver gets through with "
            f"{say_count(n, 'inserted wait')}."
        )
    return f"{rows} run out of memory{at}, and no attribute gets through."


def _choice(base: CaseResult, judged: Sequence[tuple[CaseResult, Judgement]]) -> str:
    name = row_name(base.case.row)
    faster = [(found.ratio or 1.0, one) for one, found in judged if found.verdict is Verdict.FASTER]
    if faster:
        ratio, best = min(faster, key=lambda one: one[0])
        return (
            f"Use {row_name(best.case.row)}: {ratio:.2f} times as long as {name}"
            f"{_memory_text(base, best)}."
        )
    slower = [one for one, found in judged if found.verdict is Verdict.SLOWER]
    same = [one for one, found in judged if found.verdict is Verdict.SAME]
    if same and len(same) == len(judged):
        rows = say_count(len(judged), "other row")
        return f"It makes no difference: keep {name}. {rows} that ended ok took as long."
    if slower and len(slower) + len(same) == len(judged):
        rows = ", ".join(row_name(one.case.row) for one in slower)
        return f"Keep {name}: {rows} take longer, no row takes less."
    return f"Nothing was shown to be faster than {name}."


def _memory_text(base: CaseResult, best: CaseResult) -> str:
    sizes = [one.findings.reserved_high_bytes if one.findings else None for one in (base, best)]
    before, after = sizes
    if before is None or after is None:
        return ""
    if before == after:
        return f", at the same {say_size(after)} of reserved memory"
    return f", and {say_size(after)} of reserved memory instead of {say_size(before)}"


# --- what would do more -----------------------------------------------------------------------


def _on_the_path(block: Block, has_others: bool) -> Iterator[Advice]:
    """What of the default row's critical path is not work."""
    base = block.default_like
    if base is None or base.findings is None or base.findings.path_work_us is None:
        return
    found, lead, name = base.findings, _where(block, has_others), row_name(base.case.row)
    parts = {
        "inserted": found.path_inserted_wait_us or 0.0,
        "growth": found.path_growth_us or 0.0,
        "retry": found.path_retry_us or 0.0,
        "host": (found.path_host_call_us or 0.0) + (found.path_host_own_us or 0.0),
    }
    whole = sum(
        getattr(found, field) or 0.0 for field in found.__dataclass_fields__ if "path_" in field
    )
    if whole <= 0:
        return
    share = {key: value / whole for key, value in parts.items()}
    if share["inserted"] >= MATTERS:
        text = (
            f"{lead}{share['inserted']:.0%} of {name}'s makespan ({say_us(parts['inserted'])}) is "
            f"inserted waits{_worst_wait(base.waits)}. A pool with room for what is pending, or a "
            "free that comes earlier, removes them."
        )
        yield Advice(topic=Topic.WAITS, text=text)
    if share["growth"] >= MATTERS:
        text = (
            f"{lead}{share['growth']:.0%} of {name}'s makespan ({say_us(parts['growth'])}) is "
            f"growth in {say_count(found.n_grown, 'allocation')}. Priming the pool and a release "
            "threshold of max save up to that much."
        )
        yield Advice(topic=Topic.GROWTH, text=text)
    if share["retry"] >= MATTERS:
        text = (
            f"{lead}{share['retry']:.0%} of {name}'s makespan ({say_us(parts['retry'])}) is failed "
            "allocations that synchronise and try again."
        )
        yield Advice(topic=Topic.RETRIES, text=text)
    if share["host"] >= 0.25:
        text = (
            f"{lead}For {share['host']:.0%} of {name}'s traced makespan ({say_us(parts['host'])}) "
            "the device had nothing to run because the host had not issued it: fewer or larger "
            "steps do more there than any attribute."
        )
        yield Advice(topic=Topic.HOST, text=text)


def _worst_wait(waits: Sequence[InsertedWait]) -> str:
    known = [wait for wait in waits if wait.on_path_us]
    if not known:
        return ""
    worst = max(known, key=lambda wait: wait.on_path_us or 0.0)
    n = say_count(len(known), "wait")
    free = f" for {worst.free_of}'s free at line {worst.free_line}" if worst.free_of else ""
    return (
        f" ({n} on the critical path, the longest {say_us(worst.on_path_us or 0.0)}: "
        f"{worst.allocation} at line {worst.line}{free})"
    )


def _other_sizes(record: RunRecord, blocks: Sequence[Block]) -> Iterator[Advice]:
    """Another value of `pool.max_size` that was run and has no waits, failures or retries."""
    axis = "pool.max_size"
    tight = [block for block in blocks if _is_tight(block)]
    if not tight:
        return
    if axis not in dict(record.axes):
        yield _open("Whether a larger pool would do more was not run: --axis pool.max_size=...")
        return
    for block in tight:
        base = block.default_like
        own = makespan_of(base, is_exact=record.is_predicted) if base else None
        better = [
            (other, found)
            for other in blocks
            if _rest(other, axis) == _rest(block, axis)
            and not _is_tight(other)
            and other.default_like is not None
            and (found := makespan_of(other.default_like, is_exact=record.is_predicted)) is not None
        ]
        if own is None or not better or base is None:
            continue
        best = min(found.median for _, found in better)
        near = [one for one in better if one[1].median <= best * (1 + SAME_SHARE)]
        other, found = min(near, key=lambda one: order_of(dict(one[0].axes)[axis]) or 0.0)
        row = other.default_like
        reserved = row.findings.reserved_high_bytes if row and row.findings else None
        memory = f" and {say_size(reserved)} of memory" if reserved is not None else ""
        text = (
            f"{_where(block, True)}{axis} {dict(other.axes)[axis]} does more than any attribute: "
            f"{found.median / own.median:.2f} times as long, with no waits and no failures"
            f"{memory}."
        )
        yield Advice(topic=Topic.SIZE, text=text)


def _rest(block: Block, axis: str) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in block.axes if pair[0] != axis)


def _is_tight(block: Block) -> bool:
    """Some row waited or failed for want of memory."""
    return is_internal_exercised([block])


def _not_exercised(blocks: Sequence[Block]) -> Iterator[Advice]:
    if not is_internal_exercised(blocks):
        yield _open(
            "No allocation met a pending block that it could not have otherwise: this run says "
            "nothing about internal dependencies."
        )
    rows = {
        row_name(one.case.row)
        for block in blocks
        for one in block.pools
        if isinstance(one.case.row, AttributeSet)
    }
    if len(rows) == 1:
        yield _open(f"Only {listed(sorted(rows))} was run: nothing to choose from.")
    if not any(block.baseline(Baseline.PREALLOCATED) for block in blocks):
        yield _open(
            "Without the row preallocated there is no telling what allocating costs at all."
        )
