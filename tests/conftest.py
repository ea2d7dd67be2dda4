"""For all tests: which of them run, in which of several processes, their cost, garbage, and quick kernels."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from reassure.checkers.engines.native.kernels import kernel_shape
from reassure.checkers.engines.native.model import translation
from tests.helpers import shares, tiers
from tests.helpers.processor_time import Meter


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ordinary", action="store_true", help="leave out the tests of tests/dear.txt if none is named")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Meter(), "meter")
    tiers.begin(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[tiers.NAMED] = node.config.stash[tiers.WHETHER_NAMED]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.choose(config, items)
    items.sort(key=lambda item: shares.order_of(item.nodeid))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    tiers.note(report)


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: garbage is looked for among what tests make, and less often."""
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_sessionfinish(session: pytest.Session) -> None:
    tiers.keep(session.config)
    gc.unfreeze()  # what is still there when Python ends is told as leaked


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return shares.scheduler(config, log)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_kept() -> Iterator[None]:
    """Translations are not kept by this process: a test may put a fault into what makes them."""
    with mock.patch.object(translation, "MADE_BY", ("no folder of the program",)):
        yield


@pytest.fixture(scope="module")
def quick_kernels() -> Iterator[None]:
    """Kernels of models are compiled without optimisation: LLVM takes a twentieth of the time.

    For tests of what a model does, not of what an engine does: `conformance/` compares optimised kernels of all models.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_shape, "LEVEL", 0)
        yield


@pytest.fixture
def optimise_no_more(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the kernels of models compiled without optimisation from now on, in one test."""
    return lambda: monkeypatch.setattr(kernel_shape, "LEVEL", kernel_shape.QUICK)


@pytest.fixture
def survey_excludes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No region is answered without its graph."""
    from reassure.checkers.engines.native.liveness.decide import Survey

    monkeypatch.setattr(Survey, "excludes_all", lambda *_: False)


@pytest.fixture
def wrong_guesses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets the states whose steps show that a guess of the fields that move one way only was wrong."""
    from reassure.checkers.engines.native.liveness.edge_lister import Falls

    states, right = list[int](), Falls.__init__

    def noting(self: Falls, state: int) -> None:
        right(self, state)
        states.append(state)

    monkeypatch.setattr(Falls, "__init__", noting)
    return states


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """A Spark context for all tests that run in this process: starting one takes longer than what is tested."""
    from reassure.checkers.engines.spark.session import start
    from reassure.checkers.request.options import SparkOptions

    session = start("tests", SparkOptions("local[2]"))
    yield session.context
    session.stop()
