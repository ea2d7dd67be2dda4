"""States to compare translations on: reachable ones, ones with a part drawn anew, and ones drawn as a whole."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from reassure import replace
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Clipped


def drawn(kind: Type, rng: random.Random) -> Any:
    """A value of a type, each shape likely."""
    if isinstance(kind, RecordType):
        return kind.made(drawn(t, rng) for _, t in kind.fields)
    if isinstance(kind, MapType):
        return Map((k, drawn(kind.value, rng)) for k in kind.key.values())
    if isinstance(kind, OptionType):
        return None if rng.random() < 0.3 else drawn(kind.inner, rng)
    if isinstance(kind, SetType):
        return frozenset(v for v in kind.item.values() if rng.random() < 0.6)
    if isinstance(kind, SeqType | ColumnsType):
        return tuple(drawn(kind.item, rng) for _ in range(rng.randint(0, kind.length)))
    if isinstance(kind, BagType):
        return frozenset(drawn(kind.item, rng) for _ in range(rng.randint(0, kind.size)))
    if isinstance(kind, IntType):
        return rng.randint(kind.low, kind.high)  # there may be too many to list
    return rng.choice(list(kind.values()))


def reachable(bound: BoundModel, rng: random.Random, count: int, actions: Collection[str]) -> list[Any]:
    """At most so many reachable states: half of them those in which the rarest of these actions can be taken."""
    enabled = searched(bound, rng, min(8 * count, 100 + 4 * count), dict.fromkeys(actions, count // (2 * len(actions))))
    often = Counter(name for names in enabled.values() for name in names)
    never = len(enabled)

    def rarest(state: Any) -> int:
        return min((often[name] for name in enabled[state] if name in actions), default=never)

    by_rarity = sorted(enabled, key=rarest)
    rare, rest = by_rarity[: count // 2], by_rarity[count // 2 :]
    return rare + rng.sample(rest, min(len(rest), count - len(rare)))


def searched(bound: BoundModel, rng: random.Random, count: int, needed: Mapping[str, int]) -> dict[Any, frozenset[str]]:
    """The actions that can be taken in each of some states, found by a search in random order.

    count: of states; up to ten times as many are searched until each action can be taken in as many as `needed` says.
    The next state is one found by the action by which the fewest were: walks would use up what is bounded.
    """
    starts = [s for _, _, s in bound.initial_states()]
    found_by: dict[str, list[Any]] = {"": starts.copy()}
    seen, looked_at = set(starts), Counter[str]()
    enabled: dict[Any, frozenset[str]] = {}
    seldom = {action: times for action, times in needed.items() if times}
    while (len(enabled) < count or (seldom and len(enabled) < 10 * count)) and any(found_by.values()):
        name = min((name for name, states in found_by.items() if states), key=lambda name: looked_at[name])
        looked_at[name] += 1
        state = found_by[name].pop(rng.randrange(len(found_by[name])))
        steps = [s for s in bound.steps(state) if not isinstance(s.after, Clipped)]
        enabled[state] = frozenset(s.action.name for s in steps)
        for action in enabled[state] & seldom.keys():
            seldom[action] -= 1
            if not seldom[action]:
                del seldom[action]
        for step in steps:
            if step.after not in seen:
                seen.add(step.after)
                found_by.setdefault(step.action.name, []).append(step.after)
    return enabled


def perturbed(bound: BoundModel, state: Any, rng: random.Random) -> Any:
    """The state with one field, or one field of a record in it, drawn anew: mostly not reachable."""
    name, kind = rng.choice(bound.type.fields)
    if hasattr(kind, "fields") and rng.random() < 0.8:
        inner, inner_kind = rng.choice(kind.fields)
        part = replace(getattr(state, name), **{inner: drawn(inner_kind, rng)})
        return replace(state, **{name: part})
    return replace(state, **{name: drawn(kind, rng)})
