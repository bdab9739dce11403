"""PyTorch's profiler traces."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from poolbench.imports import kineto
from poolbench.imports.builder import Assumed
from poolbench.imports.damage import Damaged
from tests.imports.reading import REAL, column, counts, ops, read, text_file


def call(name: str, ts: float, correlation: int, tid: int = 1, dur: float = 2.0) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": name,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"correlation": correlation},
    }


def kernel(ts: float, correlation: int, stream: int, dur: float = 30.0) -> dict[str, Any]:
    args = {"correlation": correlation, "stream": stream, "grid": [4, 2, 1], "block": [128, 1, 1]}
    return {"ph": "X", "cat": "kernel", "name": "gemm", "ts": ts, "dur": dur, "args": args}


def memory(ts: float, address: int, size: int, tid: int = 1, device: int = 1) -> dict[str, Any]:
    args = {"Addr": address, "Bytes": size, "Device Type": device, "Device Id": 0}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "tid": tid,
        "ts": ts,
        "args": args,
    }


def trace(folder: Path, *events: dict[str, Any]) -> Path:
    return text_file(folder, json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))


def test_kernels_stand_where_they_were_issued(tmp_path: Path) -> None:
    """In the order of calls, whatever the order on the device or in the file."""
    path = trace(
        tmp_path,
        kernel(90.0, 2, 20),
        call("cudaLaunchKernel", 10.0, 1),
        kernel(200.0, 1, 7, dur=45.5),
        call("cudaLaunchKernel", 20.0, 2),
    )
    builder, built = read(path)
    assert ops(built) == ["kernel", "kernel"]
    assert column(built, "duration_ns") == [45_500, 30_000]
    assert column(built, "blocks") == [8, 8]
    assert column(built, "threads") == [128, 128]
    assert built.workload.names == ("gemm",)
    assert built.workload.recorded == {"makespan_ns": 235_500}
    assert builder.fidelity.kept == {"kernels, as long as they were": 2}


def test_an_allocation_goes_to_the_stream_of_its_threads_next_work(tmp_path: Path) -> None:
    """A guess, and said to be one; the free goes where the allocation was.  Memory of the host is
    no allocation."""
    path = trace(
        tmp_path,
        memory(1.0, 0x100, 512, tid=1),
        memory(2.0, 0x200, 1024, tid=2),
        memory(2.5, 0x300, 64, tid=2, device=0),
        call("cudaLaunchKernel", 10.0, 1, tid=2),
        call("cudaLaunchKernel", 11.0, 2, tid=1),
        kernel(50.0, 1, 20),
        kernel(60.0, 2, 7),
        memory(30.0, 0x200, -1024, tid=1),
        memory(31.0, 0x100, -512, tid=2),
    )
    builder, built = read(path)
    assert ops(built) == ["alloc", "alloc", "kernel", "kernel", "free", "free"]
    assert column(built, "stream") == [0, 1, 1, 0, 1, 0]
    assert sum(builder.fidelity.guessed.values()) == 2


def test_waits_are_kept_where_the_trace_knows_them(tmp_path: Path) -> None:
    """With the profiler's synchronisation events; without them they are lost and counted."""
    wait = {
        "ph": "X",
        "cat": "cuda_sync",
        "name": "Stream Wait Event",
        "ts": 21.0,
        "dur": 0.0,
        "args": {
            "correlation": 3,
            "stream": 20,
            "wait_on_stream": 7,
            "wait_on_cuda_event_record_corr_id": 2,
        },
    }
    path = trace(
        tmp_path,
        call("cudaLaunchKernel", 10.0, 1),
        kernel(50.0, 1, 7),
        call("cudaEventRecord", 15.0, 2),
        call("cudaStreamWaitEvent", 20.0, 3),
        wait,
        call("cudaEventRecord", 30.0, 4),
        call("cudaStreamWaitEvent", 31.0, 5),
        call("cudaStreamSynchronize", 40.0, 6),
        call("cudaDeviceSynchronize", 50.0, 7),
    )
    builder, built = read(path)
    assert ops(built) == ["kernel", "record", "wait", "sync_stream", "sync_device"]
    assert column(built, "stream") == [0, 0, 1, 0, -1]
    assert sorted(builder.fidelity.lost.values()) == [1, 1]


def test_copies_have_their_kinds(tmp_path: Path) -> None:
    """Direction and pinning, from the name."""
    names = (
        "Memcpy HtoD (Pinned -> Device)",
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy DtoH (Device -> Pageable)",
        "Memcpy DtoD (Device -> Device)",
    )
    events = []
    for k, name in enumerate(names):
        args = {"correlation": k, "stream": 7, "bytes": 4096 * (k + 1)}
        events.append(call("cudaMemcpyAsync", 10.0 * k, k))
        events.append(
            {"ph": "X", "cat": "gpu_memcpy", "name": name, "ts": 100.0, "dur": 1, "args": args}
        )
    _, built = read(trace(tmp_path, *events))
    assert counts(built) == {"memcpy": 4}
    assert [name for name, _, _ in built.buffers] == [
        "device_to",
        "device_from",
        "pinned_from",
        "pageable_to",
        "pageable_from",
    ]
    assert {name: size for name, size, _ in built.buffers}["device_to"] == 16384


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_it_does_not_matter_where_chunks_end(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers, texts and brackets may be cut anywhere."""
    text = json.dumps(
        {"a": {"traceEvents": 1}, "traceEvents": [kernel(1.5, k, 7) for k in range(9)]}
    )
    text = text.replace('"a": {"traceEvents": 1}', '"a": {"b": 1}')
    monkeypatch.setattr(kineto, "_CHUNK", size)
    found = [event["args"]["correlation"] for _, event in kineto.events(io.StringIO(text))]
    assert found == list(range(9))


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.999])
def test_a_trace_cut_short_says_where_and_keeps_what_it_has(tmp_path: Path, keep: float) -> None:
    """Plain and gzipped."""
    whole = gzip.decompress((REAL / "torch_caching.trace.json.gz").read_bytes())
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(Damaged, match="cut short"):
        read(path)
    packed = (REAL / "torch_caching.trace.json.gz").read_bytes()
    path.write_bytes(packed[: int(len(packed) * keep)])
    with pytest.raises(Damaged):
        read(path)


def test_traces_that_pytorch_wrote() -> None:
    """The caching allocator's memory events have addresses; `cudaMallocAsync` has none, which is
    said."""
    builder, built = read(REAL / "torch_caching.trace.json.gz")
    found = counts(built)
    assert (found["alloc"], found["free"], found["kernel"], found["memcpy"]) == (358, 358, 278, 16)
    assert len(built.kinds) == 2
    builder, built = read(REAL / "torch_async.trace.json.gz", Assumed())
    assert "alloc" not in counts(built)
    lost = builder.fidelity.lost
    assert lost["stream-ordered allocations and frees without address and size"] == 716
