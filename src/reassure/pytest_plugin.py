"""The pytest plugin: models and gate files as tests with `--reassure`, and the fixture `reassure_check`.

Everything else is imported when it is first used: a suite that does not use the plugin does not pay for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from reassure.checkers.request.result import CheckResult

PATH_AT_START = tuple(sys.path)
"""`sys.path` before folders of models are added to it: a server is known by it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    from reassure.checkers.request.options import EXHAUSTIVE_ENGINES

    group = parser.getgroup("reassure", "model checking")
    group.addoption(
        "--reassure", action="store_true", help="collect models (MODEL = ...) and gate files (gate.toml, *.gate.toml)"
    )
    group.addoption("--reassure-engine", choices=EXHAUSTIVE_ENGINES, default=None, help="search with this engine")


sessions: list[pytest.Config] = []
"""Of this process, the last one inside of the others: tests of a plugin run sessions of their own."""


def pytest_configure(config: pytest.Config) -> None:
    """A session begins."""
    sessions.append(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """A session ends, perhaps one that another plugin has not let begin."""
    if config in sessions:
        sessions.remove(config)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """A model that ends the process of `--reassure` does not make it a pass: another process gives the exit code."""
    worker_of_xdist = hasattr(config, "workerinput")  # a process of its own already
    if sessions or worker_of_xdist or not config.getoption("reassure"):
        return None
    from reassure.checkers.testing.own_session import exit_code_of

    return exit_code_of(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A collector of a model or a gate file, if `--reassure` asks for them."""
    if file_path.suffix not in (".py", ".toml") or not parent.config.getoption("reassure"):
        return None
    from reassure.checkers.testing.collect import collector

    return collector(file_path, parent)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """A model that is given by name is not a module of tests beside, if `--reassure` asks for models."""
    if not parent.config.getoption("reassure"):
        return None
    from reassure.checkers.testing.collect import module

    return module(module_path, parent)


@pytest.fixture
def reassure_check(request: pytest.FixtureRequest) -> Callable[..., CheckResult]:
    """Checks a model, by name or by a path relative to the test's file, and fails with its counterexample."""
    from reassure.checkers.machine.own_process import only_an_answer_ends_it
    from reassure.checkers.testing.expect import Expecting

    only_an_answer_ends_it()
    return Expecting(request.path.parent, request.config.getoption("reassure_engine"))
