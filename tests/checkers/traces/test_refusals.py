"""Which guard refuses a step, and the values that it read."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.traces.refusals import EXAMPLES, Attempts, ExplainingModel
from tests.helpers.command import model_file

TEXT = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(1, 60)] = 60

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 60)] = 2
    held: Annotated[int, Range(0, 3)] | None = None
    bag: frozenset[bool] = frozenset()

def spare(s: State, c: Config) -> bool:
    if s.n > 5:
        return True
    return s.n == 0 and c.top > 3

@initial
def start() -> State:
    return State()

@action(who="x")
def unwrap(s: State) -> State:
    held = some(s.held, "nothing is held")
    return replace(s, n=held)

@action(who="x")
def refused(s: State, more: bool) -> State:
    if s.n < 5 and more:
        refuse("too few")
    return replace(s, n=1)

@action(who="x")
def within(s: State) -> State:
    if s.n < 5 and any(k < 1 for k in range(2)) and next((k for k in range(3) if k > 1), 0) == 2:
        refuse()
    return replace(s, n=1)

@action(who="x")
def several(
    s: State, k: Annotated[int, Range(0, 59)]
) -> State:
    require(k < 60)
    require(
        k == 7 or s.n > 3
    )
    return replace(s, n=k)

@action(who="x")
def helped(s: State, c: Config) -> State:
    require(spare(s, c))
    return replace(s, n=1)

@action(who="x")
def each(s: State, c: Config) -> State:
    require(all(x or spare(s, c) for x in every(bool)))
    return replace(s, n=1)

@action(who="x", one=lambda s: s.bag)
def drawn(s: State, one: bool) -> State:
    return replace(s, n=1 if one else 2)

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Attempts]:
    """What each action comes to in the initial state."""
    bound, _ = prepare_plain(model_file(tmp_path_factory.mktemp("models"), TEXT), [])
    (start,) = [state for _, _, state in bound.initial_states()]
    return ExplainingModel(bound).attempts_by_action(start)


def test_a_value_that_is_not_there(attempts: dict[str, Attempts]) -> None:
    (guard,) = attempts["unwrap"].guards
    assert (guard.text, guard.note, guard.count) == ("some(s.held, 'nothing is held')", "nothing is held", 1)
    assert guard.line == 1 + TEXT.splitlines().index('    held = some(s.held, "nothing is held")')
    assert [refusal.values for refusal in guard.examples] == [("s.held = none",)]


def test_a_refusal_under_a_condition(attempts: dict[str, Attempts]) -> None:
    (guard,) = attempts["refused"].guards
    assert (guard.text, guard.count) == ("refuse('too few')", 1)
    assert [(r.params, r.values) for r in guard.examples] == [
        ({"more": True}, ("because true: s.n < 5 and more", "s.n = 2"))
    ]
    assert [step.params for step in attempts["refused"].enabled] == [{"more": False}]


def test_a_refusal_under_a_comprehension(attempts: dict[str, Attempts]) -> None:
    """What a comprehension compares cannot be read outside of it."""
    [guard] = attempts["within"].guards
    condition = "s.n < 5 and any((k < 1 for k in range(2))) and (next((k for k in range(3) if k > 1), 0) == 2)"
    assert guard.examples[0].values == (f"because true: {condition}", "s.n = 2")


def test_many_choices_are_counted_and_the_first_explained(attempts: dict[str, Attempts]) -> None:
    (guard,) = attempts["several"].guards
    assert (guard.text, guard.count, len(guard.examples)) == ("require(k == 7 or s.n > 3)", 59, EXAMPLES)
    assert guard.examples[1].values == ("k = 1", "s.n = 2")
    assert [step.params for step in attempts["several"].enabled] == [{"k": 7}]


def test_a_condition_that_a_function_decides(attempts: dict[str, Attempts]) -> None:
    (guard,) = attempts["helped"].guards
    assert guard.examples[0].values == (
        "spare: false: s.n == 0 and c.top > 3",
        "spare: because false: s.n == 0",
        "spare: s.n = 2",
    )


def test_a_condition_of_all_that_a_function_decides(attempts: dict[str, Attempts]) -> None:
    (guard,) = attempts["each"].guards
    assert guard.examples[0].values[-3:] == (
        "spare: false: s.n == 0 and c.top > 3",
        "spare: because false: s.n == 0",
        "spare: s.n = 2",
    )


def test_a_parameter_without_values(attempts: dict[str, Attempts]) -> None:
    assert attempts["drawn"] == Attempts(undrawn=["one"])


def test_one_step_is_asked_for_its_guard(tmp_path: Path) -> None:
    bound, _ = prepare_plain(model_file(tmp_path, TEXT), [])
    (start,) = [state for _, _, state in bound.initial_states()]
    model = ExplainingModel(bound)
    guard = model.refusal(start, "several", {"k": 9})
    assert guard is not None
    assert (guard.text, guard.examples[0].values) == ("require(k == 7 or s.n > 3)", ("k = 9", "s.n = 2"))
    assert model.refusal(start, "several", {"k": 7}) is None
    outside = model.refusal(start, "drawn", {"one": True})
    assert outside is not None
    assert outside.text == "one is not among the values it is drawn from"
