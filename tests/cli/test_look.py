"""`show`, `export`, `compare`: results that are there already."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from poolbench.domain import BackendKind
from poolbench.results import store
from poolbench.results.record import RunRecord
from tests.cli.conftest import Cli
from tests.cli.fakes import FakeBackend, write_scenario
from tests.render.records import hand_over, with_axes


def put(where: Path, record: RunRecord) -> str:
    where.mkdir(parents=True)
    store.write_record(where, record)
    return str(where)


def test_show_is_the_page_of_the_run(cli: Cli, backend: FakeBackend, tmp_path: Path) -> None:
    """What `run` printed, `show` prints again from the files alone."""
    ran = cli("run", write_scenario(tmp_path), "--output", "out")
    shown = cli("show", "out/tiny")
    assert shown.code == 0
    assert shown.out == ran.out
    assert shown.err == ""


def test_show_all_below(cli: Cli, tmp_path: Path) -> None:
    """A directory of several runs shows all of them, and the legend once."""
    put(tmp_path / "out" / "a", hand_over(BackendKind.CUDA))
    put(tmp_path / "out" / "b", hand_over(BackendKind.MODEL))
    ended = cli("show", "out")
    assert "hand-over: measured on" in ended.out
    assert "hand-over: PREDICTED by the model" in ended.out
    assert ended.out.count("cuMemAlloc and cuMemFree instead of a pool") == 1


@pytest.mark.parametrize("name", ["nowhere", "empty", "damaged"])
def test_show_nothing(cli: Cli, tmp_path: Path, name: str) -> None:
    """Nothing to show, or nothing readable: exit code 2 and the directory's name."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    ended = cli("show", name)
    assert ended.code == 2
    assert name in ended.err


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.md", "OUT.CSV"])
def test_export_by_ending(cli: Cli, tmp_path: Path, name: str) -> None:
    """The ending decides; the file is written, stdout stays free."""
    put(tmp_path / "run", with_axes())
    ended = cli("export", "run", name)
    assert (ended.code, ended.out) == (0, "")
    assert "20 cases" in ended.err
    text = (tmp_path / name).read_text()
    if name.endswith("json"):
        assert len(json.loads(text)["runs"][0]["rows"]) == 20
    else:
        assert text.count("cudamalloc") >= 2


def test_export_replaces(cli: Cli, tmp_path: Path) -> None:
    """A file that is there is replaced as a whole."""
    put(tmp_path / "run", with_axes())
    (tmp_path / "old.csv").write_text("stale\n" * 1000)
    cli("export", "run", "old.csv")
    text = (tmp_path / "old.csv").read_text()
    assert "stale" not in text
    assert len(text.splitlines()) == 21


@pytest.mark.parametrize("name", ["out.xlsx", "out", "missing/out.csv"])
def test_export_nowhere(cli: Cli, tmp_path: Path, name: str) -> None:
    """An unknown ending, or a directory that is not there: exit code 2, nothing written."""
    put(tmp_path / "run", with_axes())
    ended = cli("export", "run", name)
    assert ended.code == 2
    assert name in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_compare_within_a_run(cli: Cli, tmp_path: Path) -> None:
    """Each row against the ideal and against 111, block by block."""
    put(tmp_path / "run", with_axes())
    ended = cli("compare", "run")
    assert ended.code == 0
    assert "preallocated" in ended.out
    assert "slower" in ended.out
    assert ended.out.count("pool.max_size = none") >= 1


def test_compare_two_runs(cli: Cli, tmp_path: Path) -> None:
    """Joined case by case, with both makespans and a verdict."""
    record = hand_over(BackendKind.CUDA)
    slow = tuple(
        replace(one, findings=replace(one.findings, makespan_us_median=2000.0))
        if one.findings and one.findings.makespan_us_median
        else one
        for one in record.cases
    )
    put(tmp_path / "a", record)
    put(tmp_path / "b", replace(record, cases=slow))
    ended = cli("compare", "a", "b")
    assert ended.code == 0
    assert ended.out.count("slower") >= 6
    assert "1045" in ended.out
    assert "2000" in ended.out
    assert cli("compare", "a", "a").out.count("same") >= 6


