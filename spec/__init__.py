"""The language protocols are written in, and the promises they must keep. Standard library only."""

from spec.domains import MaxLen, MaxSize, Range
from spec.language import (
    Action,
    Model,
    action,
    cover,
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
from spec.values import Id, Map, every, fill

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
