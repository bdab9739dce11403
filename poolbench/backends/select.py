"""Which backend runs: the GPU if there is one, else the model, and why."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from poolbench.errors import NoBackend

if TYPE_CHECKING:
    from poolbench.backends.base import Backend


class Choice(StrEnum):
    """What `--backend` can say."""

    AUTO = "auto"
    CUDA = "cuda"
    MODEL = "model"


def open_backend(choice: Choice, *, time_limit_s: float) -> tuple[Backend, str]:
    """A backend, and the reason for taking it in words.

    `time_limit_s` bounds a single run on the GPU.  Raises `NoBackend` for `cuda` without a GPU.
    """
    from poolbench.backends.cuda.detect import why_unusable

    if choice is Choice.MODEL:
        return _model(), "as asked"
    missing = why_unusable()
    if missing is None:
        from poolbench.backends.cuda.backend import CudaBackend

        reason = "as asked" if choice is Choice.CUDA else "this machine has a GPU"
        return CudaBackend(time_limit_s=time_limit_s), reason
    if choice is Choice.CUDA:
        raise NoBackend(
            f"no GPU to run on: {missing}",
            hint="`poolbench doctor` says more; --backend model predicts without a GPU",
        )
    return _model(), missing


def _model() -> Backend:
    from poolbench.backends.model.backend import ModelBackend

    return ModelBackend()