def test_compare_refuses_other_devices(cli: Cli, tmp_path: Path) -> None:
    """Different backends do not compare, unless told; then the difference is named on the page."""
    put(tmp_path / "a", hand_over(BackendKind.CUDA))
    put(tmp_path / "b", hand_over(BackendKind.MODEL))
    refused = cli("compare", "a", "b")
    assert refused.code == 2
    assert "cuda" in refused.err
    assert "--allow-mismatch" in refused.err
    assert refused.out == ""
    allowed = cli("compare", "a", "b", "--allow-mismatch")
    assert allowed.code == 0
    assert "PREDICTED" in allowed.out
    assert "Not the same backend: A cuda, B model" in allowed.out


def test_compare_joins_scenarios_by_name(cli: Cli, tmp_path: Path) -> None:
    """Directories of several scenarios: those in both are compared, the others are named."""
    record = hand_over(BackendKind.CUDA)
    for side, names in (("a", ("one", "two")), ("b", ("two", "three"))):
        for name in names:
            put(tmp_path / side / name, replace(record, scenario=name))
    ended = cli("compare", "a", "b")
    assert ended.code == 0
    assert ended.out.startswith("two\n")
    assert "one is in one of the runs only" in ended.err
    assert "three is in one of the runs only" in ended.err


def test_compare_nothing_in_common(cli: Cli, tmp_path: Path) -> None:
    """No pair at all is a wrong argument."""
    record = hand_over(BackendKind.CUDA)
    for side, names in (("a", ("one", "two")), ("b", ("three", "four"))):
        for name in names:
            put(tmp_path / side / name, replace(record, scenario=name))
    assert cli("compare", "a", "b").code == 2


def test_compare_two_runs_of_one_scenario_is_ambiguous(cli: Cli, tmp_path: Path) -> None:
    """A directory with the same scenario twice does not say which one is meant."""
    record = hand_over(BackendKind.CUDA)
    for name in ("first", "second"):
        put(tmp_path / "a" / name, record)
        put(tmp_path / "b" / name, record)
    ended = cli("compare", "a", "b")
    assert ended.code == 2
    assert "hand-over" in ended.err


def test_compare_fails_on_what_it_is_told_to(cli: Cli, tmp_path: Path) -> None:
    """Exit code 1 and the reasons on stderr; without a ground it only shows."""
    put(tmp_path / "run", hand_over(BackendKind.CUDA))
    ended = cli("compare", "run", "--baseline", "preallocated", "--fail-on", "wait")
    assert ended.code == 1
    assert ended.err.count("inserted waits against 0") == 4
    assert cli("compare", "run", "--baseline", "preallocated").code == 0
    assert cli("compare", "run", "--fail-on", "wait", "--filter", "row=110,101").code == 0
    for wrong in (["--fail-on", "later"], ["--threshold", "5"], ["--filter", "row"]):
        assert cli("compare", "run", *wrong).code == 2
    assert cli("compare", "run", "run", "--baseline", "111").code == 2


def test_compare_lays_out_what_it_is_told_to(cli: Cli, tmp_path: Path) -> None:
    """Axis values down, rows across; an unknown key is refused with those that there are."""
    put(tmp_path / "run", with_axes())
    ended = cli("compare", "run", "--baseline", "111", "--row", "pool.max_size", "--col", "row")
    assert ended.code == 0
    assert "preallocated" in ended.out
    assert "Averaged" not in ended.out
    averaged = cli("compare", "run", "--baseline", "111", "--col", "row")
    assert "Averaged (geometric mean) over: pool.max_size" in averaged.out
    refused = cli("compare", "run", "--row", "size")
    assert refused.code == 2
    assert "pool.max_size" in refused.err


