"""A model of elections, whose terms have a bound of the exploration: fair runs may leave it."""

from __future__ import annotations

from pathlib import Path

TERMS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Config:
    won: Annotated[int, Range(0, 9)] = 9

@dataclass(frozen=True)
class State:
    term: Annotated[int, Range(0, 3, declared=True)]
    led: bool = False

@initial
def start(c: Config) -> State:
    return State(0)

@action(who="server", fair="weak")
def stand(s: State) -> State:
    require(not s.led)
    return replace(s, term=s.term + 1)

@action(who="server", fair="weak")
def win(s: State, c: Config) -> State:
    require(s.term == c.won and not s.led)
    return replace(s, led=True)

def led(s: State) -> bool:
    return s.led

@leads_to(led)
def a_leader_comes(s: State) -> bool:
    return not s.led

@infinitely_often
def there_is_a_leader(s: State) -> bool:
    return s.led

@eventually_always
def a_leader_stays(s: State) -> bool:
    return s.led

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
"""Terms 0 to 3; nobody wins, unless the configuration says in which term: from later ones on nobody does."""


def terms_file(folder: Path) -> str:
    """The file of this model."""
    path = folder / "terms.py"
    path.write_text(TERMS, encoding="utf-8")
    return str(path)
