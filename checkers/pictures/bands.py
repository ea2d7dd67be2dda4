"""What each id is along a trace: the fields that hold it, state by state; and the fields that a picture folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

from reassure.checkers.pictures.actors import Cast, Place, members_in, places
from reassure.checkers.pictures.marks import Names
from reassure.checkers.request.describe_model import field_texts
from reassure.checkers.traces.explain import claim_of
from reassure.checkers.traces.format_value import plain
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.language.types import Range
from reassure.spec.language.values import Id
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

MOST_BANDS = 6
"""Bands beside a lifeline; of more, those with the fewest ids are left out."""


@dataclass(frozen=True)
class Band:
    """A field, or a value of a map, that holds ids.

    single: it holds one id at most. holders: for each state the lifelines that it holds, by id.
    """

    name: str
    single: bool
    holders: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Bands:
    """The bands to draw; those with the same ids in every state as one that is drawn, and that one; those that have no
    room; and the paths, without keys, of the fields to fold: ghosts, and counters that the configuration bounds.
    """

    drawn: list[Band]
    alike: dict[str, str]
    crowded: list[str]
    folded: frozenset[str]


def states_along(trace: Trace) -> list[Any]:
    """The states of a trace; of a loop, the one that it comes back to is last once more."""
    back = [trace.states[trace.loop]] if trace.closing is not None and trace.loop is not None else []
    return [*trace.states, *back]


def bands_of(trace: Trace, bound: BoundModel) -> Bands:
    """The bands of a trace: fields that change in it, or that the property reads."""
    states, read = states_along(trace), names_read(trace, bound)
    folded = frozenset(shape for shape in _folded(states, bound) if shape.rpartition(".")[2] not in read)
    names = Names(place for state in states for place in places(state))
    held: dict[str, list[set[str]]] = {}
    about: dict[str, tuple[bool, bool, str]] = {}
    cast = Cast(bound)
    for number, state in enumerate(states):
        for place in places(state):
            for name, single, ids in _held(place, cast, names):
                held.setdefault(name, [set() for _ in states])[number] |= ids
                once = single and about.get(name, (True,))[0]
                about[name] = once, place.leaf in read, place.shape
    bands: dict[str, Band] = {}
    alike: dict[str, str] = {}
    for name, along in held.items():
        single, is_read, shape = about[name]
        band = Band(name, single, tuple(map(frozenset, along)))
        changing = len(set(band.holders)) > 1
        if shape in folded or not any(band.holders) or not (changing or is_read):
            continue
        same = next((other for other in bands.values() if other.holders == band.holders), None)
        if same is None:
            bands[name] = band
        else:
            alike[name] = same.name
    order = sorted(bands.values(), key=lambda b: (not about[b.name][1], not b.single, -sum(map(len, b.holders))))
    kept = {band.name for band in order[:MOST_BANDS]}
    return Bands(
        [band for band in bands.values() if band.name in kept],
        {name: same for name, same in alike.items() if same in kept},
        [band.name for band in bands.values() if band.name not in kept],
        folded,
    )


def _held(place: Place, cast: Cast, names: Names) -> Iterator[tuple[str, bool, set[str]]]:
    """The name of each band that a place belongs to, whether it holds one id, and the lifelines that it holds."""
    owner = next((key for key in reversed(place.keys) if cast.of(key) is not None), None)
    line = cast.of(owner)
    value = place.value
    if line is not None and isinstance(value, bool):
        yield names.of(place, owner), False, {line.id} if value else set()
    elif line is not None and isinstance(value, Enum):
        for member in type(value):
            yield f"{names.of(place, owner)} = {plain(member)}", False, {line.id} if value is member else set()
    elif value is None or members_in(value) or value in (frozenset(), ()):
        ids = {one.id for member in members_in(value) if (one := cast.of(member)) is not None}
        yield names.of(place), value is None or isinstance(value, Id), ids


def names_read(trace: Trace, bound: BoundModel) -> frozenset[str]:
    """The names of the fields that the trace's property may read, itself or by functions of its module."""
    claim = claim_of(trace, bound)
    found: set[str] = set()
    waiting = [claim.function, claim.goal] if claim is not None else []
    seen: set[Any] = set()
    while waiting:
        function = waiting.pop()
        function = getattr(function, "function", function)
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        for code in _codes(function.__code__):
            found |= set(code.co_names)
            waiting += [function.__globals__.get(name) for name in code.co_names]
    return frozenset(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the lambdas and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _folded(states: list[Any], bound: BoundModel) -> Iterator[str]:
    """The ghosts of a model, and its counters: numbers from 0 to a setting that only rise, one by one."""
    for path, record in _records(states[0], ""):
        texts, hints = field_texts(record), cached_hints(record)
        for field in fields(record):
            shape = f"{path}{field.name}"
            bounds = next((m for m in getattr(hints[field.name], "__metadata__", ()) if isinstance(m, Range)), None)
            if texts.get(field.name, "").startswith("Ghost"):
                yield shape
            elif bounds is not None and isinstance(bounds.high, str) and bounds.high in dir(bound.config):
                values = [[p.value for p in places(state) if p.shape == shape] for state in states]
                if bounds.low == 0 and values[0] == [0] and _counts([one[0] for one in values if len(one) == 1]):
                    yield shape


def _counts(values: list[Any]) -> bool:
    """Whether numbers rise by one at most."""
    return all(after - before in (0, 1) for before, after in pairwise(values))


def _records(value: Any, path: str) -> Iterator[tuple[str, type]]:
    """The classes of the records of a state that stand outside of maps and sets, each with its path and a dot."""
    yield path, type(value)
    for field in fields(value):
        inner = getattr(value, field.name)
        if hasattr(inner, "__dataclass_fields__"):
            yield from _records(inner, f"{path}{field.name}.")
