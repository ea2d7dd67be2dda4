"""The language protocols are written in, and the promises they must keep. Standard library only."""

from reassure.spec.language.types import MaxLen, MaxSize, Range
from reassure.spec.language.values import Id, Map, every, fill
from reassure.spec.language.vocabulary import (
    Action,
    Model,
    action,
    cover,
    eventually_always,
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
