"""The part of two models' states that is compared: everything, the fields that both have, or a view."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.engines.symbolic.sample_evaluator import columns
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.traces.format_value import map_entries
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.keys import TupleType
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel

Numbers = NDArray[np.int64]
EVERYTHING = "everything"


@dataclass(frozen=True)
class Side:
    """One of the two models with its reachable states."""

    bound: BoundModel
    lowered: LoweredModel
    graph: StateGraph


@dataclass(frozen=True)
class Observation:
    """The states of both sides by numbers: equal where they look the same."""

    words: str
    """The compared part, in words."""
    whole: bool
    """Whether that is all of a state."""
    numbers: tuple[Numbers, Numbers]


def structure(kind: Type) -> object:
    """The structure of a type, whatever the names of its classes; equal types have equal codes for equal values."""
    match kind:
        case BoolType():
            return "bool"
        case IntType(low=low, high=high):
            return ("int", low, high)
        case EnumType(sort=sort):
            return ("enum", tuple(member.name for member in sort))
        case IdType(sort=sort, size=size):
            return ("id", sort.__name__, size, tuple(int(v) for v in kind.values()))
        case OptionType(inner=inner):
            return ("optional", structure(inner))
        case SetType(item=item):
            return ("set", structure(item))
        case SeqType(item=item, length=length) | ColumnsType(item=item, length=length):
            return ("sequence", structure(item), length)
        case MapType(key=key, value=value):
            return ("map", structure(key), structure(value))
        case TupleType(parts=parts):
            return ("tuple", tuple(map(structure, parts)))
        case BagType(item=item, size=size):
            return ("records", structure(item), size)
        case RecordType(fields=fields):
            return ("record", tuple((name, structure(inner)) for name, inner in fields))
    raise AssertionError(f"no structure of {kind}")


def observe(sides: tuple[Side, Side], view: str | None, progress: Progress) -> Observation:
    """Numbers the states of both sides by what is compared.

    view: the name of a function of the state in one of the models' modules (or in both); none: everything, or, where
    the states are of different types, the fields that both have. Raises `Failure` where there is nothing to compare.
    """
    a, b = sides
    if view is not None:
        keys = [_viewed(side, _view_of(side, sides, view), progress) for side in sides]
        numbers: dict[object, int] = {}
        first, second = (np.array([numbers.setdefault(k, len(numbers)) for k in one], np.int64) for one in keys)
        return Observation(f"the view {view}", False, (first, second))
    if structure(a.bound.type) == structure(b.bound.type):
        return Observation(EVERYTHING, True, _numbered(a.graph.rows, b.graph.rows))
    theirs = dict(b.bound.type.fields)
    same = [n for n, t in a.bound.type.fields if n in theirs and structure(theirs[n]) == structure(t)]
    if not same:
        raise Failure(Exit.USAGE, "the states have no field in common; name a function of the state with --view")
    others = [n for n in dict.fromkeys(n for side in sides for n, _ in side.bound.type.fields) if n not in same]
    words = f"the fields {', '.join(same)}, not {', '.join(others)}"
    return Observation(words, False, _numbered(_of_fields(a, same), _of_fields(b, same)))


def _of_fields(side: Side, names: list[str]) -> Numbers:
    """The scalars of some fields, a row for each state."""
    paths = [leaf.path for leaf in side.lowered.leaves]
    by_path = columns(side.graph.rows, side.graph.kernel.layout, paths)
    chosen = [p for name in names for p in sorted(paths) if re.match(rf"{re.escape(name)}(?!\w)", p)]
    rows: Numbers = np.stack([by_path[p].astype(np.int64) for p in chosen], axis=1)
    return rows


def _numbered(first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    """Equal rows by equal numbers."""
    _, numbers = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    flat = numbers.reshape(-1).astype(np.int64)
    return flat[: len(first)], flat[len(first) :]


def _view_of(side: Side, sides: tuple[Side, Side], name: str) -> Callable[..., Any]:
    """The function of this name in the side's own module, else in the other's."""
    for one in (side, *sides):
        model = one.bound.model
        for module in (model.module, model.state.__module__):
            function: Callable[..., Any] | None = getattr(sys.modules[module], name, None)
            if callable(function):
                return function
    raise Failure(Exit.USAGE, f"neither model has a function {name}")


def _viewed(side: Side, view: Callable[..., Any], progress: Progress) -> list[object]:
    """The value of a view in each state, by plain Python."""
    more = [side.bound.config] if len(inspect.signature(view).parameters) > 1 else []
    values: list[object] = []
    for number in range(side.graph.count):
        if number % 4096 == 0:
            progress.proof(f"the view of {number:,} of {side.graph.count:,} states")
        try:
            values.append(comparable_data(view(side.graph.state(number), *more)))
        except Exception as error:
            name = getattr(view, "__name__", "the view")
            raise Failure(Exit.MODEL, f"{name} raised {type(error).__name__}: {error}") from None
    return values


def comparable_data(value: Any) -> object:
    """A value as plain data, equal for equal values of classes that are written twice."""
    if isinstance(value, Enum):
        return ("enum", value.name)
    if isinstance(value, bool) or value is None:
        return ("value", value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, frozenset):
        return frozenset(comparable_data(v) for v in value)
    if isinstance(value, tuple):
        return tuple(comparable_data(v) for v in value)
    if isinstance(value, Map):
        return ("map", tuple((comparable_data(k), comparable_data(v)) for k, v in map_entries(value)))
    if hasattr(value, "__dataclass_fields__"):
        return ("record", tuple((n, comparable_data(getattr(value, n))) for n in value.__dataclass_fields__))
    return value
