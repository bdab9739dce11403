"""The model against recorded results, scenario by scenario, as a Markdown table.

    python scripts/agreement.py results/h200-580

Long cases are those whose kernels all last 50 us or more.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from poolbench.agreement import Agreement, agreement, ranking
from poolbench.backends.model.backend import ModelBackend
from poolbench.results.store import runs_in

HEAD = (
    "| scenario | allocations | other outcome | cases | makespan, predicted / measured: "
    "median (range) | long cases off by more than 15 % |"
)


def line(found: Agreement) -> str:
    ratios = sorted(pair.ratio for pair in found.makespans)
    long = [pair for pair in found.makespans if pair.is_long]
    off = [pair for pair in long if abs(pair.ratio - 1) > 0.15]
    span = (
        f"{ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else "–"
    )
    return (
        f"| {found.scenario} | {found.n_allocs} | {len(found.differences)} | {found.n_cases} "
        f"| {span} | {len(off)} of {len(long)} |"
    )


def main(directory: Path) -> None:
    model = ModelBackend()
    print(HEAD)
    print("|---|---|---|---|---|---|")
    n_allocs = n_differences = 0
    all_found = []
    kinds: Counter[tuple[str, str, str, str]] = Counter()
    for run in runs_in(directory):
        found = agreement(run, model)
        all_found.append(found)
        n_allocs += found.n_allocs
        n_differences += len(found.differences)
        for one in found.differences:
            kinds[found.scenario, one.what, one.recorded, one.predicted] += 1
        print(line(found))
    pairs = [pair for found in all_found for pair in found.makespans]
    deviations = sorted(abs(pair.ratio - 1) for pair in pairs)
    ranked = ranking(pairs)
    share = 1 - n_differences / n_allocs
    print(f"\n{share:.2%} of {n_allocs} allocations have the measured outcome.")
    print(f"The median makespan is {deviations[len(deviations) // 2]:.1%} off.")
    print(
        f"Of {ranked.n_decided} pairs of rows that the measurement decides, "
        f"{ranked.n_agreeing / ranked.n_decided:.1%} are ranked as measured; "
        f"{ranked.n_undecided} are undecided.\n"
    )
    for (scenario, what, recorded, predicted), n in kinds.most_common():
        print(f"- {scenario}: {n} x {what} {recorded}, predicted {predicted}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
