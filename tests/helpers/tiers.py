"""Two tiers of tests by their cost: `./test.sh` leaves out those of `dear.txt`, and `./test.sh --all` runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

import pytest

from tests.helpers.processor_time import COST

TESTS = Path(__file__).parents[1]
DEAR = TESTS / "dear.txt"
LIMIT = 0.2
"""Processor seconds. A test that costs more is dear."""
COSTS = "tests/costs"
"""The entry of pytest's cache with the costs of the last run."""
COLLECTED = pytest.StashKey[list[str]]()
"""Every test, dear or slow ones too, if the whole suite is collected."""
NAMED = "tests_are_named"
"""What the processes of pytest-xdist are told: they are given paths, whatever the user named."""
WHETHER_NAMED = pytest.StashKey[bool]()


class Cost(TypedDict):
    """Processor seconds of a test, those of fixtures that it made, by name, and the names of fixtures that it uses."""

    own: float
    made: dict[str, float]
    uses: list[str]


_costs: dict[str, Cost] = {}


def dear_tests() -> dict[str, float]:
    """The entries of the list: a test, or one without its parameters for all of them, and its processor seconds."""
    rows = (line.split(maxsplit=1) for line in DEAR.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return {test: float(seconds) for seconds, test in rows}


def short(test: str) -> str:
    """A test's name as the list has it."""
    return test.removeprefix("tests/")


def is_listed(test: str, entries: Iterable[str]) -> bool:
    """Whether this test, or its function with any parameters, is an entry."""
    return short(test) in entries or short(test).partition("[")[0] in entries


def begin(config: pytest.Config) -> None:
    """Finds out whether the user named tests, by a path or an expression."""
    by_path = config.args_source != pytest.Config.ArgsSource.TESTPATHS
    named = by_path or bool(config.option.keyword) or config.option.markexpr != "not slow"
    config.stash[WHETHER_NAMED] = getattr(config, "workerinput", {NAMED: named})[NAMED]


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the dear tests out of the ordinary tier."""
    if config.stash[WHETHER_NAMED]:
        return
    config.stash[COLLECTED] = [item.nodeid for item in items]
    if config.option.ordinary:
        entries = dear_tests()
        dear = [item for item in items if is_listed(item.nodeid, entries)]
        config.hook.pytest_deselected(items=dear)
        items[:] = [item for item in items if not is_listed(item.nodeid, entries)]


def note(report: pytest.TestReport) -> None:
    """Keeps the cost that a report tells."""
    for name, cost in report.user_properties:
        if name == COST:
            _costs[report.nodeid] = cost  # type: ignore[assignment]


def keep(config: pytest.Config) -> None:
    """Writes the costs of this run into pytest's cache, for `python -m tests.costs`."""
    if _costs and not hasattr(config, "workerinput") and hasattr(config, "cache") and config.cache is not None:
        config.cache.set(COSTS, {"named": config.stash[WHETHER_NAMED], "costs": _costs})


def costs_of(measured: Mapping[str, Cost]) -> dict[str, float]:
    """Processor seconds of each test: its own, and its part of what it shares with others."""
    users: dict[str, int] = {}
    made: dict[str, float] = {}
    for cost in measured.values():
        for name in cost["uses"]:
            users[name] = users.get(name, 0) + 1
        for name, seconds in cost["made"].items():
            made[name] = made.get(name, 0) + seconds
    parts = {name: seconds / users.get(name, 1) for name, seconds in made.items()}
    return {test: cost["own"] + sum(parts.get(name, 0) for name in cost["uses"]) for test, cost in measured.items()}
