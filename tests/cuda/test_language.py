"""The whole language on a real device: what every step kind does, and that the model agrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from poolbench.backends.cuda.backend import CudaBackend
from poolbench.backends.model.backend import ModelBackend
from poolbench.domain import COMBINATIONS, OUTCOMES, Baseline, Case, Outcome, Pass, Row, Status
from poolbench.plan.build import build_plan
from poolbench.plan.check import check
from poolbench.plan.plan import Plan
from poolbench.scenario.load import load_text
from poolbench.trace import Trace
from tests.model.everything import plan_with_everything

pytestmark = pytest.mark.gpu

EVERYTHING = """
seed: 7
pace: 2us
iterations: 2
pool: {max_size: 256MiB, release_threshold: 64MiB, prime: 32MiB}
parameters: {block: 16MiB}
streams:
  a: {priority: high}
  b: {priority: low}
  blocking: {kind: blocking}
  legacy: {kind: legacy_default}
  mine: {kind: per_thread_default}
  late:
buffers:
  pinned: {size: 16MiB, memory: pinned}
  pageable: {size: 1MiB, memory: pageable}
  lasting: {size: 16MiB}
kernels:
  scale:
    source: |
      extern "C" __global__ void scale(float *x, unsigned long long n, float by) {
        for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) x[i] *= by;
      }
    predicted: 20us
steps:
  - {create: late}
  - {alloc: x, size: $block, stream: a}
  - {memcpy: h2d, dst: x, src: pinned, stream: a}
  - {kernel: scale, arguments: [x, {u64: 1024}, {f32: 2.0}], blocks: 4, stream: a}
  - {record: copied, stream: a}
  - {wait: copied, stream: b}
  - {kernel: stream, reads: [x], stream: b, share: 25%}
  - {kernel: compute, flops: 1e9, stream: b, blocks: 264, threads: 128}
  - {memcpy: d2d, dst: lasting, src: x, stream: b}
  - {memcpy: d2h, dst: pinned, src: lasting, stream: b}
  - {record: used, stream: b}
  - {query: event, event: used}
  - {wait: used, stream: a}
  - {free: x, stream: a}
  - {sync: event, event: used}
  - {callback: 20us, stream: b}
  - repeat: 3
    index: i
    steps:
      - {alloc: y$i, size: {uniform: [1MiB, 8MiB]}, stream: late}
      - {memset: y$i, value: 7, stream: late}
      - {fill: y$i, stream: late}
      - {check: y$i, stream: late}
      - {free: y$i, stream: late}
  - {query: stream, stream: late}
  - {sync: stream, stream: late}
  - {memcpy: h2d, dst: lasting, src: pageable, stream: a}
  - {hold: a}
  - {kernel: spin, duration: 5us, stream: a}
  - {host: 20us}
  - {release: a}
  - {call: pool_create}
  - {call: pool_destroy}
  - {call: host_alloc}
  - {call: host_free}
  - {call: module_load}
  - {sync: device}
  - {trim: 0}
  - {sample: trimmed}
  - {alloc: z, size: $block, stream: blocking}
  - {kernel: spin, duration: 300us, writes: [z], stream: blocking}
  - {free: z, stream: blocking}
  - {alloc: w, size: $block, stream: legacy, label: after_blocking}
  - {free: w, stream: legacy}
  - {kernel: spin, duration: 5us, stream: mine}
  - {destroy: late}
"""

RETRY = """
on_oom: trim_retry
pool: {max_size: 64MiB, release_threshold: max}
streams: {a: , b: }
steps:
  - {alloc: x, size: 64MiB, stream: a}
  - {kernel: spin, duration: 300us, writes: [x], stream: a}
  - {free: x, stream: a}
  - {alloc: y, size: 64MiB, stream: b}
  - {free: y, stream: b}
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[CudaBackend]:
    backend = CudaBackend(time_limit_s=20)
    yield backend
    backend.close()


def planned(text: str, row: Row) -> Plan:
    scenario = load_text(text, file="test.yaml", folder=None)
    assert not [problem for problem in check(scenario) if not problem.is_warning]
    return build_plan(scenario, Case(scenario=scenario.name, row=row))


def outcomes(trace: Trace) -> list[Outcome | None]:
    assert trace.steps is not None
    return [OUTCOMES[code] if code >= 0 else None for code in trace.steps.outcome.tolist()]


