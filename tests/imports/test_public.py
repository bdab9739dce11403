"""Files that were not written here: from public repositories, see `public/README.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolbench.imports.builder import Assumed
from tests.cli.conftest import Cli
from tests.imports.reading import counts, read

PUBLIC = Path(__file__).parent / "public"


def test_events_are_followed() -> None:
    """Synchronisations with events and streams, as the profiler recorded them."""
    builder, built = read(PUBLIC / "event_sync.json.gz")
    assert counts(built) == {
        "kernel": 4, "memcpy": 1, "record": 1, "sync_event": 1, "sync_stream": 1, "sync_device": 1
    }  # fmt: skip
    assert builder.fidelity.lost == {"event records that nothing is known to wait for": 1}
    builder, built = read(PUBLIC / "event_sync_multi_stream.json.gz")
    found = counts(built)
    assert (found["record"], found["wait"], found["kernel"]) == (3, 1, 3)
    assert len(built.kinds) == 3


def test_a_training_step_on_nine_streams() -> None:
    """Waits between streams; those that the trace does not explain are counted."""
    builder, built = read(PUBLIC / "alexnet.json.gz")
    found = counts(built)
    assert (found["wait"], found["record"], found["kernel"]) == (20, 20, 79)
    assert len(built.kinds) == 9
    assert sum(builder.fidelity.lost.values()) == 24


def test_another_makers_calls() -> None:
    """HIP's calls carry correlations as CUDA's do."""
    builder, built = read(PUBLIC / "mi250_minitoy_train.json.gz")
    assert counts(built) == {"kernel": 14, "sync_device": 1}
    text = "copies and memsets whose size the file does not have"
    assert builder.fidelity.lost == {text: 2}


def test_an_export_of_an_older_nsight_systems() -> None:
    """Its kinds of synchronisation are numbered otherwise than today: the names of calls decide."""
    builder, built = read(PUBLIC / "con_kernel.sqlite")
    assert counts(built) == {
        "alloc": 5, "free": 5, "kernel": 9, "memcpy": 11, "memset": 1, "record": 5,
        "sync_event": 5, "sync_device": 1,
    }  # fmt: skip
    assert builder.fidelity.lost == {"allocations of memory that is not the device's": 10}
    text = "streams of allocations: that of the next work of the same thread"
    assert builder.fidelity.guessed == {text: 5, "times of calls: when their work ran": 3}


FILES = sorted(path for path in PUBLIC.iterdir() if path.suffix in (".gz", ".sqlite"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_one_of_them_runs(cli: Cli, tmp_path: Path, path: Path) -> None:
    """On the model, with the program's own time and without."""
    assert read(path, Assumed())
    assert cli("import", str(path), "-o", "mine").code == 0
    ended = cli(
        "run", "mine.yaml", "--backend", "model", "--attributes", "preallocated,111",
        "--output", "out",
    )  # fmt: skip
    assert ended.code == 0
    assert "The recorded program took " in ended.out
