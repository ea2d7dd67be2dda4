"""States to compare translations on: reachable ones, ones with a part drawn anew, and ones drawn as a whole."""

from __future__ import annotations

import random
from typing import Any

from reassure import replace
from reassure.spec.language.types import BagType, IntType, MapType, OptionType, RecordType, SeqType, SetType, Type
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Clipped


def drawn(kind: Type, rng: random.Random) -> Any:
    """A value of a type, each shape likely."""
    if isinstance(kind, RecordType):
        return kind.cls(*(drawn(t, rng) for _, t in kind.fields))
    if isinstance(kind, MapType):
        return Map((k, drawn(kind.value, rng)) for k in kind.key.values())
    if isinstance(kind, OptionType):
        return None if rng.random() < 0.3 else drawn(kind.inner, rng)
    if isinstance(kind, SetType):
        return frozenset(v for v in kind.item.values() if rng.random() < 0.6)
    if isinstance(kind, SeqType):
        return tuple(drawn(kind.item, rng) for _ in range(rng.randint(0, kind.length)))
    if isinstance(kind, BagType):
        return frozenset(drawn(kind.item, rng) for _ in range(rng.randint(0, kind.size)))
    if isinstance(kind, IntType):
        return rng.randint(kind.low, kind.high)  # there may be too many to list
    return rng.choice(list(kind.values()))


def walk(bound: BoundModel, rng: random.Random, count: int) -> list[Any]:
    """Reachable states, by random walks from the initial ones."""
    starts = [s for _, _, s in bound.initial_states()]
    found, state = [], rng.choice(starts)
    for _ in range(count):
        found.append(state)
        steps = [s.after for s in bound.steps(state) if not isinstance(s.after, Clipped)]
        state = rng.choice(steps) if steps and rng.random() < 0.97 else rng.choice(starts)
    return found


def perturbed(bound: BoundModel, state: Any, rng: random.Random) -> Any:
    """The state with one field, or one field of a record in it, drawn anew: mostly not reachable."""
    name, kind = rng.choice(bound.type.fields)
    if hasattr(kind, "fields") and rng.random() < 0.8:
        inner, inner_kind = rng.choice(kind.fields)
        part = replace(getattr(state, name), **{inner: drawn(inner_kind, rng)})
        return replace(state, **{name: part})
    return replace(state, **{name: drawn(kind, rng)})
