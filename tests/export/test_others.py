"""What other people's comparison tools read: checked with NVIDIA's own, and against Go's format."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from poolbench.domain import BackendKind, Status
from poolbench.export.gobench import to_gobench
from poolbench.export.nvbench import document, sample_file
from poolbench.export.write import export
from poolbench.results.kept import Kept
from poolbench.results.record import RunRecord
from tests.analysis.records import record_of, result_of, wait_of

AXES = (("pool.max_size", "64MiB"),)
SAMPLES = tuple(1000.0 + 3 * (k * 7 % 20) for k in range(20))


def record(scale: float = 1.0, backend: BackendKind = BackendKind.CUDA) -> RunRecord:
    fine = result_of("111", 1000.0 * scale, axes=AXES, waits=(wait_of(),))
    fine = replace(fine, samples_us=tuple(scale * value for value in SAMPLES))
    failed = result_of("000", None, axes=AXES, status=Status.OUT_OF_MEMORY, reason="y: asked")
    axes = (("pool.max_size", ("64MiB",)),)
    return record_of([fine, failed], backend=backend, axes=axes, sm_mhz=(1980,) * 20)


def test_nvbench_document(tmp_path: Path) -> None:
    """Benchmarks, axes, states; times in seconds as texts; samples in files beside it."""
    path = tmp_path / "run.nvbench.json"
    export([Kept(record=record())], path)
    root = json.loads(path.read_text())
    (benchmark,) = root["benchmarks"]
    assert [axis["name"] for axis in benchmark["axes"]] == ["pool.max_size", "row"]
    fine, failed = benchmark["states"]
    assert fine["name"] == "Device=0 pool.max_size=64MiB row=111"
    assert (failed["is_skipped"], failed["skip_reason"]) == (True, "y: asked")
    values = {one["tag"]: one["data"][0]["value"] for one in fine["summaries"]}
    assert float(values["nv/cold/time/gpu/min"]) == pytest.approx(1000e-6)
    assert values["nv/cold/sample_size"] == "20"
    data = sample_file(path, 0).read_bytes()
    assert struct.unpack("<20f", data) == pytest.approx([value / 1e6 for value in SAMPLES])
    assert root["devices"][0]["sm_version"] == 900


def _compare(folder: Path) -> str:
    tool = Path(sys.executable).with_name("nvbench-compare-robust")
    found = str(tool) if tool.exists() else shutil.which("nvbench-compare-robust")
    if found is None:
        pytest.skip("nvbench-compare-robust is not installed (cuda-bench[compare])")
    command = [found, "--no-color", str(folder / "a.nvbench.json"), str(folder / "b.nvbench.json")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_nvidias_own_tool_reads_it(tmp_path: Path) -> None:
    """It finds the 20 % between two exports, and nothing between an export and itself."""
    export([Kept(record=record())], tmp_path / "a.nvbench.json")
    export([Kept(record=record(1.2))], tmp_path / "b.nvbench.json")
    slower = _compare(tmp_path)
    assert "64MiB" in slower
    assert "111" in slower
    assert "SLOW" in slower
    export([Kept(record=record())], tmp_path / "b.nvbench.json")
    assert "SAME" in _compare(tmp_path)


def test_predictions_say_so_there_too() -> None:
    predicted = record(backend=BackendKind.MODEL)
    root = json.loads(document([predicted], Path("x.nvbench.json")).text)
    assert root["benchmarks"][0]["name"] == "hand-made (predicted)"
    assert all("/predicted/" in line for line in _results(to_gobench([predicted])))


def _results(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("Benchmark")]


def test_go_benchmark_text() -> None:
    """A line a block: name with its parts, iterations, value and unit in pairs; the failed row has
    none; keys before them."""
    text = to_gobench([record()])
    lines = _results(text)
    assert len(lines) == 20
    pattern = (
        r"BenchmarkHandMade/pool\.max_size=64MiB/row=111\t1\t\d+ ns/op"
        r"\t1 waits/op\t0 oom/op\t67108864 reserved-B"
    )
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert lines[0].split("\t")[2] == "1000000 ns/op"
    assert re.search(r"^gpu: NVIDIA H200, driver 580", text, re.MULTILINE)


def test_names_have_no_spaces_and_no_other_parts() -> None:
    """Whatever an axis value holds."""
    axes = (("a b", "x/y z"),)
    one = replace(result_of("111", axes=axes), samples_us=(1.0,))
    (line,) = _results(to_gobench([record_of([one])]))
    assert line.startswith("BenchmarkHandMade/a_b=x_y_z/row=111\t1\t1000 ns/op")
