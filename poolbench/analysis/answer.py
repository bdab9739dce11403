"""The sentences under a table: what a run shows, and what it does not.

Pure.  Every sentence is drawn from figures of the record; where they do not decide, it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from poolbench.analysis.advice import shortened
from poolbench.analysis.attribute_sentences import (
    attribute_effects,
    cost_of_internal,
    is_internal_exercised,
)
from poolbench.analysis.blocks import Block, blocks_of, makespan_of
from poolbench.analysis.quantities import say_count, say_size, say_us, say_us_span
from poolbench.analysis.sentences import capital, listed, pools_of, span, tail
from poolbench.analysis.statistics import SAME_SHARE, are_same
from poolbench.domain import AttributeSet, Baseline, Status, row_name
from poolbench.findings import CaseResult, InsertedWait
from poolbench.results.record import PREDICTED, RunRecord

MAX_SENTENCES = 4

_NO_ANSWER = (Status.ERROR, Status.TIMEOUT, Status.UNSUPPORTED, Status.SKIPPED)


def answer(record: RunRecord) -> tuple[str, ...]:
    """One to four sentences, the most serious first, and one of advice."""
    blocks = blocks_of(record)
    if not blocks:
        return ("No case has been run: there is no answer.",)
    is_exact = record.is_predicted
    sentences = [
        *_corruption(blocks),
        *_unfinished(record),
        *_without_result(blocks),
        *_against_recording(record, blocks),
        *_internal_dependencies(blocks),
        *_out_of_memory(blocks),
        *cost_of_internal(blocks, is_exact=is_exact),
        *attribute_effects(blocks, is_exact=is_exact),
        *_not_exercised(blocks),
        *_against_ideal(blocks, is_exact=is_exact),
        *_growth(blocks),
    ][:MAX_SENTENCES] or ["No row with a pool has been run: this says nothing about attributes."]
    sentences += shortened(record)
    if record.is_predicted:
        sentences[0] = f"{PREDICTED} {sentences[0]}"
    return tuple(sentences)


def _corruption(blocks: Sequence[Block]) -> Iterable[str]:
    results = [result for block in blocks for result in block.results]
    corrupt = [one for one in results if one.status is Status.CORRUPTED]
    if corrupt:
        yield f"Memory was corrupted: {corrupt[0].reason}{tail(blocks, corrupt)}."


def _unfinished(record: RunRecord) -> Iterable[str]:
    if len(record.cases) < record.n_planned:
        yield f"The run is not whole: {len(record.cases)} of {record.n_planned} cases are there."


def _without_result(blocks: Sequence[Block]) -> Iterable[str]:
    results = [result for block in blocks for result in block.results]
    for status in _NO_ANSWER:
        chosen = [one for one in results if one.status is status]
        if chosen:
            n = say_count(len(chosen), "case")
            told = f": {chosen[0].reason}" if chosen[0].reason else ""
            yield f"{n} of {len(results)} ended as {status}{told}{tail(blocks, chosen)}."


REPLAY_SHARE = 0.05
"""A replay that is farther off its recording than this says so."""


def _against_recording(record: RunRecord, blocks: Sequence[Block]) -> Iterable[str]:
    """How near the row with everything on comes to the program that was recorded."""
    recorded_us = record.recorded_us
    if recorded_us is None:
        return
    ratios = {}
    for block in blocks:
        base = block.default_like
        own = makespan_of(base, is_exact=record.is_predicted) if base is not None else None
        if base is not None and own is not None and base.status is Status.OK:
            ratios[own.median / recorded_us] = row_name(base.case.row)
    if not ratios:
        return
    ratio = min(ratios, key=lambda one: abs(one - 1))
    is_off = abs(ratio - 1) > REPLAY_SHARE
    warning = ": what it says of the program is doubtful" if is_off else ""
    yield (
        f"The recorded program took {say_us(recorded_us)}; its replay under {ratios[ratio]} takes "
        f"{ratio:.2f} times as long{warning}."
    )


def _internal_dependencies(blocks: Sequence[Block]) -> Iterable[str]:
    chosen = [one for one in pools_of(blocks) if one.findings and one.findings.n_inserted_waits]
    if not chosen:
        return
    counts = [one.findings.n_inserted_waits for one in chosen if one.findings]
    totals = [one.findings.inserted_wait_us_total for one in chosen if one.findings]
    n_waits = span(counts, map(str, counts)) + (" wait" if set(counts) == {1} else " waits")
    total = say_us_span(min(totals), max(totals))
    frees = _frees_text([wait for one in chosen for wait in one.waits], max(counts))
    yield f"Internal dependencies: {n_waits}, {total} in total{frees}{tail(blocks, chosen)}."


def _frees_text(waits: Sequence[InsertedWait], n_waits: int) -> str:
    """`, all for a's free at line 14`."""
    known = [wait for wait in waits if wait.free_of]
    lines = sorted({wait.free_line for wait in known})
    names = sorted({wait.free_of for wait in known})
    if not known or len(known) < len(waits) or len(lines) > 3:
        return ""
    every = "all " if n_waits > 1 else ""
    if len(names) == 1 and len(lines) == 1:
        return f", {every}for {names[0]}'s free at line {lines[0]}"
    if len(lines) == 1:
        return f", {every}for frees at line {lines[0]}"
    return f", {every}for frees at lines {listed([str(line) for line in lines])}"


def _out_of_memory(blocks: Sequence[Block]) -> Iterable[str]:
    pools = pools_of(blocks)
    failed = [one for one in pools if one.status is Status.OUT_OF_MEMORY]
    if failed:
        lead = _lead(pools, failed, "out of memory")
        yield f"{lead}{_failure_text(failed)}{tail(blocks, failed)}."
    retried = [
        one
        for one in pools
        if one.status is Status.OK and one.findings and one.findings.n_out_of_memory
    ]
    if retried:
        counts = [one.findings.n_out_of_memory for one in retried if one.findings]
        n = span(counts, map(str, counts)) + (
            " failed allocation" if set(counts) == {1} else " failed allocations"
        )
        lead = _lead(pools, retried, n)
        yield f"{lead} that a retry got through{tail(blocks, retried)}."


def _lead(pools: Sequence[CaseResult], chosen: Sequence[CaseResult], text: str) -> str:
    """`With internal off: ...` where that attribute alone tells the chosen rows from the others of
    the blocks that they are in."""
    axes = {one.case.axes for one in chosen}
    rows = {
        (one in chosen, one.case.row.allow_internal_dependencies)
        for one in pools
        if one.case.axes in axes and isinstance(one.case.row, AttributeSet)
    }
    if rows == {(True, False), (False, True)}:
        return f"With internal dependencies off: {text}"
    return capital(text)


def _failure_text(failed: Sequence[CaseResult]) -> str:
    """Where all rows failed alike, at what; else nothing, since the table has it."""
    failures = {
        (one.failure.allocation, one.failure.line, one.failure.asked) if one.failure else None
        for one in failed
    }
    failure = failed[0].failure
    if len(failures) != 1 or failure is None:
        return ""
    text = f" at {failure.allocation} (line {failure.line}), {say_size(failure.asked)} asked"
    pools = {(one.failure.reserved, one.failure.used) for one in failed if one.failure}
    if len(pools) == 1:
        text += f", {say_size(failure.used)} in use in a pool of {say_size(failure.reserved)}"
    return text


def _not_exercised(blocks: Sequence[Block]) -> Iterable[str]:
    """Internal dependencies are what a driver falls back on: where nothing fell that far, the run
    is silent about them."""
    known = [one.findings for one in pools_of(blocks) if one.findings is not None]
    has_allocs = any(findings.n_allocs for findings in known)
    if has_allocs and not is_internal_exercised(blocks):
        yield (
            "No allocation came down to a pending block: "
            "this run says nothing about internal dependencies."
        )


def _against_ideal(blocks: Sequence[Block], *, is_exact: bool) -> Iterable[str]:
    """The best and the worst row against the preallocated ideal of the same axis values."""
    found: list[_Ratio] = []
    n_pools = len(pools_of(blocks))
    is_enough = True
    all_same = True
    for block in blocks:
        base = block.baseline(Baseline.PREALLOCATED)
        ideal = makespan_of(base, is_exact=is_exact) if base is not None else None
        for result in block.pools:
            own = makespan_of(result, is_exact=is_exact)
            if ideal is None or own is None or not ideal.median or result.status is not Status.OK:
                continue
            is_enough = is_enough and own.is_enough and ideal.is_enough
            all_same = all_same and are_same(own, ideal)
            found.append((own.median / ideal.median, block, result))
    if not found:
        return
    if not is_enough:
        yield "Times are undecided: fewer than 3 repetitions."
        return
    rows = "Rows with a pool" if len(found) == n_pools else "Rows with a pool that ended ok"
    if all_same:
        yield f"{rows} take as long as preallocated memory, within the noise."
        return
    best, worst = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
    if worst[0] - best[0] <= SAME_SHARE * best[0]:
        yield f"{rows} take {best[0]:.2f} times as long as preallocated memory."
        return
    yield (
        f"Against preallocated memory: {best[0]:.2f} times as long at best "
        f"({_name(best, found)}), {worst[0]:.2f} at worst ({_name(worst, found)})."
    )


_Ratio = tuple[float, Block, CaseResult]


def _name(one: _Ratio, found: Sequence[_Ratio]) -> str:
    """`row 000, n 4`; the axis values alone where all rows of the block are alike."""
    beside = [ratio for ratio, block, _ in found if block.axes == one[1].axes]
    is_alike = max(beside) - min(beside) <= SAME_SHARE * min(beside)
    axes = [f"{name} {text}" for name, text in one[1].axes]
    row = "every row" if is_alike and len(beside) > 1 else f"row {row_name(one[2].case.row)}"
    return ", ".join([row, *axes])


def _growth(blocks: Sequence[Block]) -> Iterable[str]:
    """Where the rows differ in how often the pool grew."""
    known = [one for one in pools_of(blocks) if one.findings is not None]
    counts = [one.findings.n_grown for one in known if one.findings]
    if not counts or min(counts) == max(counts):
        return
    most = [one for one in known if one.findings and one.findings.n_grown == max(counts)]
    yield f"The pool grew {min(counts)} to {max(counts)} times; the most{tail(blocks, most)}."
