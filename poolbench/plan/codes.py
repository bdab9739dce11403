"""What each problem code of planning means: `poolbench explain CODE`.

Codes of the text, the keys and the values of a file are in `poolbench.scenario.codes`; planning
gives some of them too, where a value is known only under an axis or through a reference.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # --- names and values ------------------------------------------------------------------------
    "bad-argument": "An argument of a kernel of your own is neither a buffer nor a scalar of type"
    " i32, u32, i64, u64, f32 or f64 that holds its value.  A bare whole number is an i64, a bare"
    " fraction an f32; {u64: 1024} says a type.",
    "bad-grid": "A grid is a share of the GPU's multiprocessors (share, threads) or a number of "
    "blocks (blocks, threads), not both.  A kernel of your own always says its blocks.",
    "copy-to-itself": "Source and destination of a copy are the same buffer.",
    "default-stream": "There is one legacy default stream and one per-thread default stream.  "
    "They exist without being created, and their priority cannot be chosen.",
    "duplicate-name": "Two things of one kind have the same name, possibly through `count`, which"
    " declares NAME0, NAME1 and so on.",
    "every-outside-repeat": "A step with `every: n` runs in each n-th pass of the innermost "
    "repeat only.  Outside a repeat there are no passes to count.",
    "index-taken": "The index of a repeat has the name of a parameter or of the index of a repeat"
    " around it, so that $name would mean two things.  The default index is i.",
    "size-too-large": "A step touches more bytes than its buffer has.",
    "too-many-buffers": "A scenario can declare 4096 buffers under `buffers`.",
    "too-many-steps": "Loops, iterations and axes multiply.  One iteration can have 1,000,000 "
    "steps, all iterations of a case together 2,000,000.",
    "too-many-streams": "A scenario can declare 128 streams.",
    "unknown-buffer": "No entry of `buffers` and no alloc step makes a buffer of this name.",
    "unknown-event": "No record step that runs makes an event of this name.",
    "unknown-reference": "The name after the $ is neither a parameter, nor an axis, nor the "
    "index of a repeat around this step.",
    "unknown-stream": "Streams are declared under `streams`; with `count: n` they are NAME0 to "
    "NAME<n-1>.",
    "unused-parameter": "Warning: nothing refers to the parameter, so that changing it changes "
    "nothing.",
    "wrong-memory": "Kernels, memset, fill and check work on device memory; each side of a copy "
    "is host or device memory as its kind says (h2d, d2h, d2d).",
    "zero-size": "A buffer or a step of 0 bytes.",
    # --- the life of a buffer --------------------------------------------------------------------
    "double-alloc": "A name is allocated again before the buffer that has it was freed.  In a "
    "loop, put the index into the name (x$i) or free the buffer in the same pass.",
    "double-free": "The buffer has been freed before.",
    "free-before-alloc-order": "The free is on another stream than the allocation and nothing "
    "makes it come later: record an event after the allocation and wait for it on the stream of "
    "the free, or synchronise.",
    "free-before-use-order": "The free is on another stream than a use of the buffer and nothing "
    "makes it come later, so that the memory could be handed out while it is still in use.  "
    "Record an event after the use and wait for it on the stream of the free, or synchronise.",
    "free-of-buffer": "What is declared under `buffers` exists during the whole run.",
    "never-freed": "Every iteration starts with what the one before left; it must free all that "
    "it allocates.",
    "race": "Two steps use a buffer at the same time and at least one writes.  An error for a "
    "buffer of the pool; a warning for one that exists during the whole run.  A buffer that is "
    "only passed as an argument to a kernel of your own counts as written unless `reads` names "
    "it.",
    "use-after-free": "The step comes after the free of its buffer.",
    "use-before-alloc": "The buffer's alloc step comes only later.",
    "use-before-alloc-order": "The use is on another stream than the allocation and nothing makes"
    " it come later: stream-ordered memory exists only after its allocation has taken its turn on"
    " its stream.  Record an event after the allocation and wait for it, or synchronise.",
    # --- events, latches, streams, fills ---------------------------------------------------------
    "check-after-overwrite": "A copy, memset or stream kernel writes the buffer between its fill "
    "and this check, which would report that as corruption.",
    "check-without-fill": "A check compares a buffer with its last fill; there is none.",
    "hold-without-release": "A hold stops a stream until a release of its own.",
    "release-without-hold": "There is no closed latch on the stream for this release to open.",
    "stream-destroyed": "The stream was destroyed by an earlier step.",
    "stream-exists": "The stream was created by an earlier step, or existed before the first one.",
    "stream-not-created": "A stream with a create step does not exist before that step.",
    "stream-not-restored": "With several iterations, each must leave the streams as it found "
    "them: what a create step made must be destroyed again, and the other way round.",
    "wait-before-record": "A wait for, synchronisation with or query of an event that has not "
    "been recorded does nothing at all.",
    # --- graphs ----------------------------------------------------------------------------------
    "graph-not-forked": "A capture begins on the stream that the graph is launched on.  Another "
    "stream becomes part of it by waiting for an event that was recorded in it.",
    "graph-not-joined": "Every stream that is part of a capture has to be led back, by events, to "
    "the stream that it began on.",
    "graph-outer-buffer": "A graph keeps the addresses of its capture.  It can use what is declared"
    " under `buffers`, and what it allocates and frees itself.",
    "too-many-graphs": "Bodies that differ, by a name or a size with a loop index in it, are "
    "different graphs; a scenario can have 1000.",
    # --- warnings --------------------------------------------------------------------------------
    "larger-than-pool": "Warning: the block is larger than the pool can ever be, so that every "
    "row with a pool runs out of memory.",
    "long-queue": "Warning: the driver queues about 1020 kernels behind a stopped stream; the "
    "next launch blocks the host until the stream goes on.",
    "not-all-checked": "Warning: axes and loops multiply to so many steps that only some "
    "combinations of axis values were checked.  A run checks each combination before it starts.",
    "pace-not-used": "Warning: with `issue: ahead` the host queues as fast as it can.",
    "sync-hides-policy": "Warning: the host synchronises with every free before another stream "
    "allocates.  Such a block is free for any stream, whatever the reuse attributes, so that all "
    "rows will be equal.",
    "sync-of-held-stream": "Warning: the host waits for a stream that only the host would let go."
    "  The watchdog opens the latch; where that is what you want to see, all is well.",
    "sync-opens-latches": "Warning: with `issue: ahead` all streams are held until everything is "
    "queued, but a synchronisation has to let them go.",
}
"""Code -> explanation."""
