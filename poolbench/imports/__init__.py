"""Other tools' traces to scenarios that can be run: `poolbench import`.

One module for each format (`rmm`, `torch_snapshot`, `kineto`, `nsys`, `lines`) turns a file into
calls of a `builder`; `detect` tells formats apart by what is in them; `write` makes the scenario
and its file of steps; `fidelity` says what was kept, what was guessed and what was lost.
"""
