"""Die Hard: measure exactly four gallons with a three-gallon and a five-gallon jug.

A toy with an answer known by hand: 16 reachable states, and the shortest way to four gallons takes six steps.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, initial, invariant, replace


@dataclass(frozen=True)
class Config:
    goal: Annotated[int, Range(0, 5)] = 4
    """Gallons wanted in the big jug."""


@dataclass(frozen=True)
class Jugs:
    small: Annotated[int, Range(0, 3)]
    big: Annotated[int, Range(0, 5)]


@initial
def empty() -> Jugs:
    return Jugs(small=0, big=0)


@action(who="hero")
def fill_small(s: Jugs) -> Jugs:
    return replace(s, small=3)


@action(who="hero")
def fill_big(s: Jugs) -> Jugs:
    return replace(s, big=5)


@action(who="hero")
def empty_small(s: Jugs) -> Jugs:
    return replace(s, small=0)


@action(who="hero")
def empty_big(s: Jugs) -> Jugs:
    return replace(s, big=0)


@action(who="hero")
def small_to_big(s: Jugs) -> Jugs:
    poured = min(s.small, 5 - s.big)
    return replace(s, small=s.small - poured, big=s.big + poured)


@action(who="hero")
def big_to_small(s: Jugs) -> Jugs:
    poured = min(s.big, 3 - s.small)
    return replace(s, small=s.small + poured, big=s.big - poured)


@invariant
def goal_not_reached(s: Jugs, c: Config) -> bool:
    """Its counterexample is the solution of the puzzle."""
    return s.big != c.goal


MODEL = Model.of(__name__, state=Jugs, config=Config)
