"""Specification and model checking of Kafka partition reassignment.

The vocabulary of a model (`from reassure import Model, action, require`) and the Python API (`reassure.load`,
`reassure.check`) are importable from here. The API is imported when it is first used: a model needs the standard
library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from reassure.checkers.api import CheckResult as CheckResult
    from reassure.checkers.api import Exit as Exit
    from reassure.checkers.api import Failure as Failure
    from reassure.checkers.api import LoadedModel as LoadedModel
    from reassure.checkers.api import PropertyStatus as PropertyStatus
    from reassure.checkers.api import check as check
    from reassure.checkers.api import load as load

API = frozenset({"CheckResult", "Exit", "Failure", "LoadedModel", "PropertyStatus", "check", "load"})
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
    if name in API:
        from reassure.checkers import api

        return getattr(api, name)
    raise AttributeError(f"module 'reassure' has no attribute {name!r}")
