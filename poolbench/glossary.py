"""The words of the tables in plain sentences: attributes, baselines, outcomes, statuses, terms.

Pure.  The legend under a table takes `short`, `poolbench explain` takes both.  What is called
measured was measured on one H200 with driver 580.159.04 (CUDA 13.0); another driver may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from poolbench.domain import Baseline, Outcome, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """`api` is NVIDIA's name for it, driver API / runtime API, where there is one."""

    short: str
    text: str
    api: str = ""


ATTRIBUTES: dict[str, Term] = {
    "follow_event_dependencies": Term(
        short="reuse a block whose free the stream is ordered after by events",
        text="A block that another stream freed may be reused if the allocating stream comes "
        "after that free through a recorded event and a wait; chains over several streams count. "
        "On by default. Measured: with it off such a block is not reused and the pool grows "
        "instead. An event that was recorded before the free orders nothing.",
        api="CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES / "
        "cudaMemPoolReuseFollowEventDependencies",
    ),
    "allow_opportunistic": Term(
        short="reuse a block whose free happens to have completed",
        text="A block that another stream freed may be reused, without any ordering, if the GPU "
        "has passed the free by the time of the host's call. On by default. It depends on timing: "
        "the same program may or may not reuse. Measured: a free that the host has synchronised "
        "with does not need it; one that a query has merely seen completed does.",
        api="CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC / cudaMemPoolReuseAllowOpportunistic",
    ),
    "allow_internal_dependencies": Term(
        short="take a block that is still in use and make the stream wait for its free",
        text="A block whose free on another stream is still pending may be handed out at once; the "
        "driver inserts a wait for that free into the allocating stream. On by default. Measured: "
        "it is the last resort, used only when the pool cannot grow (its maximum is reached or the "
        "device is full); with room to grow it changes nothing. The wait shows in the event time "
        "of the allocation, not in the host's call. With it off the allocation fails at once with "
        "out of memory, even if the pending frees would be enough.",
        api="CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES / "
        "cudaMemPoolReuseAllowInternalDependencies",
    ),
    "release_threshold": Term(
        short="bytes that the pool keeps at a synchronisation",
        text="When the host synchronises with a stream, an event or the context, free memory above "
        "this many bytes goes back to the device; max keeps everything. 0 by default. Measured: "
        "only a synchronisation that has seen the free releases; what was released is mapped again "
        "when it is needed, at 53 us for 2 MiB and 885 us for 1 GiB of host time.",
        api="CU_MEMPOOL_ATTR_RELEASE_THRESHOLD / cudaMemPoolAttrReleaseThreshold",
    ),
}

BASELINES: dict[Baseline, Term] = {
    Baseline.PREALLOCATED: Term(
        short="the ideal: every buffer exists before the clock starts",
        text="The same program without a single allocation in it. Buffers that are alive at the "
        "same time never share memory, so that this row may hold more than the pool was allowed: "
        "under pressure it cannot be reached.",
    ),
    Baseline.CUDAMALLOC: Term(
        short="cuMemAlloc and cuMemFree instead of a pool",
        text="The same program with allocations that are not stream-ordered. Measured: cuMemFree "
        "waits for the work of every stream; cuMemAlloc does not.",
        api="cuMemAlloc, cuMemFree / cudaMalloc, cudaFree",
    ),
}

