"""The results directory: nothing lost, nothing overwritten, damage named."""

from __future__ import annotations

import json
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolbench.domain import BackendKind
from poolbench.errors import BadUsage, Place
from poolbench.findings import CaseResult, Findings, InsertedWait
from poolbench.results import samples, store
from poolbench.results.record import FORMAT_VERSION, RunRecord
from poolbench.scenario.scenario import Scenario
from poolbench.scenario.schema import HeadModel, KernelModel
from tests.render.records import hand_over

_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def finite(kind: type) -> st.SearchStrategy[typing.Any]:
    """Any value of a dataclass whose floats are finite, as JSON needs them."""
    of_type: dict[object, st.SearchStrategy[typing.Any]] = {
        float: _FLOATS,
        float | None: st.none() | _FLOATS,
    }
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{key: of_type[hint] for key, hint in hints.items() if hint in of_type})


RESULTS = st.builds(
    CaseResult,
    findings=st.none() | finite(Findings),
    waits=st.lists(finite(InsertedWait), max_size=2).map(tuple),
)
RECORDS = st.builds(RunRecord, cases=st.lists(RESULTS, max_size=2).map(tuple))


@given(record=RECORDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_round_trip(record: RunRecord) -> None:
    """Whatever a record holds, reading what was written gives it back, value for value."""
    assert store.from_json(store.to_json(record), name="run.json") == record


def scenario_of(text: str = "name: s\n", **head: object) -> Scenario:
    return Scenario(
        name="s",
        file="s.yaml",
        text=text,
        head=HeadModel.model_validate(head),
        steps=(),
        places={(): Place(line=1, column=1)},
    )


def test_directory_is_readable_from_the_start(tmp_path: Path) -> None:
    """After `create` and one record everything can be read, though nothing has run."""
    where = tmp_path / "out" / "s"
    store.create(where, scenario_of(axes={"n": [1, 2]}))
    store.write_record(where, hand_over(BackendKind.MODEL))
    assert store.read(where) == hand_over(BackendKind.MODEL)
    assert (where / "scenario.yaml").read_text() == "name: s\n"
    assert list(samples.read_samples(where).columns[:3]) == ["case", "axis_n", "row"]
    assert len(samples.read_steps(where)) == 0


def test_kernel_files_come_along(tmp_path: Path) -> None:
    """CUDA C beside the scenario is kept beside its copy, and nothing is written outside."""
    head = {"kernels": {"k": {"file": "sub/k.cu"}, "up": {"file": "../up.cu"}, "own": {}}}
    scenario = replace(scenario_of(**head), sources={"k": "K", "up": "U", "own": "O"})
    assert isinstance(scenario.head.kernels["k"], KernelModel)
    where = tmp_path / "results"
    store.create(where, scenario)
    assert (where / "sub" / "k.cu").read_text() == "K"
    assert (where / "up.cu").read_text() == "U"
    assert not (tmp_path / "up.cu").exists()


def test_results_are_not_overwritten(tmp_path: Path) -> None:
    """A directory that holds anything is refused with the way out; an empty one is taken."""
    store.create(tmp_path, scenario_of())
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(BadUsage, match="already") as refused:
        store.create(tmp_path, scenario_of())
    assert "--output" in refused.value.hint
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """So is a path that is a file, or below one."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BadUsage):
        store.create(tmp_path / "file", scenario_of())
    with pytest.raises(BadUsage, match="cannot"):
        store.create(tmp_path / "file" / "below", scenario_of())


def test_newer_format_is_refused(tmp_path: Path) -> None:
    """A file of a later version is not guessed at."""
    plain = store.to_plain(hand_over(BackendKind.CUDA)) | {"format_version": FORMAT_VERSION + 1}
    (tmp_path / "run.json").write_text(json.dumps(plain))
    with pytest.raises(BadUsage, match=f"format {FORMAT_VERSION + 1}") as refused:
        store.read(tmp_path)
    assert "upgrade" in refused.value.hint


WHOLE = store.to_json(hand_over(BackendKind.CUDA))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "[" * 100_000,
        WHOLE[: len(WHOLE) // 2],
        WHOLE.replace('"seed": 1', '"seed": "one"'),
        WHOLE.replace('"cases"', '"crates"'),
        WHOLE.replace('"format_version": 1', '"format_version": true'),
    ],
    ids=lambda text: text[:12],
)
def test_damage_is_named(text: str) -> None:
    """A damaged file is a fault in words with the file's name, never a traceback."""
    with pytest.raises(BadUsage, match=r"some/run\.json is damaged"):
        store.from_json(text, name="some/run.json")


def test_damaged_bytes_are_named(tmp_path: Path) -> None:
    """Not even text."""
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadUsage, match="damaged"):
        store.read(tmp_path)


def test_runs_in_finds_one_or_all(tmp_path: Path) -> None:
    """A results directory is itself; one above holds its scenarios, by name; others hold none."""
    record = hand_over(BackendKind.MODEL)
    for name in ("b", "a"):
        store.create(tmp_path / "run" / name, scenario_of())
        store.write_record(tmp_path / "run" / name, record)
    assert store.runs_in(tmp_path / "run" / "a") == (tmp_path / "run" / "a",)
    assert store.runs_in(tmp_path) == (tmp_path / "run" / "a", tmp_path / "run" / "b")
    (tmp_path / "empty").mkdir()
    for missing in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(BadUsage):
            store.runs_in(missing)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """run.json is the old one or the new one; nothing else stays behind."""
    record = hand_over(BackendKind.MODEL)
    store.write_record(tmp_path, record)

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(BadUsage, match="No space"):
        store.write_record(tmp_path, replace(record, seed=2))
    assert store.read(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
