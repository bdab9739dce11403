"""GPU tests run where there is a GPU, and say why they do not elsewhere."""

from __future__ import annotations

import pytest

from poolbench.backends.cuda.detect import why_unusable


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if "gpu" in item.keywords]
    if not marked:
        return
    reason = why_unusable()
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {reason}"))
