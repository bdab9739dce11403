"""Advice as the terminal shows it: topic, sentence, and on what device it rests."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from poolbench.analysis.advice import Advice
from poolbench.render.console import line, terms
from poolbench.results.facts import title
from poolbench.results.record import RunRecord


def print_advice(console: Console, record: RunRecord, advice: Sequence[Advice]) -> None:
    line(console, Text(title(record), style="bold"))
    terms(console, [(one.topic.value, one.text) for one in advice], style="bold")
