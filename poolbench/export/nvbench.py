"""NVBench's JSON, version 1.0.0, with its files of samples: what `nvbench-compare-robust` reads.

A benchmark is a scenario, its axes are the scenario's and the row, a sample is the makespan of one
timed block in seconds.  Numbers are texts, as in NVBench.  The format has no place for "predicted":
a simulation says it in the benchmark's name and as the device.
"""

from __future__ import annotations

import json
import math
import statistics
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poolbench import __version__
from poolbench.domain import Case, Status, row_name
from poolbench.findings import CaseResult
from poolbench.results.record import RunRecord

_VERSION = (1, 0, 0)
_ROW = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`samples`: number of a file -> seconds."""

    text: str
    samples: tuple[tuple[float, ...], ...]


def sample_file(path: Path, number: int) -> Path:
    """Beside the document: `x.nvbench.json-bin/3.bin`, little-endian float32."""
    return path.with_name(f"{path.name}-bin") / f"{number}.bin"


def pack(samples: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(samples)}f", *samples)


def document(records: Sequence[RunRecord], path: Path) -> Document:
    devices = list(dict.fromkeys(record.before.device for record in records))
    files: list[tuple[float, ...]] = []
    benchmarks = [
        _benchmark(record, index, devices.index(record.before.device), path, files)
        for index, record in enumerate(records)
    ]
    plain = {
        "meta": {
            "argv": ["poolbench", "export", path.name],
            "version": {
                "json": {
                    "major": _VERSION[0],
                    "minor": _VERSION[1],
                    "patch": _VERSION[2],
                    "string": ".".join(map(str, _VERSION)),
                },
                "poolbench": {"string": __version__},
            },
        },
        "devices": [_device(records, name, number) for number, name in enumerate(devices)],
        "benchmarks": benchmarks,
    }
    return Document(
        text=json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        samples=tuple(files),
    )


def _device(records: Sequence[RunRecord], name: str, number: int) -> dict[str, Any]:
    before = next(record.before for record in records if record.before.device == name)
    major, _, minor = before.compute_capability.partition(".")
    clock = before.clocks.sm_mhz or 0
    return {
        "id": number,
        "name": name,
        "sm_version": int(major or 0) * 100 + int(minor or 0) * 10,
        "sm_default_clock_rate": clock * 1_000_000,
        "number_of_sms": before.n_multiprocessors,
        "global_memory_size": before.memory_total,
    }


def _benchmark(
    record: RunRecord,
    index: int,
    device: int,
    path: Path,
    files: list[tuple[float, ...]],
) -> dict[str, Any]:
    names = [*(name for name, _ in record.axes), _ROW]
    values = {name: dict.fromkeys(_axes(one.case)[name] for one in record.cases) for name in names}
    return {
        "name": f"{record.scenario} (predicted)" if record.is_predicted else record.scenario,
        "index": index,
        "min_samples": record.repeats,
        "devices": [device],
        "axes": [
            {
                "name": name,
                "type": "string",
                "flags": "",
                "values": [
                    {"input_string": text, "description": "", "value": text} for text in found
                ],
            }
            for name, found in values.items()
        ],
        "states": [_state(record, result, device, path, files) for result in record.cases],
    }


def _axes(case: Case) -> dict[str, str]:
    return {**dict(case.axes), _ROW: row_name(case.row)}


def _state(
    record: RunRecord,
    result: CaseResult,
    device: int,
    path: Path,
    files: list[tuple[float, ...]],
) -> dict[str, Any]:
    axes = _axes(result.case)
    samples = tuple(value / 1e6 for value in result.samples_us if value is not None)
    is_skipped = result.status is not Status.OK or not samples
    summaries: list[dict[str, Any]] = []
    if not is_skipped:
        file = sample_file(path, len(files))
        files.append(samples)
        summaries = [*_summaries(samples), _binary(f"{file.parent.name}/{file.name}", len(samples))]
        clocks = [mhz for mhz in record.sm_mhz if mhz is not None]
        if clocks:
            tag = "nv/cold/sm_clock_rate/mean"
            summaries.append(_summary(tag, "Clock Rate", "", statistics.fmean(clocks) * 1e6))
    state = {
        "name": " ".join([f"Device={device}", *(f"{key}={text}" for key, text in axes.items())]),
        "device": device,
        "type_config_index": 0,
        "axis_values": [
            {"name": name, "type": "string", "value": text} for name, text in axes.items()
        ],
        "summaries": summaries,
        "is_skipped": is_skipped,
    }
    if is_skipped:
        state["skip_reason"] = result.reason or result.status.value
    return state


def _summaries(samples: Sequence[float]) -> Iterator[dict[str, Any]]:
    mean, median = statistics.fmean(samples), statistics.median(samples)
    deviation = statistics.stdev(samples) if len(samples) > 1 else math.nan
    low, high = (samples[0], samples[0])
    if len(samples) > 1:
        low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    gpu = "nv/cold/time/gpu"
    yield _summary("nv/cold/sample_size", "Samples", "sample_size", len(samples))
    yield _summary(f"{gpu}/min", "Min", "duration", min(samples))
    yield _summary(f"{gpu}/max", "Max", "duration", max(samples))
    yield _summary(f"{gpu}/mean", "GPU Time", "duration", mean)
    if not math.isnan(deviation):
        yield _summary(f"{gpu}/stdev/absolute", "Noise", "duration", deviation)
        yield _summary(f"{gpu}/stdev/relative", "Noise", "percentage", deviation / mean)
    yield _summary(f"{gpu}/q1", "Q1", "duration", low)
    yield _summary(f"{gpu}/median", "Median", "duration", median)
    yield _summary(f"{gpu}/q3", "Q3", "duration", high)
    yield _summary(f"{gpu}/iqr/absolute", "IQR", "duration", high - low)
    yield _summary(f"{gpu}/iqr/relative", "IQR", "percentage", (high - low) / median)


def _summary(tag: str, name: str, hint: str, value: float) -> dict[str, Any]:
    kind = "int64" if isinstance(value, int) else "float64"
    return {
        "tag": tag,
        "name": name,
        "description": "Makespan of one timed block of poolbench",
        "hint": hint,
        "data": [{"name": "value", "type": kind, "value": repr(value)}],
    }


def _binary(filename: str, size: int) -> dict[str, Any]:
    return {
        "tag": "nv/json/bin:nv/cold/sample_times",
        "name": "Samples Times File",
        "description": "Binary file with the sample times: little-endian float32, seconds",
        "hint": "file/sample_times",
        "hide": "Not needed in table.",
        "data": [
            {"name": "filename", "type": "string", "value": filename},
            {"name": "size", "type": "int64", "value": str(size)},
        ],
    }
