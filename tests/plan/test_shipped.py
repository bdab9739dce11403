"""The shipped scenarios, as they are and with something wrong in them."""

from __future__ import annotations

import pathlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolbench.errors import BadInput
from poolbench.plan.build import build_plans
from poolbench.plan.cases import DEFAULT_ROWS, cases
from poolbench.plan.check import check
from poolbench.scenario.load import load, load_text

FILES = sorted(pathlib.Path(__file__).parents[2].joinpath("scenarios").glob("*.yaml"))
TEXTS = [path.read_text() for path in FILES]
WORD = re.compile(r"[$\w.%]+")
WORDS = sorted({word for text in TEXTS for word in WORD.findall(text.split("\nexpect:")[0])})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_scenario_has_neither_errors_nor_warnings(path):
    """What we ship is clean, and every case of it can be planned."""
    scenario = load(path)
    assert check(scenario) == ()
    found = cases(scenario, DEFAULT_ROWS)
    plans = build_plans(scenario, found)
    assert len(plans) == len(found)
    assert all(plan.n_steps for plan in plans)


@settings(max_examples=250, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    changes=st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from([*WORDS, "0", "$i", "-1", "1000000"])),
        min_size=1,
        max_size=3,
    ),
)
def test_a_scenario_with_other_words_is_planned_or_refused(text, changes):
    """Any word of a shipped scenario in the place of another: problems or plans, no traceback."""
    head, *rest = text.split("\nexpect:")
    for position, word in changes:
        places = list(WORD.finditer(head))
        match = places[position % len(places)]
        head = head[: match.start()] + word + head[match.end() :]
    try:
        scenario = load_text("\nexpect:".join([head, *rest]), file="x.yaml", folder=None)
    except BadInput:
        return
    problems = check(scenario)
    if all(problem.is_warning for problem in problems):
        build_plans(scenario, cases(scenario, DEFAULT_ROWS))
    else:
        with pytest.raises(BadInput):
            build_plans(scenario, cases(scenario, DEFAULT_ROWS))