@pytest.mark.parametrize("row", [*COMBINATIONS, *Baseline], ids=lambda row: str(row)[:40])
def test_every_step_kind_runs_and_the_model_agrees(backend: CudaBackend, row: Row) -> None:
    """All step kinds and stream kinds in one scenario: no fault, no corruption, the same outcomes
    as predicted, timed and traced."""
    plan = planned(EVERYTHING, row)
    timed = backend.run(plan, measured=Pass.TIMED, repetition=1)
    traced = backend.run(plan, measured=Pass.TRACED, repetition=1)
    predicted = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
    assert timed.status is Status.OK, timed.reason
    assert traced.status is Status.OK, traced.reason
    assert not any(traced.n_corrupt.values())
    assert len(traced.n_corrupt) == 6
    assert (timed.makespan_ns > 0).all()
    if not isinstance(row, Baseline):
        assert outcomes(traced) == outcomes(predicted)


def test_legacy_stream_follows_a_blocking_one(backend: CudaBackend) -> None:
    """The implicit order of the default stream counts as an event, if follow is on."""
    found = {}
    for bits in ("000", "100"):
        plan = planned(EVERYTHING, COMBINATIONS[int(bits, 2)])
        trace = backend.run(plan, measured=Pass.TRACED, repetition=1)
        step = plan.names.index("after_blocking")
        found[bits] = outcomes(trace)[step]
    assert found["100"] is Outcome.EVENT_ORDERED
    assert found["000"] is not Outcome.EVENT_ORDERED


def test_trim_retry_gets_through(backend: CudaBackend) -> None:
    """Synchronise, trim, ask again: the pool has given the memory back and grows anew."""
    trace = backend.run(planned(RETRY, COMBINATIONS[0]), measured=Pass.TRACED, repetition=1)
    assert trace.status is Status.OK, trace.reason
    assert trace.n_out_of_memory == 1
    assert outcomes(trace)[3] is Outcome.GROWN


def test_random_plans_end_well(backend: CudaBackend) -> None:
    """Plans that make no sense, with latches, copies, limits and ballast: each with a
    status that says what happened, and leaves a worker that goes on."""
    n_allocs = n_same = 0
    for seed in range(40):
        plan = plan_with_everything(seed, n_kinds=20)
        trace = backend.run(plan, measured=Pass.TRACED, repetition=1)
        assert trace.status in (Status.OK, Status.OUT_OF_MEMORY), (seed, trace.reason)
        if trace.status is not Status.OK or isinstance(plan.case.row, Baseline):
            continue
        predicted = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
        if predicted.steps is None or trace.steps is None:
            continue
        seen = trace.steps.outcome >= 0
        n_allocs += int(seen.sum())
        n_same += int(np.sum(seen & (trace.steps.outcome == predicted.steps.outcome)))
    print(f"{n_same} of {n_allocs} outcomes as predicted")
    assert n_allocs > 100
    assert n_same > 0.7 * n_allocs


HOST_FUNCTIONS = """
pool: {max_size: 64MiB, release_threshold: max}
streams: {a: , b: }
steps:
  - {callback: 0us, stream: a, label: first}
  - {callback: 0us, stream: b}
  - {sync: device}
  - {alloc: x, size: 64MiB, stream: a}
  - {callback: 400us, stream: a, label: function}
  - {free: x, stream: a}
  - {alloc: y, size: 64MiB, stream: b}
  - {free: y, stream: b}
  - {sync: device}
  - {callback: 200us, stream: a, label: one}
  - {callback: 200us, stream: b, label: two}
"""


def test_host_functions_take_their_time_and_keep_the_pool_waiting(backend: CudaBackend) -> None:
    """A function that sleeps for 400 us is over in less than 500; a free behind it is pending, so
    that the other stream is made to wait; those of two streams take turns, as predicted."""
    plan = planned(HOST_FUNCTIONS, COMBINATIONS[7])
    trace = backend.run(plan, measured=Pass.TRACED, repetition=1)
    predicted = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
    assert trace.status is Status.OK, trace.reason
    steps = trace.steps
    assert steps is not None
    span = {
        name: (int(steps.device_begin_ns[k]), int(steps.device_end_ns[k]))
        for k, name in enumerate(plan.names)
        if name in ("first", "function", "one", "two")
    }
    lengths = {name: (end - begin) / 1000 for name, (begin, end) in span.items()}
    print(f"host functions, us: {lengths}")
    assert 400 <= lengths["function"] <= 500
    assert outcomes(trace) == outcomes(predicted)
    both = max(span["one"][1], span["two"][1]) - min(span["one"][0], span["two"][0])
    print(f"two of 200 us on two streams: {both / 1000} us")
    assert both >= 400_000


