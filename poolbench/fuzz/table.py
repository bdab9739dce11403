"""The figures of a campaign as lines of text."""

from __future__ import annotations

from poolbench.fuzz.campaign import Figures


def table(totals: Figures) -> str:
    rows = [
        ("scenarios compared", f"{totals.n_scenarios:,}"),
        ("  that agree in everything", f"{totals.n_same:,}"),
        ("scenarios without an answer", f"{totals.n_void:,}"),
        ("allocations issued", f"{totals.n_issued:,}"),
        ("allocations compared", f"{totals.n_allocs:,}"),
        ("  that agree in outcome and reserved", f"{totals.n_agreeing:,}"),
        ("agreement", f"{totals.agreement:.2%}"),
    ]
    rows += [(f"disagreement: {kind}", f"{n:,}") for kind, n in totals.kinds]
    width = max(len(what) for what, _ in rows)
    return "".join(f"{what.ljust(width)}  {figure:>8}\n" for what, figure in rows)
