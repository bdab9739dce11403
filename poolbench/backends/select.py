"""Which backend runs: the GPU if there is one, else the model, and why."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from poolbench.errors import BadUsage, NoBackend

if TYPE_CHECKING:
    from poolbench.backends.base import Backend


class Choice(StrEnum):
    """What `--backend` can say."""

    AUTO = "auto"
    CUDA = "cuda"
    MODEL = "model"


def open_backend(
    choice: Choice,
    *,
    time_limit_s: float,
    profile: str | None = None,
    has_ranges: bool = False,
) -> tuple[Backend, str]:
    """A backend, and the reason for taking it in words.

    `time_limit_s` bounds a single run on the GPU, `has_ranges` marks runs there for a profiler;
    `profile` names the model's device.  Raises
    `NoBackend` for `cuda` without a GPU, `BadUsage` for a profile that is none, or that is given
    although something is measured.
    """
    if profile is not None:
        return _with_profile(choice, profile)
    from poolbench.backends.cuda.detect import why_unusable

    if choice is Choice.MODEL:
        return _model(), "as asked"
    missing = why_unusable()
    if missing is None:
        from poolbench.backends.cuda.backend import CudaBackend
        from poolbench.backends.cuda.worker import serve

        reason = "as asked" if choice is Choice.CUDA else "this machine has a GPU"
        worker = partial(serve, has_ranges=True) if has_ranges else serve
        return CudaBackend(time_limit_s=time_limit_s, worker=worker), reason
    if choice is Choice.CUDA:
        raise NoBackend(
            f"no GPU to run on: {missing}",
            hint="`poolbench doctor` says more; --backend model predicts without a GPU",
        )
    return _model(), missing


def _with_profile(choice: Choice, profile: str) -> tuple[Backend, str]:
    from poolbench.backends.model.backend import ModelBackend
    from poolbench.backends.model.profile_file import load

    if choice is Choice.CUDA:
        raise BadUsage(
            "--profile is the model's; --backend cuda measures", hint="say --backend model"
        )
    found = load(profile)
    return ModelBackend(found.profile), f"profile {found.profile.name}, by {found.made_by}"


def _model() -> Backend:
    from poolbench.backends.model.backend import ModelBackend

    return ModelBackend()
