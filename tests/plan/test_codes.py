"""Every code that planning can give is explained."""

from __future__ import annotations

import ast
import pathlib
import re

import poolbench.plan
from poolbench.plan.codes import CODES
from poolbench.scenario.codes import CODES as SCENARIO_CODES

FOLDER = pathlib.Path(poolbench.plan.__file__).parent


def codes_in_source():
    found = set()
    for path in FOLDER.glob("*.py"):
        if path.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.fullmatch(r"[a-z]+(-[a-z]+)+", node.value)
            ):
                found.add(node.value)
    return found | ({"race"} if "race" in CODES else set())


def test_every_code_is_explained_and_every_explanation_used():
    """The registries and the code agree both ways, and explain each code once."""
    assert codes_in_source() - set(SCENARIO_CODES) == set(CODES)
    assert not set(CODES) & set(SCENARIO_CODES)


def test_explanations_are_sentences():
    """What `poolbench explain` prints stands for itself."""
    for code, text in CODES.items():
        assert text[0].isupper(), code
        assert text.endswith("."), code
        assert len(text) > 30 or code == "double-free" or code == "zero-size", code
