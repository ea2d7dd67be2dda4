"""A model with a property of each kind, as a file: it counts to three, and back from two."""

from __future__ import annotations

COUNTER = '''
from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, cover, initial, invariant, leads_to, replace, require


@dataclass(frozen=True)
class Config:
    most: Annotated[int, Range(1, 4)] = 2


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)] = 0


@initial
def start() -> State:
    return State()


@action(who="clock", fair="weak")
def up(s: State, c: Config) -> State:
    require(s.n < c.most)
    return replace(s, n=s.n + 1)


@action(who="clock")
def down(s: State) -> State:
    require(s.n == 2)
    return replace(s, n=1)


@invariant
def small(s: State) -> bool:
    """It must not grow beyond two."""
    return s.n <= 2


@invariant
def tiny(s: State) -> bool:
    return s.n <= 1


def top(s: State) -> bool:
    return s.n == 3


@leads_to(top)
def gets_there(s: State) -> bool:
    return s.n == 0


def parity(s: State) -> int:
    return s.n % 2


@cover
def one(s: State) -> bool:
    return s.n == 1


MODEL = Model.of(__name__, state=State, config=Config)
'''

BY_TWO = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, invariant, replace

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)]

@initial
def zero() -> State:
    return State(0)

@action(who="a")
def add(s: State) -> State:
    return replace(s, n=s.n + 2)

@invariant
def small(s: State) -> bool:
    return s.n < 2

MODEL = Model.of(__name__, state=State, config=Config)
"""
"""It counts by twos, and leaves its bound."""
