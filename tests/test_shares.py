"""That what shares something is run by one process, and that the longest shares come first."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.shares import ALSO_BY_SPARK, LONGEST_FIRST, order_of, share_of

SPARK = [f"tests/checkers/engines/spark/test_{name}.py::test" for name in ("datasets", "faults", "search")]
KAFKA = [f"tests/checkers/kafka/controller/test_{name}.py::test[a/b::c]" for name in ("answers", "explore", "junit")]
TRACE = [f"tests/spec/test_trace.py::TestOf::test_{name}" for name in "abc"]


def test_shares() -> None:
    assert [share_of(tests[0]) for tests in (SPARK, KAFKA, TRACE)] == [
        "checkers/engines/spark",
        "checkers/kafka/controller",
        "spec/test_trace.py",
    ]
    assert share_of("tests/conformance/test_engines.py::t") == "conformance/test_engines.py"
    assert share_of("tests/conformance/test_liveness.py::t") == "conformance"
    assert {share_of(f"tests/{name}::t") for name in ALSO_BY_SPARK} == {"checkers/engines/spark"}
    assert share_of("tests/checkers/sparkling/test_a.py::t") == "checkers/sparkling/test_a.py"


def test_the_longest_come_first() -> None:
    assert sorted([TRACE[0], KAFKA[0], SPARK[0]], key=order_of) == [SPARK[0], KAFKA[0], TRACE[0]]
    assert [name for name in (*LONGEST_FIRST, *ALSO_BY_SPARK) if not (Path(__file__).parent / name).exists()] == []


class Process:
    """What pytest-xdist's scheduler asks of a process."""

    gateway = SimpleNamespace(id="a process")
    shutting_down = False

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.given += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def test_a_process_is_given_whole_shares(request: pytest.FixtureRequest) -> None:
    """By the scheduler that pytest-xdist takes in this suite."""
    remote = pytest.importorskip("xdist.remote")
    option = SimpleNamespace(loadscopereorder=True)
    config = SimpleNamespace(option=option, getvalue=lambda name: ["popen", "popen"])
    made: Any = request.config.hook.pytest_xdist_make_scheduler(config=config, log=remote.Producer("t", enabled=False))
    tests = [*SPARK[:2], *KAFKA, SPARK[2], *TRACE]
    processes = [Process(), Process()]
    for process in processes:
        made.add_node(process)
        made.add_node_collection(process, tests)
    made.schedule()
    assert [[share_of(tests[n]) for n in process.given] for process in processes] == [
        ["checkers/engines/spark"] * 3,
        ["checkers/kafka/controller"] * 3,
    ]
    assert made.workqueue == OrderedDict({"spec/test_trace.py": dict.fromkeys(TRACE, False)})
