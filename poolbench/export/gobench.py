"""The text of Go's benchmarks, which `benchstat` reads: a line for each timed block of each case.

Pure.  Format: https://go.dev/design/14313-benchmark-format.  Axis values and the row are parts of
the name (`/row=111`), so that `benchstat -col /row` sets attribute sets side by side.  A simulation
says `predicted` in each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from poolbench.domain import Status, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord


def to_gobench(records: Sequence[RunRecord]) -> str:
    return "".join(f"{line}\n" for line in _lines(records))


def _lines(records: Sequence[RunRecord]) -> Iterator[str]:
    told = ""
    for record in records:
        before = record.before
        where = f"{before.device}, driver {before.driver}" if before.driver else before.device
        head = f"pkg: poolbench\ngpu: {where}\nbackend: {record.backend}"
        if head != told:
            yield head
            told = head
        for result in record.cases:
            yield from _case(record, result)


def _case(record: RunRecord, result: CaseResult) -> Iterator[str]:
    """Counts come from the traced run and are the same in every line."""
    if result.status is not Status.OK:
        return
    findings = result.findings
    extra = ""
    if findings is not None:
        extra = f"\t{findings.n_inserted_waits} waits/op\t{findings.n_out_of_memory} oom/op"
        if findings.reserved_high_bytes is not None:
            extra += f"\t{findings.reserved_high_bytes} reserved-B"
    for sample in result.samples_us:
        if sample is not None:
            yield f"{_name(record, result)}\t1\t{sample * 1000:.0f} ns/op{extra}"


def _name(record: RunRecord, result: CaseResult) -> str:
    words = re.split(r"[^0-9A-Za-z]+", record.scenario)
    parts = ["Benchmark" + "".join(word[:1].upper() + word[1:] for word in words)]
    if record.is_predicted:
        parts.append("predicted")
    parts += [f"{_plain(name)}={_plain(text)}" for name, text in result.case.axes]
    parts.append(f"row={row_name(result.case.row)}")
    return "/".join(parts)


def _plain(text: str) -> str:
    """Without what ends a name or one of its parts."""
    return re.sub(r"[\s/=]+", "_", text)
