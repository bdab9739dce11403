"""`make results`: where measurements go, and what happens without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import results  # noqa: E402


@pytest.mark.parametrize(
    ("gpu", "driver", "name"),
    [
        ("NVIDIA H200", "580.159.04", "h200-580"),
        ("NVIDIA A100-SXM4-80GB", "535.54.03", "a100-sxm4-80gb-535"),
        ("NVIDIA GeForce RTX 4090", "570.86", "rtx-4090-570"),
        ("Tesla V100", "580.1", "tesla-v100-580"),
    ],
)
def test_folder_names_gpu_and_driver(gpu: str, driver: str, name: str) -> None:
    """Results of another GPU or another driver branch never share a folder."""
    assert results.folder_name(gpu, driver) == name


def test_refuses_without_gpu() -> None:
    """Without a GPU nothing is run or written, the reason is said, and the exit code is 3."""
    before = sorted((ROOT / "results").rglob("*")) if (ROOT / "results").exists() else None
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "results.py")],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    after = sorted((ROOT / "results").rglob("*")) if (ROOT / "results").exists() else None
    assert result.returncode == 3
    assert "no GPU to measure on" in result.stderr
    assert before == after