def test_advise_speaks_of_each_run(cli: Cli, tmp_path: Path) -> None:
    """Where its figures come from, then what they advise."""
    put(tmp_path / "out" / "a", hand_over(BackendKind.CUDA))
    put(tmp_path / "out" / "b", hand_over(BackendKind.MODEL))
    ended = cli("advise", "out")
    assert ended.code == 0
    assert ended.out.count("Keep allow_internal_dependencies on") == 2
    assert ended.out.count("Predicted, not measured:") == 1


def test_views_look_at_the_traced_runs(cli: Cli, tmp_path: Path) -> None:
    """Every view of a real directory of the model; by default the row with everything on."""
    assert cli("run", "pressure", "--backend", "model", "--output", "out").code == 0
    ended = cli("show", "out", "--calls", "--streams", "--memory", "--iterations")
    assert ended.code == 0
    assert "alloc, memory mapped" in ended.out
    assert "inserted wait" in ended.out
    assert "every run has one iteration" in ended.out
    assert "\n000 " not in ended.out
    some = cli("show", "out", "--memory", "--attributes", "000", "--filter", "pool.max_size=64MiB")
    assert "Allocations that failed" in some.out
    assert "\n111 " not in some.out


def test_iterations_one_by_one(cli: Cli, tmp_path: Path) -> None:
    """The first one pays for growth."""
    assert cli("run", "release-threshold", "--backend", "model", "--output", "out").code == 0
    ended = cli("show", "out", "--iterations")
    assert re.search(r"\n111 +0 +[0-9.]+", ended.out)
    assert re.search(r"\n111 +1 +[0-9.]+", ended.out)


def test_show_only_some_cases(cli: Cli, tmp_path: Path) -> None:
    """The page, with the rows that were asked for."""
    put(tmp_path / "out" / "a", hand_over(BackendKind.CUDA))
    ended = cli("show", "out", "--attributes", "111")
    assert "\n111 " in ended.out
    assert "\n000 " not in ended.out


def test_timeline_steps_and_allocations(cli: Cli, tmp_path: Path) -> None:
    """On the model: two attribute sets, one above the other; tables with filters."""
    assert cli("run", "hand-over", "--backend", "model", "--output", "out").code == 0
    drawn = cli("show", "out", "--timeline").out
    assert "row 111, ok" in drawn
    assert "row 110, out_of_memory" in drawn
    assert "for x's free (line 31) on a" in drawn
    assert all(len(line) <= 80 for line in drawn.splitlines())
    steps = cli("show", "out", "--steps", "--where", "kind=kernel").out
    assert len(re.findall(r"^111 .* kernel ", steps, flags=re.MULTILINE)) == 2
    allocs = cli("show", "out", "--allocations", "--where", "outcome=internal_dependency").out
    assert re.search(r"^111 y .*x on a \(line 31\)", allocs, flags=re.MULTILINE)
    none = cli("show", "out", "--allocations", "--where", "outcome=slack")
    assert (none.code, "no allocation is like that" in none.out) == (0, True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--steps", "--where", "outcom=x"), "--where outcom: steps have no such column"),
        (("--steps", "--where", "x"), "expected COLUMN=VALUE"),
        (("--timeline", "--from", "soon"), "--from soon"),
        (("--timeline", "--to", "5MiB"), "--to 5MiB"),
        (("--timeline", "--from", "5ms", "--to", "1ms"), "--to 1ms is not after --from 5ms"),
    ],
)
def test_bad_parts_of_a_view(
    cli: Cli, backend: FakeBackend, tmp_path: Path, options: tuple[str, ...], told: str
) -> None:
    """Faults of the command line, with what would be right."""
    assert cli("run", write_scenario(tmp_path), "--output", "out").code == 0
    ended = cli("show", "out", *options)
    assert ended.code == 2
    assert told in ended.err


def test_views_of_a_run_without_its_steps(cli: Cli, tmp_path: Path) -> None:
    """Say so, and go on to the next run."""
    put(tmp_path / "out" / "a", hand_over(BackendKind.CUDA))
    put(tmp_path / "out" / "b", with_axes())
    ended = cli("show", "out", "--timeline", "--steps", "--iterations")
    assert ended.code == 0
    assert ended.out.count("No traced run to show") == 2
