"""Parts of a sweep on the workers of a Dask cluster: on other hosts, or one for each device of this
one.

The extra `dask`.  A worker is one process with one thread, and with one device; what it runs comes
back as soon as it is over.  Where a worker is lost, Dask runs its part again elsewhere, three times
at most.
"""

from __future__ import annotations

import contextlib
import logging
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from poolbench import __version__
from poolbench.backends.select import Choice
from poolbench.errors import BadUsage, NoBackend
from poolbench.fleet.merge import Piece
from poolbench.fleet.worker import Place, Settings, look, run_part
from poolbench.prepare import Experiment

CONNECT_LIMIT_S = 15
NO_WORKER_LIMIT_S = 60
"""So long nobody is left to run anything, and it is over."""
_POLL_S = 2

SCHEME = "dask://"
_QUIET = {"distributed.worker.daemon": False, "logging.distributed": "error"}
"""A worker has a process of its own for the device, which a daemon could not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Workers that are alike: what they run is one run.  `workers` are their names."""

    environment: str
    is_measured: bool
    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A part that is over: its piece, or why there is none."""

    site: Site
    part: Experiment
    piece: Piece | None
    fault: str = ""


def require() -> None:
    """Raises `BadUsage` where the extra is missing."""
    if find_spec("distributed") is None:
        raise BadUsage(
            "this needs Dask, which is not installed", hint="pip install 'poolbench[dask]'"
        )


def read_address(text: str) -> str:
    """`dask://HOST:PORT` as Dask has it; raises `BadUsage`."""
    rest = text.removeprefix(SCHEME)
    if not text.startswith(SCHEME) or not rest or rest.rpartition(":")[2] == rest:
        raise BadUsage(
            f"--on {text[:80]}: expected {SCHEME}HOST:PORT",
            hint="the address that `dask scheduler` prints, with dask:// in the place of tcp://",
        )
    return f"tcp://{rest}"


def read_devices(text: str) -> tuple[int, ...]:
    """`0,1,3`; raises `BadUsage`."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 5 for word in words):
        raise BadUsage(f"--devices {text[:60]}: expected numbers such as 0,1,2")
    found = tuple(int(word) for word in words)
    if len(set(found)) < len(found):
        raise BadUsage(f"--devices {text[:60]}: a device is named twice")
    return found


@contextlib.contextmanager
def at_address(address: str) -> Iterator[Any]:
    """A client of a scheduler that is there already; raises `NoBackend`."""
    require()
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_LIMIT_S)
    except (OSError, TimeoutError, ValueError) as fault:
        raise NoBackend(
            f"no Dask scheduler answers at {address}: {fault}",
            hint="`dask scheduler` prints its address; is there a firewall between?",
        ) from None
    with client:
        yield client


@contextlib.contextmanager
def on_devices(devices: Sequence[int]) -> Iterator[Any]:
    """A client of one worker process for each device of this host."""
    require()
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster

    workers = {
        f"device-{device}": {
            "cls": Nanny,
            "options": {
                "nthreads": 1,
                "env": {"CUDA_VISIBLE_DEVICES": str(device)},
                "memory_limit": 0,
                "dashboard": False,
                "silence_logs": logging.ERROR,
                "config": _QUIET,
            },
        }
        for device in devices
    }
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "dashboard": False}}
    with (
        dask.config.set(_QUIET),
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs="error") as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(len(devices), timeout=CONNECT_LIMIT_S * 4)
        yield client


def sites(client: Any, choice: Choice, profile: str | None, run_limit_s: float) -> tuple[Site, ...]:
    """The workers by what they run on.

    Raises `NoBackend` where there is none that could run anything, `BadUsage` where one cannot be
    relied on: another Python or poolbench than here, several threads.
    """
    known = client.scheduler_info(n_workers=-1)["workers"]
    if not known:
        raise NoBackend("the Dask scheduler has no workers", hint="start one with `dask worker`")
    crowded = [one["name"] for one in known.values() if one["nthreads"] != 1]
    if crowded:
        raise BadUsage(
            f"worker {crowded[0]} has several threads; parts that run at the same time on one "
            "device would disturb each other",
            hint="start workers with `dask worker --nthreads 1`",
        )
    here = Place(python=platform.python_version(), poolbench=__version__)
    found = client.run(look, choice, profile, run_limit_s, on_error="return")
    by_environment: dict[tuple[str, bool], list[str]] = {}
    for address, place in found.items():
        name = str(known[address]["name"]) if address in known else address
        _refuse(name, place, here)
        by_environment.setdefault((place.environment, place.is_measured), []).append(name)
    return tuple(
        Site(environment=environment, is_measured=is_measured, workers=tuple(sorted(names)))
        for (environment, is_measured), names in sorted(by_environment.items())
    )


def _refuse(name: str, place: Place | BaseException, here: Place) -> None:
    if isinstance(place, ModuleNotFoundError):
        raise BadUsage(f"worker {name} has no poolbench: {place}", hint="install it there as here")
    if isinstance(place, BaseException):
        raise BadUsage(f"worker {name} cannot be asked what it is: {place}")
    for what, theirs, ours in (
        ("poolbench", place.poolbench, here.poolbench),
        ("Python", place.python.rpartition(".")[0], here.python.rpartition(".")[0]),
    ):
        if theirs != ours:
            raise BadUsage(f"worker {name} has {what} {theirs}, and here is {ours}")
    if place.fault:
        raise NoBackend(f"worker {name}: {place.fault}")


def run_parts(
    client: Any, here: Sequence[Site], parts: Sequence[Experiment], settings: Settings
) -> Iterator[Came]:
    """Every part at every site, in the order in which they are over."""
    jobs = {}
    for site in here:
        where = list(site.workers) if len(here) > 1 else None
        for part in parts:
            future = client.submit(run_part, part, settings, workers=where, pure=False)
            jobs[future] = (site, part)
    try:
        yield from _results(client, jobs)
    finally:
        client.cancel(list(jobs), force=True)


def _results(client: Any, jobs: dict[Any, tuple[Site, Experiment]]) -> Iterator[Came]:
    from distributed import wait

    left = set(jobs)
    seen_s = time.monotonic()
    while left:
        with contextlib.suppress(TimeoutError):
            wait(left, timeout=_POLL_S, return_when="FIRST_COMPLETED")
        done = [future for future in left if future.done()]
        for future in done:
            left.discard(future)
            site, part = jobs[future]
            fault = future.exception()
            piece = future.result() if fault is None else None
            yield Came(site=site, part=part, piece=piece, fault="" if piece else _said(fault))
        if done or client.scheduler_info(n_workers=-1)["workers"]:
            seen_s = time.monotonic()
        elif time.monotonic() - seen_s > NO_WORKER_LIMIT_S:
            for future in left:
                site, part = jobs[future]
                yield Came(site=site, part=part, piece=None, fault="all workers are gone")
            return


def _said(fault: BaseException) -> str:
    if type(fault).__name__ == "KilledWorker":
        return "the worker that ran it was lost, each time that it was tried"
    return str(fault) or type(fault).__name__
