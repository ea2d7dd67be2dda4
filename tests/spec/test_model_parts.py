"""A model made of several modules: everything they declare belongs to it, and nothing in them may be hidden."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from reassure.spec.language.vocabulary import LanguageError, Model

PRELUDE = """
from dataclasses import dataclass
from reassure import Model, action, initial, invariant, replace
"""
STATE = """
@dataclass(frozen=True)
class Config: ...
@dataclass(frozen=True)
class State:
    on: bool
@initial
def off(c: Config) -> State:
    return State(False)
"""
STEPS = """
from part_state import Config, State
@action(who="clock")
def toggle(s: State) -> State:
    return replace(s, on=not s.on)
"""
CLAIMS = """
from part_state import Config, State
@invariant
def never_on(s: State) -> bool:
    return not s.on
"""


def made(name: str, text: str) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    exec(PRELUDE + text, vars(module))
    return module


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    for name in [n for n in sys.modules if n.startswith("part_")]:
        del sys.modules[name]


def assembled(claims: str) -> Model:
    state = made("part_state", STATE)
    made("part_steps", STEPS)
    made("part_claims", claims)
    made("part_model", "")
    parts = ("part_state", "part_steps", "part_claims")
    return Model.of("part_model", parts=parts, state=state.State, config=state.Config)


def test_everything_that_the_parts_declare_belongs_to_the_model() -> None:
    model = assembled(CLAIMS)
    assert [d.name for d in model.declarations()] == ["off", "toggle", "never_on"]
    assert (model.name, model.module) == ("part_model", "part_model")


def test_nothing_is_hidden_in_a_part() -> None:
    with pytest.raises(LanguageError, match=r"never_on of line .* is hidden by another definition"):
        assembled(CLAIMS + "\ndef never_on() -> None: ...\n")
    with pytest.raises(LanguageError, match=r"never_on of line .* that name: rename one$"):
        assembled(CLAIMS + "\ndef never_on() -> None: ...\n")


def test_nothing_is_declared_by_half_in_a_part() -> None:
    with pytest.raises(LanguageError, match="sometime is not declared"):
        assembled(CLAIMS + "\nfrom reassure import leads_to\n@leads_to\ndef sometime(s: State) -> bool: ...\n")
