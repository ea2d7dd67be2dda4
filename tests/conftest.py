"""The order of the files: the ones that take longest first, so that two processes end at about the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

LONGEST = ("spark", "docs", "engines", "prove", "agreement", "batching", "throttle", "intermediate", "spark_places")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(Path(item.path).stem, len(order)))
