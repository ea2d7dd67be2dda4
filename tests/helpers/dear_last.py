"""A pytest plugin for `tests/power.py`: ordinary tests come first.

A file tells how many tests there are, and which began or failed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

import pytest

from tests.helpers import tiers

ORDER = "ORDER_OF_TESTS"
"""The variable with the file to write to, and the fields of `Order`."""


@dataclass(frozen=True)
class Order:
    """first: the paths of what comes first. skipped: tests that do not run."""

    first: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _, first, skipped = json.loads(os.environ[ORDER])
    if not skipped and not first:
        return
    dear = tiers.dear_tests()
    items[:] = [item for item in items if item.nodeid not in skipped]
    items.sort(key=lambda item: (tiers.is_listed(item.nodeid, dear), not item.nodeid.startswith(tuple(first))))


def pytest_collection_finish(session: pytest.Session) -> None:
    _write("collected", str(len(session.items)))


def pytest_runtest_logstart(nodeid: str) -> None:
    _write("began", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _write("failed", report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write("failed", report.nodeid)


def _write(what: str, text: str) -> None:
    with open(json.loads(os.environ[ORDER])[0], "a", encoding="utf-8") as file:
        file.write(f"{what} {text}\n")
