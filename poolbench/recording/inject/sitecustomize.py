"""Python runs this before the recorded program, because its folder is on PYTHONPATH.

Hides itself again: the folder leaves `sys.path`, and a `sitecustomize` that the program has of its
own runs as if nothing had happened.  No package of poolbench's environment becomes visible here but
poolbench itself, for `poolbench.record()`.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _run_the_other() -> None:
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _load_poolbench() -> None:
    if "poolbench" in sys.modules:
        return
    package = _HERE.parents[1]
    spec = importlib.util.spec_from_file_location(
        "poolbench", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["poolbench"] = module
    spec.loader.exec_module(module)


def _start() -> None:
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != _HERE]
    folder = os.environ.get("POOLBENCH_RECORD", "")
    _run_the_other()
    if folder and Path(folder).is_dir():
        _load_poolbench()
        from poolbench.recording.inside import start

        start(Path(folder))


_start()
