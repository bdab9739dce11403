"""poolbench's own JSON lines: every operation, and what is wrong with a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from poolbench.domain import StreamKind
from poolbench.imports import lines
from poolbench.imports.builder import Assumed
from poolbench.imports.damage import Damaged
from tests.imports.reading import column, ops, read, text_file

EVERYTHING = """\
{"poolbench": 1, "streams": {"main": "legacy_default"}}
{"op": "alloc", "id": "x", "size": 1048576, "stream": "main"}
{"op": "host", "ns": 25000}
{"op": "kernel", "stream": "main", "ns": 50000, "blocks": 8, "threads": 128, "name": "gemm"}
{"op": "memcpy", "stream": "side", "size": 4096, "from": "pinned", "to": "device"}
{"op": "memset", "stream": "side", "size": 4096}
{"op": "record", "event": "ready", "stream": "side"}
{"op": "wait", "event": "ready", "stream": "main"}
{"op": "free", "id": "x", "stream": "main"}
{"op": "sync_event", "event": "ready"}
{"op": "sync_stream", "stream": "main"}
{"op": "sync_device"}
{"op": "trim", "keep": 0}
"""


def test_every_operation(tmp_path: Path) -> None:
    """As the documentation has them."""
    builder, built = read(text_file(tmp_path, EVERYTHING), Assumed())
    assert ops(built) == [json.loads(line)["op"] for line in EVERYTHING.splitlines()[1:]]
    assert set(ops(built)) == set(lines._KEYS)
    assert built.workload.streams == ("main", "side")
    assert built.kinds == (StreamKind.LEGACY_DEFAULT, StreamKind.NON_BLOCKING)
    assert column(built, "blocks")[2] == 8
    assert not builder.fidelity.lost
    assert not builder.fidelity.guessed


def test_the_documentations_example_holds(tmp_path: Path) -> None:
    """docs/importing.md shows such a file."""
    text = (Path(__file__).parents[2] / "docs" / "importing.md").read_text()
    example = text.split("```jsonl\n")[1].split("```")[0]
    builder, built = read(text_file(tmp_path, example), Assumed())
    assert len(ops(built)) == len(example.splitlines()) - 1
    assert not builder.fidelity.lost


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"op": "alloc", "id": "x", "size": 1}', "alloc needs `stream`"),
        ('{"op": "alloc", "id": "x", "size": -1, "stream": "a"}', "`size` is a whole number"),
        ('{"op": "alloc", "id": [], "size": 1, "stream": "a"}', "`id` is a text or a number"),
        ('{"op": "alloc", "id": 1, "size": 1, "stream": 2}', "`stream` is a name"),
        ('{"op": "fly"}', "no such op: 'fly'"),
        ('{"op": "sync_device", "stream": "a"}', "sync_device does not take `stream`"),
        ('{"op": "memcpy", "stream": "a", "size": 1, "from": "pinned", "to": "pinned"}', "device"),
        ('{"op": "memcpy", "stream": "a", "size": 1, "from": "disk", "to": "device"}', "`from`"),
        ("[1]", "a line is an object"),
        ('{"op": "alloc"', "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_bad_line_has_its_place(tmp_path: Path, line: str, told: str) -> None:
    """The third one here."""
    start = '{"poolbench": 1}\n{"op": "sync_device"}\n'
    with pytest.raises(Damaged, match=told) as caught:
        read(text_file(tmp_path, f"{start}{line}\n"))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "head",
    [
        '{"poolbench": 2}',
        '{"poolbench": 1, "streams": {"a": "fast"}}',
        '{"poolbench": 1, "streams": 3}',
    ],
)
def test_a_bad_head(tmp_path: Path, head: str) -> None:
    """Another version, or streams that are none."""
    with pytest.raises(Damaged) as caught:
        read(text_file(tmp_path, head + "\n"))
    assert caught.value.line == 1
