"""The text of a small model: a lease that is given to one client at a time."""

from __future__ import annotations

LEASE = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Model, Range, action, initial, invariant, replace, require, terminal

class Client(Id, size="clients"): ...

@dataclass(frozen=True)
class Config:
    clients: Annotated[int, Range(1, 3)] = 2

@dataclass(frozen=True)
class State:
    holder: Client | None
    given: Annotated[int, Range(0, 2)]

@initial
def free(c: Config) -> State:
    return State(holder=None, given=0)

@action(who="server")
def grant(s: State, client: Client) -> State:
    require(s.holder is None and s.given < 2)
    return replace(s, holder=client, given=s.given + 1)

@action(who="client")
def give_back(s: State) -> State:
    require(s.holder is not None)
    return replace(s, holder=None)

@invariant
def some_are_left(s: State) -> bool:
    return s.given <= 2

@terminal
def over(s: State) -> bool:
    return s.holder is None

MODEL = Model.of(__name__, state=State, config=Config)
"""
