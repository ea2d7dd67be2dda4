"""A random model under comparison, and what plain Python says of it, one evaluation at a time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import load_model
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    DomainError,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map
from reassure.spec.language.vocabulary import Action, GuardRefused, LanguageError
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError
from tests.helpers.runs import bind

STATES = 400
"""States of a model that are searched: as many whole levels as there are of so many states."""
STEPS = 6_000
LEVELS = 3_000
"""Levels of which a state does not count: a long chain is searched to its end."""


NO_STATE = "no initial state"


@dataclass(frozen=True)
class Difference:
    """check: which comparison. kind: what sort of difference, the same while a model shrinks. detail: this one."""

    check: str
    kind: str
    detail: str = field(compare=False)


class Refused(Exception):
    """The model is outside the language; not a difference."""


@dataclass(eq=False)
class Subject:
    """A model that is compared: plain Python's part of it is found once."""

    bound: BoundModel
    lowered: LoweredModel
    sha: str
    seed: int
    path: Path
    levels: list[list[Any]] = field(default_factory=list)
    complete: bool = False
    error: ModelError | None = None
    """What plain Python raises on the levels searched."""

    @property
    def depth(self) -> int:
        return max(1, len(self.levels))

    @property
    def spared(self) -> int:
        """States that do not count, for the levels that there are."""
        return min(len(self.levels), LEVELS)

    @property
    def states(self) -> list[Any]:
        return [s for level in self.levels for s in level]


def loaded(path: Path, seed: int) -> Subject:
    """A model from its file. Raises `Refused` if the language refuses it; anything else it raises is a difference."""
    try:
        model = load_model(str(path))
        bound, lowered = bind(model, {})
    except (SubsetError, DomainError, LanguageError) as error:
        raise Refused(str(error)) from None
    subject = Subject(bound, lowered, digest(model), seed, path)
    _explore(subject)
    if not subject.levels and subject.error is None:
        raise Refused(NO_STATE)
    return subject


def _explore(subject: Subject) -> None:
    """Whole levels of plain Python, as many as are of few states and steps."""
    bound = subject.bound
    try:
        frontier = list(dict.fromkeys(s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)))
        seen, steps = set(frontier), 0
        while frontier and len(seen) <= STATES + subject.spared and steps <= STEPS + subject.spared:
            subject.levels.append(frontier)
            after: dict[Any, None] = {}
            for state in frontier:
                for step in bound.steps(state):
                    steps += 1
                    if not isinstance(step.after, Clipped) and step.after not in seen:
                        after[step.after] = None
                if steps > 4 * STEPS:
                    return
            seen.update(after)
            frontier = list(after)
        subject.complete = not frontier
    except ModelError as error:
        subject.error = error


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
    if kind.count > 1000:
        low, high = getattr(kind, "low", 0), getattr(kind, "high", 0)
        return rng.choice((low, high, rng.randint(low, high), min(max(0, low), high), high - 1))
    return rng.choice(list(kind.values()))


@dataclass
class Outcomes:
    """What one action does in one state: outcomes, whether one is clipped, and what raises, if anything."""

    after: set[Any] = field(default_factory=set)
    clipped: bool = False
    raised: str = ""


def outcomes(bound: BoundModel, action: Action, state: Any) -> Outcomes:
    """Every parameter on its own, so that one that raises does not hide the others."""
    found = Outcomes()
    callee = next(c for a, c in bound._actions if a is action)
    choices = []
    for name, kind in callee.free:
        if name in callee.drawn:
            try:
                choices.append(list(callee.drawn[name](state)))
            except Exception as error:
                found.raised = f"{type(error).__name__}: {error}"
                return found
        else:
            choices.append(list(kind.values()))
    for chosen in product(*choices):
        params = dict(zip([n for n, _ in callee.free], chosen, strict=True))
        try:
            after = bound._checked(action.name, params, bound._run(action.name, callee, (state,), params))
        except GuardRefused:
            continue
        except ModelError as error:
            found.raised = str(error)
            continue
        if isinstance(after, Clipped):
            found.clipped = True
        else:
            found.after.add(after)
    return found


def error_kind(message: str) -> str:
    """Which exception a `ModelError` tells of."""
    found = re.search(r"raised (\w+)", message) or re.search(r"^(\w+Error)", message)
    return found[1] if found else "a wrong value"


def truth(call: Callable[[], bool]) -> bool | None:
    """What a claim says; None if it raises."""
    try:
        return call()
    except ModelError:
        return None
