"""A small model with a mutant of every fate."""

TOKENS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Model, Range, action, cover, initial, invariant, replace, require

class Token(Id, size="tokens", first=1): ...
NONE: frozenset[Token] = frozenset()

@dataclass(frozen=True)
class Config:
    tokens: Annotated[int, Range(1, 3)] = 2

@dataclass(frozen=True)
class Bag:
    value: Annotated[int, Range(0, 3)]
    left: frozenset[Token]

@initial
def begin(left: frozenset[Token]) -> Bag:
    require(left == NONE)
    return Bag(0, left)

def is_small(s: Bag) -> bool:
    return s.value < 1

@action(who="anybody")
def up(s: Bag, token: Token) -> Bag:
    require(is_small(s) and token not in s.left)
    return replace(s, value=s.value + 1, left=s.left | {token})

@action(who="anybody")
def take(s: Bag) -> Bag:
    require(s.left != NONE)
    first = min(s.left)
    return replace(s, value=0, left=s.left - {first})

@invariant
def value_is_small(s: Bag) -> bool:
    return is_small(s) or s.value == 1

@invariant
def is_no_set_of_three(s: Bag) -> bool:
    return len(s.left) < 3

@cover
def has_a_token(s: Bag) -> bool:
    return s.left != NONE

MODEL = Model.of(__name__, state=Bag, config=Config)
"""

LIVE_TOKENS = (
    TOKENS.replace('@action(who="anybody")\ndef take', '@action(who="anybody", fair="weak")\ndef take')
    .replace(
        "@cover",
        """def has_none(s: Bag) -> bool:
    return s.left == NONE

@leads_to(has_none)
def the_bag_empties(s: Bag) -> bool:
    return s.left != NONE

@cover""",
    )
    .replace("invariant, replace", "invariant, leads_to, replace")
)
"""With a property of whole runs."""
