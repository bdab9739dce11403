"""What each problem code of a file's text and keys means: `poolbench explain CODE`.

Codes of names, references and ordering are in `poolbench.plan.codes`.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # --- the file --------------------------------------------------------------------------------
    "unreadable": "The system does not let us read the file.",
    "not-utf8": "A scenario is UTF-8 text; the place is that of the first byte that is not.",
    "empty": "There is nothing in the file.  A scenario needs at least `steps`.",
    "too-large": "A scenario file can have 1 MiB of text.  Long lists of steps are `repeat`'s.",
    "too-many-problems": "The first 100 problems of a file are shown; the others come to light "
    "once these are gone.",
    # --- YAML ------------------------------------------------------------------------------------
    "yaml-syntax": "The text is not YAML.  Common causes: a tab in the indentation, a missing "
    "space after a colon, brackets that are not closed.",
    "unknown-alias": "An alias (*name) has no anchor (&name) before it.",
    "self-alias": "A value contains itself through an alias and would never end.",
    "several-documents": "A line of --- starts a second document; a scenario is one.",
    "bad-tag": "Tags (!name, !!name) build other things than text, numbers, lists and mappings; a "
    "scenario has no use for them.",
    "bad-key": "A key of a mapping is text.  Merge keys (<<) are not part of YAML 1.2.",
    "bad-character": "Half of a surrogate pair is not a character.",
    "bad-number": "A number that is infinite, not a number, or longer than anything needs.",
    "duplicate-key": "One mapping has the same key twice.  YAML loaders often keep the last in "
    "silence; here it is an error.",
    "too-deep": "Mappings and lists can be nested 40 deep.",
    "too-many-values": "A bound on what a file can expand to: 200,000 values with aliases "
    "counted, 20,000 steps as written, 256 combinations of axis values.",
    # --- keys ------------------------------------------------------------------------------------
    "unknown-key": "The mapping has no such key; the nearest known one is named.",
    "missing-key": "A key that cannot be left out is missing.",
    "key-not-used": "The step has a key that means nothing for this kernel, sync or query.",
    "wrong-type": "The value has another form than the key needs: text, number, list or mapping.",
    "bad-choice": "The value is not one of those that the key allows.",
    "bad-name": "Names consist of letters, digits, '_', '.' and '-'; in steps they may hold "
    "references such as x$i.  Parameters and loop indices are a-z, 0-9 and '_'.",
    "name-taken": "The name belongs to something built in.",
    "no-steps": "A scenario, and each repeat and graph, needs steps.",
    "not-in-a-graph": "A graph is made of work in streams: nothing in it can make the host wait, "
    "and nothing can belong to the host.",
    "no-kind": "Every step has one key that says what it does, such as alloc, free or kernel.",
    "two-kinds": "A step has two keys that say what it does; it can only do one thing.",
    # --- quantities ------------------------------------------------------------------------------
    "unit-missing": "A size needs B, KiB, MiB, GiB or TiB and a duration ns, us, ms or s; only 0 "
    "goes without.",
    "unknown-unit": "The unit does not exist.  Sizes are binary: MiB, not MB.",
    "bad-size": "A size is a number with a unit, a whole number of bytes, at most 1024 TiB.",
    "bad-duration": "A duration is a number with a unit, whole nanoseconds, at most an hour.",
    "bad-share": "A share of the GPU is a percentage, or a number over 0 and up to 1.",
    "out-of-range": "The number is smaller or larger than the key allows.",
    "bad-draw": "A drawn value is {uniform: [low, high]}, {log_uniform: [low, high]}, "
    "{choice: [...]} or {cycle: [...]}.",
    # --- kernels ---------------------------------------------------------------------------------
    "unknown-kernel": "A kernel is spin, stream, compute or a name under `kernels`.",
    "kernel-source": "A kernel of one's own has its CUDA C in `source` or in `file`, not in both.",
    "kernel-file": "The CUDA C file is missing, not text, too large, or outside of the folder "
    "that the scenario is in.",
    "recorded-file": "The file with a recorded program's steps is missing, damaged, outside of the "
    "folder that the scenario is in, or does not fit its streams and buffers.",
    # --- axes and expectations -------------------------------------------------------------------
    "unknown-axis": "An axis is a parameter of the scenario or one of the settings that can vary.",
    "bad-axis": "An axis needs at least one value, and each value once.",
    "unknown-where": "Rows are picked by row, backend, an attribute, the release threshold or an "
    "axis.",
    "unknown-column": "`metrics` and `ratios` name columns that hold numbers; `poolbench explain` "
    "knows them all.",
    "bad-condition": "A condition is a value, a bound such as >= 450us or < 3, or a range such as "
    "0.9..1.1, in the unit of its column.",
    "empty-expectation": "An expectation says what the rows that it picks must show.",
}
"""Code -> explanation."""
