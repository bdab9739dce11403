"""poolbench's CUDA backend and the replayer against a driver that only notes calls.

Makes `stub_driver.c` and `replay.cpp`, and runs a plan through either.  What comes of it is which
calls they make, and what the host spends around calls that cost so long: never a measurement of a
GPU.  `python benchmarks/stub.py PLAN.pickle LOOP PASS` is the process that stands for poolbench.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from poolbench.domain import Pass
from poolbench.plan.plan import Plan

HERE = Path(__file__).parent
IS_STUB = "STUB_CUDA"
"""Set where the driver is the stub."""


def why_not() -> str:
    """What is missing to build the stub; empty if nothing is."""
    return "" if shutil.which("gcc") else "no C compiler"


def why_no_replayer() -> str:
    """What is missing to build the replayer; empty if nothing is."""
    if not shutil.which("g++"):
        return "no C++ compiler"
    if cuda_headers() is None:
        return "no cuda.h"
    if not any(
        (folder / "nlohmann/json.hpp").is_file() for folder in (Path("/usr/include"), *_more())
    ):
        return "no nlohmann/json.hpp (Debian: nlohmann-json3-dev)"
    return "" if nvrtc_library() else "no NVRTC"


def _more() -> list[Path]:
    """Folders of headers beside the compiler's own, from the environment as gcc has it."""
    return [Path(part) for part in os.environ.get("CPLUS_INCLUDE_PATH", "").split(":") if part]


def cuda_headers() -> Path | None:
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home and (Path(home) / "include/cuda.h").is_file():
            return Path(home) / "include"
    return None


def nvrtc_library() -> Path | None:
    """The one that poolbench itself uses: same compiler, same kernels."""
    spec = find_spec("nvidia")
    folders = [Path(where) for where in (spec.submodule_search_locations or [])] if spec else []
    found = [path for folder in folders for path in sorted(folder.glob("cu13/lib/libnvrtc.so.13"))]
    return found[0] if found else None


def build_stub(folder: Path) -> None:
    source, target = HERE / "stub_driver.c", folder / "libcuda.so.1"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", target, source, "-ldl", "-lpthread"]
    subprocess.run(command, check=True)


def build_replayer(folder: Path) -> Path:
    target = folder / "replay"
    headers = f"-I{cuda_headers()}"
    source = HERE / "replay.cpp"
    command = ["g++", "-O2", "-std=c++17", headers, "-o", target, source, "-ldl"]
    subprocess.run(command, check=True)
    return target


def environment(folder: Path | None = None, **more: str) -> dict[str, str]:
    """For a process whose driver is the stub in `folder`, or the machine's own."""
    made = {**os.environ, "PYTHONPATH": str(HERE.parent), **more}
    if folder is not None:
        made["LD_LIBRARY_PATH"] = str(folder)
        made[IS_STUB] = "1"
    library = nvrtc_library()
    if library is not None:
        made["NVRTC"] = str(library)
    return made


def run_replayer(replayer: Path, plan: Path, env: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run([replayer, plan], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run_poolbench(
    plan: Path, loop: str, env: dict[str, str], measured: str = "timed"
) -> dict[str, Any]:
    """`plan` is a pickled `Plan`."""
    command = [sys.executable, __file__, str(plan), loop, measured]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def where(env: dict[str, str]) -> dict[str, Any]:
    """The machine and its GPU, as poolbench's results have it."""
    program = (
        "import json; from dataclasses import asdict; "
        "from poolbench.backends.cuda.runner import Runner; "
        "print(json.dumps(asdict(Runner(0).environment())))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _without_pings() -> None:
    """The device clock of the stub, which answers no ping, is the host's."""
    from poolbench.backends.cuda.clock import Alignment, Clock

    def same(_: Clock) -> Alignment:
        return Alignment(host_ns=time.perf_counter_ns(), offset_ns=0, error_ns=0)

    Clock.align = same  # type: ignore[method-assign]


def main(path: str, loop: str, measured: str) -> None:
    from poolbench.backends.cuda.runner import Runner

    if os.environ.get(IS_STUB):
        _without_pings()
    plan: Plan = pickle.loads(Path(path).read_bytes())
    runner = Runner(0, loop=loop)
    trace = runner.run(plan, measured=Pass(measured), repetition=0)
    answer = {
        "status": trace.status.value,
        "reason": trace.reason,
        "n_steps": plan.n_steps,
        "n_out_of_memory": trace.n_out_of_memory,
        "failed_row": trace.failed_row,
        "loop": runner.environment().issue_loop,
        "iterations": [
            {"host_ns": int(host), "makespan_ns": int(makespan)}
            for host, makespan in zip(trace.host_ns, trace.makespan_ns, strict=True)
        ],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:4])
