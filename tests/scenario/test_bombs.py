"""Texts made to take time or memory: each is refused within a second, or is harmless."""

from __future__ import annotations

import time

import pytest

from poolbench.errors import BadInput, BadUsage
from poolbench.plan.check import check
from poolbench.scenario.load import load_text

LIMIT_S = 5.0
"""Of a machine that is busy; on an idle one nothing here takes a second."""


def lol(width: int) -> str:
    lines = ["a: &a [" + ", ".join(["x"] * width) + "]"]
    lines += [
        f"{name}: &{name} [" + ", ".join([f"*{before}"] * width) + "]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join([*lines, "steps:", "  - {host: 1us}"])


def repeats(*counts: int) -> str:
    text = "steps:\n"
    for depth, count in enumerate(counts):
        margin = "    " * depth
        text += f"{margin}  - repeat: {count}\n{margin}    index: i{depth}\n{margin}    steps:\n"
    return text + "    " * len(counts) + "  - {host: 1us}\n"


BOMBS = {
    "billion laughs": (lol(10), "too-many-values"),
    "billion laughs of mappings": (
        "a: &a {k: 1}\n"
        + "".join(
            f"{name}: &{name} {{p: *{before}, q: *{before}, r: *{before}, s: *{before}}}\n"
            for before, name in zip("abcdefghijklm", "bcdefghijklmn", strict=True)
        ),
        "too-many-values",
    ),
    "flow lists": ("a: " + "[" * 500_000, "too-deep"),
    "flow mappings": ("a: " + "{a: " * 200_000, "too-deep"),
    "closed flow lists": ("a: " + "[" * 400_000 + "]" * 400_000, "too-deep"),
    "block lists": ("a:\n" + "- " * 400_000, "too-deep"),
    "block mappings": ("".join(" " * depth + "a:\n" for depth in range(1200)), "too-deep"),
    "complex keys": ("? " * 400_000, "too-deep"),
    "depth by aliases": (
        "".join(f"k{i}: &k{i} [[[[[[[[[[*k{i - 1}]]]]]]]]]]\n" if i else "k0: &k0 1\n"
                for i in range(20)),
        "too-deep",
    ),
    "long number": ("seed: " + "9" * 1_000_000, "bad-number"),
    "long fraction": ("seed: 0." + "1" * 1_000_000, "wrong-type"),
    "long exponent": ("seed: 1e" + "9" * 1_000_000, "bad-number"),
    "long name": ("steps:\n  - {free: " + "x" * 1_000_000 + ", stream: a}", "bad-name"),
    "long key": ("x" * 1000 + ": 1\nsteps: []", "unknown-key"),
    "long size": ("pace: " + "1" * 900_000 + "us\nsteps: [{host: 1us}]", "bad-duration"),
    "long tag": ("a: !" + "x" * 900_000 + " 1", "bad-tag"),
    "long quoted line": ('question: "' + "x" * 1_000_000, "yaml-syntax"),
    "long anchor": ("a: *" + "x" * 900_000, "unknown-alias"),
    "many documents": ("--- 1\n" * 100_000, "several-documents"),
    "many problems": ("steps:\n" + "- {hots: 1us, strem: a}\n" * 19_000, "too-many-problems"),
    "many unknown keys": ("".join(f"kee{i}: 1\n" for i in range(50_000)), "too-many-problems"),
    "many duplicate keys": ("a: 1\n" * 100_000, "duplicate-key"),
    "long draws": (
        "steps:\n  - {host: {choice: [" + "1us, " * 150_000 + "1us]}}",
        "bad-draw",
    ),
    "too much text": ("#" * 2_000_000, "too-large"),
    "repeats": (repeats(1000, 1000, 1000), "too-many-steps"),
    "repeats of repeats": (repeats(*[1_000_000] * 15), "too-many-steps"),
    "iterations": ("iterations: 1000000\nsteps:\n" + "  - {host: 1us}\n" * 9, "too-many-steps"),
    "streams": ("streams: {a: {count: 1000000}}\nsteps: [{host: 1us}]", "too-many-streams"),
    "buffers": (
        "buffers: {a: {count: 1000000, size: 1MiB}}\nsteps: [{host: 1us}]",
        "too-many-buffers",
    ),
    "axes": (
        "parameters: {a: 0, b: 0}\naxes:\n"
        + "".join(f"  {name}: [{', '.join(map(str, range(300)))}]\n" for name in "ab")
        + "steps: [{repeat: $a, steps: [{host: 1us, every: $b}]}]",
        "too-many-values",
    ),
}  # fmt: skip


def codes_of(text: str) -> set[str]:
    try:
        return {problem.code for problem in check(load_text(text, file="f.yaml", folder=None))}
    except BadInput as refusal:
        return {problem.code for problem in refusal.problems}
    except BadUsage as refusal:
        return {refusal.message}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    """What would blow up is a clear error, soon."""
    text, code = BOMBS[name]
    begin = time.process_time()
    codes = codes_of(text)
    took = time.process_time() - begin
    assert code in codes
    assert took < LIMIT_S


def test_long_lines_are_fine() -> None:
    """A line of a million characters is no fault of its own."""
    text = "steps: [{host: 1us}]\nquestion: " + "word " * 200_000
    scenario = load_text(text, file="f.yaml", folder=None)
    assert len(scenario.head.question) == 999_999
