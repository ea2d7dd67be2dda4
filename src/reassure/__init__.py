"""Specification and model checking of Kafka partition reassignment.

The vocabulary of a model is importable from here (`from reassure import Model, action, require`).
"""

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
    every,
    fill,
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
    "every",
    "fill",
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
