"""Specification and model checking of Kafka partition reassignment.

The vocabulary of a model (`from reassure import Model, action, require`) and the Python API (`reassure.load`,
`reassure.check`) are importable from here. Each is imported when it is first used: a model needs the standard library
only, and a suite of tests that has the plugin installed needs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers read it; `reassure --version` does without `typing`
if TYPE_CHECKING:
    from typing import Any

    from reassure.checkers.api import CheckResult as CheckResult
    from reassure.checkers.api import Exit as Exit
    from reassure.checkers.api import Failure as Failure
    from reassure.checkers.api import LoadedModel as LoadedModel
    from reassure.checkers.api import PropertyStatus as PropertyStatus
    from reassure.checkers.api import check as check
    from reassure.checkers.api import load as load
    from reassure.checkers.api import walk as walk
    from reassure.checkers.testing.state_machine import state_machine as state_machine
    from reassure.spec import (
        Action,
        Id,
        Map,
        MaxLen,
        MaxSize,
        Model,
        Range,
        action,
        cover,
        eventually_always,
        every,
        fill,
        infinitely_often,
        initial,
        invariant,
        leads_to,
        refuse,
        replace,
        require,
        some,
        step_property,
        terminal,
    )

API = frozenset(
    {"CheckResult", "Exit", "Failure", "LoadedModel", "PropertyStatus", "check", "load", "state_machine", "walk"}
)
"""Names of the Python API; `from reassure import *` in a model leaves them out."""

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Id",
    "Map",
    "MaxLen",
    "MaxSize",
    "Model",
    "Range",
    "action",
    "cover",
    "eventually_always",
    "every",
    "fill",
    "infinitely_often",
    "initial",
    "invariant",
    "leads_to",
    "refuse",
    "replace",
    "require",
    "some",
    "step_property",
    "terminal",
]


def __getattr__(name: str) -> Any:
    found: Any
    if name in __all__:
        from reassure import spec as found
    elif name == "state_machine":
        from reassure.checkers.testing import state_machine as found
    elif name in API:
        from reassure.checkers import api as found
    else:
        raise AttributeError(f"module 'reassure' has no attribute {name!r}")
    return getattr(found, name)
