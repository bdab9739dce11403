"""One scenario on several devices and drivers, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from poolbench.domain import Case, row_name
from poolbench.findings import CaseResult
from poolbench.render.console import line, prose
from poolbench.render.grid import lines_of
from poolbench.results.derived import default_row, over
from poolbench.results.layout import Columns, Draw
from poolbench.results.numbers import ABSENT, ratio_scale
from poolbench.results.record import RunRecord
from poolbench.results.table import axes_text


def print_environments(console: Console, records: Mapping[str, Mapping[str, RunRecord]]) -> None:
    """`records`: scenario -> environment -> its run.

    Times of two machines do not compare; what a row costs against the default row of its own
    machine does.
    """
    for scenario, of_environment in records.items():
        names = list(of_environment)
        reference = default_row([one for run in of_environment.values() for one in run.cases])
        line(console, Text(scenario, style="bold"))
        if reference is None:
            line(console, "no row to compare with: neither default nor 111 was run")
            continue
        cases = _cases(list(of_environment.values()))
        columns = Columns()
        columns.add(-1, ("row",), _texts([row_name(case.row) for case in cases]))
        for number, name in enumerate(names):
            values = [_ratio(of_environment[name], case, reference) for case in cases]
            columns.add_numbers(number, (f"[{number + 1}]",), values, ratio_scale(values))
            found = [_result(of_environment[name], case) for case in cases]
            columns.add(number, ("status",), _texts([_status(one) for one in found]))
        for text in lines_of(columns.table([axes_text(one) for one in cases]), console.width):
            line(console, text)
        prose(console, f"makespan over that of row {reference} of the same machine")
        for number, name in enumerate(names):
            predicted = ", predicted" if of_environment[name].is_predicted else ""
            line(console, f"[{number + 1}] {name}{predicted}")


def _texts(cells: Sequence[str]) -> Draw:
    return lambda k: cells[k]


def _cases(runs: Sequence[RunRecord]) -> list[Case]:
    return list(dict.fromkeys(result.case for run in runs for result in run.cases))


def _result(run: RunRecord, case: Case) -> CaseResult | None:
    return next((one for one in run.cases if one.case == case), None)


def _ratio(run: RunRecord, case: Case, reference: str) -> float | None:
    found = _result(run, case)
    return None if found is None else over(found, run.cases, reference)


def _status(found: CaseResult | None) -> str:
    return ABSENT if found is None else found.status.value