GRAPHS = """
iterations: 2
pool: {max_size: 256MiB, release_threshold: max}
streams: {a: {priority: high}, b: , c: }
buffers: {w: {size: 16MiB}, v: {size: 16MiB}, pinned: {size: 1MiB, memory: pinned}}
kernels:
  scale:
    source: |
      extern "C" __global__ void scale(float *x, unsigned long long n, float by) {
        for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) x[i] *= by;
      }
    predicted: 20us
steps:
  - {fill: w, stream: a}
  - {fill: v, stream: a}
  - repeat: 3
    steps:
      - graph: layer
        stream: a
        label: layer
        steps:
          - {alloc: x, size: 64MiB, stream: a}
          - {kernel: spin, duration: 200us, writes: [x], stream: a}
          - {memcpy: d2d, dst: v, src: w, stream: a}
          - {record: e, stream: a}
          - {wait: e, stream: b}
          - {alloc: z, size: 32MiB, stream: b}
          - {kernel: scale, arguments: [z, {u64: 1024}, {f32: 2.0}], blocks: 4, stream: b}
          - {kernel: spin, duration: 300us, reads: [x], writes: [z], stream: b}
          - {free: z, stream: b}
          - {record: f, stream: b}
          - {memset: v, value: 3, stream: a}
          - {callback: 20us, stream: a}
          - {kernel: spin, duration: 300us, reads: [x], stream: a}
          - {wait: f, stream: a}
          - {free: x, stream: a}
      - {alloc: y, size: 32MiB, stream: c, label: y}
      - {kernel: spin, duration: 20us, writes: [y], stream: c}
      - {free: y, stream: c}
  - {kernel: spin, duration: 20us, stream: a, label: behind}
"""


@pytest.mark.parametrize("row", [*COMBINATIONS, *Baseline], ids=lambda row: str(row)[:40])
def test_graphs_run_as_captured(backend: CudaBackend, row: Row) -> None:
    """Allocations, branches, copies and a host function in a graph, launched three times in each of
    two iterations: it takes as long as its longest path, what is behind it comes after it, the pool
    does not hear of its memory, and the model agrees about the pool."""
    plan = planned(GRAPHS, row)
    assert len(plan.graphs) == 1
    timed = backend.run(plan, measured=Pass.TIMED, repetition=1)
    traced = backend.run(plan, measured=Pass.TRACED, repetition=1)
    predicted = ModelBackend().run(plan, measured=Pass.TRACED, repetition=1)
    assert timed.status is Status.OK, timed.reason
    assert traced.status is Status.OK, traced.reason
    steps = traced.steps
    assert steps is not None
    rows = [
        i * plan.n_steps + k
        for i in range(2)
        for k, name in enumerate(plan.names)
        if name == "layer"
    ]
    spans = [(steps.device_end_ns[r] - steps.device_begin_ns[r]) / 1000 for r in rows]
    print(f"graph spans, us: {[round(float(span), 1) for span in spans]}")
    assert all(500 <= span <= 800 for span in spans[1:])
    behind = plan.names.index("behind")
    assert steps.device_begin_ns[behind] >= steps.device_end_ns[rows[2]] - 5000
    print(
        f"graph memory: reserved {traced.graph_reserved_high}, used {traced.graph_used_high}; "
        f"predicted {predicted.graph_reserved_high}, {predicted.graph_used_high}"
    )
    if isinstance(row, Baseline):
        assert traced.graph_reserved_high == 0
        return
    assert traced.graph_reserved_high >= 96 * 2**20
    assert (traced.reserved_high, traced.used_high) == (
        predicted.reserved_high,
        predicted.used_high,
    )
    assert outcomes(traced) == outcomes(predicted)


def test_a_graph_leaves_nothing_behind(backend: CudaBackend) -> None:
    """Runs of graphs one after the other do not add up."""
    plan = planned(GRAPHS, COMBINATIONS[7])
    found = [
        backend.run(plan, measured=Pass.TIMED, repetition=n).graph_reserved_high for n in range(6)
    ]
    assert len(set(found)) == 1, found