OUTCOMES: dict[Outcome, Term] = {
    Outcome.SAME_STREAM: Term(
        short="a block that the same stream freed",
        text="Stream order makes this safe: no attribute turns it off, the free may be pending.",
    ),
    Outcome.HOST_ORDERED: Term(
        short="a block whose free the host has synchronised with",
        text="After a synchronisation of a stream, an event or the context that comes after the "
        "free, any stream may have the block, with every attribute off. A query does not count.",
    ),
    Outcome.EVENT_ORDERED: Term(
        short="a block whose free the stream is ordered after by events",
        text="Needs follow_event_dependencies.",
    ),
    Outcome.OPPORTUNISTIC: Term(
        short="a block of another stream whose free had just completed",
        text="Nothing but time ordered the two. Needs allow_opportunistic.",
    ),
    Outcome.SLACK: Term(
        short="memory that the pool had reserved and never used",
        text="The pool reserves 32 MiB at a time, so that smaller allocations find room.",
    ),
    Outcome.REMAPPED: Term(
        short="free pieces mapped together at a new address",
        text="Reserved does not change, the address is new, and the call costs as much as growth "
        "(71 us for 64 MiB, measured).",
    ),
    Outcome.GROWN: Term(
        short="new memory from the device",
        text="The pool mapped more physical memory: about 50 us and 0.85 us for each MiB of host "
        "time, measured. Running work is not waited for.",
    ),
    Outcome.INTERNAL_DEPENDENCY: Term(
        short="a block still in use; the driver made the stream wait",
        text="Counted as an inserted wait. The wait is for the free, not for the other stream as a "
        "whole. Needs allow_internal_dependencies.",
    ),
    Outcome.OUT_OF_MEMORY: Term(
        short="the call failed",
        text="The driver answers at once and does not wait for pending frees. on_oom says what the "
        "program does then.",
    ),
    Outcome.OUTSIDE_POOL: Term(
        short="no allocation from a pool: a baseline row",
        text="cuMemAlloc, or memory that existed before the run.",
    ),
}

STATUSES: dict[Status, Term] = {
    Status.OK: Term(short="every step was run", text="Nothing failed, whatever it cost."),
    Status.OUT_OF_MEMORY: Term(
        short="an allocation failed and on_oom did not get it through; the run ended there",
        text="A result, not a crash: it is what this setting does to this program.",
    ),
    Status.CORRUPTED: Term(
        short="a check found bytes that its fill had not written",
        text="Memory was in two hands at once. The exit code is 1.",
    ),
    Status.UNSUPPORTED: Term(
        short="the device or driver cannot do what the scenario asks",
        text="The reason says what is missing.",
    ),
    Status.SKIPPED: Term(
        short="the case was not run; the reason says why", text="Nothing was tried."
    ),
    Status.TIMEOUT: Term(
        short="a run took longer than --run-limit and was ended",
        text="The worker process was killed and replaced; the case is not run again.",
    ),
    Status.ERROR: Term(
        short="the driver or the worker failed in the middle of the case",
        text="The reason quotes it. The case is not run again; the others are.",
    ),
}

TERMS: dict[str, Term] = {
    "makespan": Term(
        short="median event time from the first step to the end of the last work",
        text="Median over the timed repetitions; with iterations, over those after the first.",
    ),
    "iqr": Term(
        short="interquartile range of the repetitions: the noise of the row",
        text="A difference smaller than this is no difference.",
    ),
    "latch": Term(
        short="stops a stream until the host lets it go",
        text="What completes elsewhere while a stream is held does not depend on it, and a call "
        "that does not return waits for it. A watchdog opens latches that block the host.",
    ),
    "iteration": Term(
        short="one pass over the steps in the same pool",
        text="The first finds the pool cold and pays for growth; it is reported apart.",
    ),
    "repetition": Term(
        short="a run from the start, with a new pool",
        text="--repeats timed ones, after --warmup ones that are not kept and a traced one.",
    ),
    "predicted": Term(
        short="from the model, a simulation: not measured",
        text="It knows the pool's rules and the mean costs of one device; it has no noise and is "
        "no evidence about your GPU.",
    ),
    "reserved": Term(
        short="the most memory that the pool held from the device",
        text="It grows in steps of 32 MiB. A row that is fast because it grew shows it here.",
    ),
    "used": Term(short="the most memory that was allocated", text="Bytes asked for, not rounded."),
}

KERNELS: dict[str, Term] = {
    "spin": Term(
        short="every block runs for the given duration",
        text="By the GPU's own clock (%globaltimer), so that a busy device does not stretch it; it "
        "takes its time and its share of the multiprocessors and nothing else.",
    ),
    "stream": Term(
        short="reads all bytes of reads and writes all bytes of writes",
        text="Takes memory bandwidth, and competes for it.",
    ),
    "compute": Term(
        short="so many floating-point operations (flops)",
        text="Fused multiply-adds in float32, two operations each.",
    ),
    "own": Term(
        short="CUDA C of your own, under kernels: source or file",
        text="Compiled by NVRTC; the model cannot run it and assumes predicted.",
    ),
}
"""Kernels that a step can launch."""
