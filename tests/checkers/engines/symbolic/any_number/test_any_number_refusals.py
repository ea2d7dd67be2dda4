"""Models that the prover for any number refuses: each names the construct and its place."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.introspection import SubsetError
from tests.helpers import model_text
from tests.helpers.any_number import proof

REFUSED = """
@action(who="tester")
def act(s: State, c: Config) -> State:
    require(any(a != b and s.score[a] == s.score[b] for a in s.alive for b in s.alive))
    return s

@invariant
def fine(s: State) -> bool:
    return s.leader is None
"""


def test_what_has_no_translation_is_refused_with_its_place(tmp_path: Path) -> None:
    path = model_text.file(REFUSED, tmp_path)
    with pytest.raises(Failure, match="1 construct without a translation for any number") as refused:
        proof(path)
    assert refused.value.code is Exit.MODEL
    assert re.search(r"model\.py:\d+:\d+: this comprehension", str(refused.value))
    assert (
        "this comprehension or loop over Node, of which there may be any number: write any, all, sum or "
        "`frozenset(x for x in s if ...)` over one set each, as `any(any(...) for x in s)`, of what cannot fail; "
        "or --set a number of them"
    ) in str(refused.value)


@pytest.mark.parametrize(
    ("refused", "written"),
    [
        ("any(a != b for a in s.alive for b in s.alive)", "any(any(a != b for b in s.alive) for a in s.alive)"),
        ("sum(1 for a in s.alive for b in s.alive) > 1", "sum(sum(1 for b in s.alive) for a in s.alive) > 1"),
        (
            "frozenset(a for a in s.alive for b in s.alive if a != b) != NOBODY",
            "frozenset(a for a in s.alive if any(a != b for b in s.alive)) != NOBODY",
        ),
        ("any(a == s.order[0] for a in s.alive)", "any(a in s.order for a in s.alive)"),
    ],
)
def test_what_to_write_instead_is_translated(refused: str, written: str, tmp_path: Path) -> None:
    for number, condition in enumerate((refused, written)):
        (folder := tmp_path / str(number)).mkdir()
        text = REFUSED.replace("any(a != b and s.score[a] == s.score[b] for a in s.alive for b in s.alive)", condition)
        bound = prepare(model_text.file(text, folder), []).bound
        with nullcontext() if condition is written else pytest.raises(SubsetError, match="this comprehension or loop"):
            lower_for_any_number(bound, free_numbers(bound))


MAPS = """
@action(who="tester")
def act(s: State, votes: Map[Node, Map[Node, bool]]) -> State:
    return s

@invariant
def fine(s: State) -> bool:
    return s.leader is None
"""


@pytest.mark.parametrize(
    ("state", "where"), [("Colour", "parameter votes"), ("Map[Node, bool]", r"the state of `start`")]
)
def test_maps_of_maps_are_refused_with_their_place(state: str, where: str, tmp_path: Path) -> None:
    prelude = model_text.PRELUDE.replace("score: Map[Node, Colour]", f"score: Map[Node, {state}]")
    value = "Colour.RED" if state == "Colour" else "fill(Node, c, True)"
    prelude = prelude.replace("fill(Node, c, Colour.RED)", f"fill(Node, c, {value})")
    text = MAPS.replace(", votes: Map[Node, Map[Node, bool]]", "") if "state" in where else MAPS
    path = model_text.file(text, tmp_path, prelude)
    with pytest.raises(Failure, match=rf"model\.py:\d+:1: {where}: a map from Node to maps from Node"):
        proof(path)


BAGS = """
@dataclass(frozen=True)
class Sheaf:
    inside: Annotated[frozenset[Inner], MaxSize(2)]

Sheaves = Annotated[frozenset[Sheaf], MaxSize(2)]

@action(who="tester")
def act(s: State, sheaf: PARAMETER) -> State:
    return s

@invariant
def fine(s: State) -> bool:
    return s.leader is None
"""


@pytest.mark.parametrize(
    ("state", "parameter", "reason"),
    [
        ("frozenset[Message]", "Sheaf", "parameter sheaf: a set of records as a parameter"),
        ("frozenset[Sheaf]", "bool", "the state of `start`: a set of .*Sheaf.*, which has sets of records itself"),
    ],
)
def test_sets_of_records_of_sets_and_as_parameters_are_refused(
    state: str, parameter: str, reason: str, tmp_path: Path
) -> None:
    records, rules = BAGS.replace("PARAMETER", parameter).split("@action", 1)
    rest = model_text.PRELUDE.removeprefix(model_text.BEFORE_STATE).replace("frozenset[Message]", state)
    path = model_text.file(f"{records}\n{rest}\n@action{rules}", tmp_path, model_text.BEFORE_STATE)
    with pytest.raises(Failure, match=rf"model\.py:\d+:1: {reason}"):
        proof(path, "flag=False")


LETTERS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Map, MaxSize, Model, Range, action, fill, initial, invariant

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 4)] = 2

@dataclass(frozen=True)
class Letter:
    urgent: bool

@dataclass(frozen=True)
class Desk:
    letters: Map[Node, Annotated[frozenset[Letter], MaxSize(1)]]

@dataclass(frozen=True)
class State:
    desk: Desk

@initial
def start(c: Config) -> State:
    return State(Desk(fill(Node, c, frozenset())))

@action(who="tester")
def act(s: State) -> State:
    return s

@invariant
def fine(s: State) -> bool:
    return s.desk == s.desk

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_maps_to_sets_of_records_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.py").write_text(LETTERS, encoding="utf-8")
    with pytest.raises(
        Failure, match="the state of `start`: a map from Node to set of at most 1 Letter, which has sets"
    ):
        proof(str(tmp_path / "letters.py"))


def test_what_has_no_translation_is_refused(tmp_path: Path) -> None:
    text = MAPS.replace(", votes: Map[Node, Map[Node, bool]]", "").replace(
        "    return s\n", "    require(next((b for b in (True,)), False))\n    return s\n"
    )
    with pytest.raises(Failure, match="model: seq_first has no translation for any number"):
        proof(model_text.file(text, tmp_path))
