"""How tests are dealt out to several processes: what shares something stays in one process, the longest comes first.

pytest-xdist's own groups (`--dist loadgroup`) are not used: version 3.8 writes them into a field that pytest 9.2 no
longer has, and deals out each test by itself without a word.
"""

from __future__ import annotations

from typing import Any

LONGEST_FIRST = (
    "checkers/engines/spark",
    "checkers/kafka/controller",
    "conformance/test_engines.py",
    "conformance/test_models_native.py",
    "conformance/test_models_symbolic.py",
    "conformance/test_constructs_symbolic.py",
    "fuzz",
    "checkers/engines/symbolic/test_prover.py",
    "docs/test_sessions.py",
    "conformance",
    "packaging",
)
"""Folders and files below `tests/` whose tests take longest. Those of a folder share a Spark session, JVMs or jars."""

ALSO_BY_SPARK = (
    "checkers/cli/test_runs_beyond_bounds.py",
    "checkers/kafka/audit/test_audit_command.py",
    "conformance/test_second_opinion.py",
)
"""Files of other folders with a test by Spark: they belong to the share of its folder, which has a JVM already."""


def share_of(test: str) -> str:
    """What goes to one process: a folder or file of `LONGEST_FIRST`, or the file of the test."""
    place = test.partition("::")[0].removeprefix("tests/")
    if place in ALSO_BY_SPARK:
        return LONGEST_FIRST[0]
    return next((name for name in LONGEST_FIRST if place == name or place.startswith(f"{name}/")), place)


def order_of(test: str) -> int:
    """Where the share of this test comes in: a long one that is begun last leaves the other processes idle."""
    share = share_of(test)
    return LONGEST_FIRST.index(share) if share in LONGEST_FIRST else len(LONGEST_FIRST)


def scheduler(config: Any, log: Any) -> Any:
    """pytest-xdist's scheduler by scopes, a share being a scope."""
    from xdist.scheduler import LoadScopeScheduling

    class ByShare(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    config.option.loadscopereorder = False  # which would put the share with most tests first
    return ByShare(config, log)
