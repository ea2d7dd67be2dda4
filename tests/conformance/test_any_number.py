"""Models for any number == plain Python where there are so many: nodes, and formulas, which may admit more."""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import z3

from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.request.model_loader import names
from reassure.spec.frontend.any_number import free_numbers
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.language.types import BoolType, EnumType, IdType, IntType, SeqType, SetType, Type
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.any_number import REFUSED, bound_to, compare_steps, difference, of_construct, system_of
from tests.helpers.constructs import CONSTRUCTS
from tests.helpers.drawn_states import drawn, perturbed, reachable
from tests.helpers.model_text import module


def agreement(system: System, bound: BoundModel, rng: random.Random, states: int) -> tuple[int, int]:
    """Steps and conditions that were compared in drawn states, until there are enough; none differs."""
    steps = conditions = 0
    for _ in range(states):
        state = drawn(bound.type, rng)
        steps += compare_steps(system, bound, [state], 4)
        found, compared = difference(system, bound, state, 1)
        assert found is None
        conditions += compared
        if steps >= 4 and conditions >= 40:
            break
    return steps, conditions


@pytest.mark.parametrize("name", CONSTRUCTS, ids=[n.split(" |")[0].replace(" ", "") for n in CONSTRUCTS])
def test_construct(name: str, tmp_path: Path) -> None:
    bound, rng = of_construct(name, tmp_path), random.Random(name)
    if name in REFUSED:
        with pytest.raises(SubsetError, match="any number"):
            system_of(bound)
        return
    system = system_of(bound)
    steps, conditions = agreement(system, bound, rng, 60)
    assert steps >= 1 and conditions >= 1


OF_TUPLES = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxSize, Model, Range

class Server(Id, size="servers"): ...

class Role(Enum):
    FOLLOWER = "follower"
    LEADER = "leader"

@dataclass(frozen=True)
class Config:
    servers: Annotated[int, Range(2, 6)] = 3

@dataclass(frozen=True)
class Mail:
    to: Server
    stamp: tuple[Annotated[int, Range(0, 2)], Server]

@dataclass(frozen=True)
class State:
    pairs: Map[Server, tuple[Server, bool]]
    two: tuple[Server, Server]
    vote: tuple[Annotated[int, Range(0, 2)], Server]
    held: tuple[Role, Server] | None = None
    sent: Annotated[frozenset[Mail], MaxSize(2)] = frozenset()

@initial
def start(c: Config, x: Server, y: Server) -> State:
    return State(pairs=fill(Server, c, (x, False)), two=(x, y), vote=(0, y))

@action(who="x")
def act(BODY

@invariant
def sure(s: State) -> bool:
    return s.held is None or s.pairs[s.held[1]] == (s.two[0], True)
"""
TUPLES = (
    "s: State, x: Server, y: Server) -> State:\n    who, on = s.pairs[x]\n    return replace(s, pairs=s.pairs.put(who, (y, not on)))",
    "s: State, c: Config) -> State:\n    return replace(s, pairs=Map({x: (x, s.pairs[x][1]) for x in every(Server, c)}))",
    "s: State, c: Config) -> State:\n    require(s.two == (s.vote[1], s.two[1]))\n    return s",
    "s: State, x: Server) -> State:\n    require(s.two != (x, x))\n    return replace(s, two=(s.two[1], x) if s.pairs[x][1] else s.two)",
    "s: State, x: Server) -> State:\n    require(s.held != (Role.LEADER, x))\n    return replace(s, held=(Role.LEADER, x), vote=(s.vote[0] + 1, x))",
    "s: State, p: tuple[Server, Server]) -> State:\n    require(p != s.two)\n    return replace(s, two=p, held=None)",
    "s: State, x: Server) -> State:\n    return replace(s, sent=s.sent | {Mail(x, s.vote)})",
)


@pytest.mark.parametrize("body", TUPLES, ids=map(str, range(len(TUPLES))))
def test_tuples(body: str, tmp_path: Path) -> None:
    made = module("", tmp_path, prelude=OF_TUPLES.replace("BODY", body))
    bound, rng = BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)), random.Random(body)
    assert free_numbers(bound).free == {"servers"}
    system = system_of(bound)
    steps, conditions = agreement(system, bound, rng, 20)
    assert steps >= 4 and conditions >= 40


MODELS = [
    ("core", ["brokers=3"]),
    ("core", ["brokers=4", "min_isr=1"]),
    ("two_phase_commit", ["managers=2"]),
    ("two_phase_commit", ["managers=3"]),
    ("kraft", ["brokers=2"]),
    pytest.param("kraft", ["brokers=3", "unclean=off"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "pairs"), MODELS)
def test_model(name: str, pairs: list[str]) -> None:
    bound, rng = bound_to(name, *pairs), random.Random(1)
    system = system_of(bound)
    states = reachable(bound, rng, 16, {a.name for a in bound.model.actions})
    states += [perturbed(bound, state, rng) for state in states]
    assert compare_steps(system, bound, states, 6) > 20
    for state in states[::16] if name == "kraft" else states[::8]:
        assert difference(system, bound, state, 2, 6)[0] is None


FAULTS = {
    "_truth": ("not", "and", "or", "lt", "eq", "member", "ite"),
    "_member": ("union", "inter", "minus", "single", "those", "const", "seq_set", "ite", "var"),
    "_value": (
        *("lowest", "highest", "card", "add", "sub", "mul", "floordiv", "mod", "min", "max", "ite", "at", "config"),
        *("seq_first", "seq_get", "seq_len", "const", "var"),
    ),
    **dict.fromkeys(
        ("_listed", "_distinct", "_before"), ("seq_cat", "seq_keep", "seq_sorted", "seq_of", "const", "ite", "var")
    ),
}
"""Operations by the function of `AnyTerms` that translates them: all but `total`, which is taken to be some number."""
TRANSLATED: dict[str, tuple[type[Type], ...]] = {
    "_truth": (BoolType,),
    "_member": (SetType,),
    "_value": (IntType, IdType, EnumType),
    **dict.fromkeys(("_listed", "_distinct", "_before"), (SeqType,)),
}
"""The types of the nodes that a function translates."""


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[BoundModel, System]]:
    """The constructs' models, by name."""
    folder = tmp_path_factory.mktemp("constructs")
    found = {name: of_construct(name, folder) for name in CONSTRUCTS if name not in REFUSED}
    return {name: (bound, system_of(bound)) for name, bound in found.items()}


def has(system: System, function: str, operation: str) -> bool:
    """Whether the actions have an operation that a function of `AnyTerms` translates."""
    roots = [node for move in system.moves for node in (move.taken, *move.after.values())]
    return any(n.op == operation and isinstance(n.type, TRANSLATED[function]) for n in arguments_first(roots))


@pytest.mark.parametrize(("function", "operation"), [(f, op) for f, ops in FAULTS.items() for op in ops])
def test_a_fault_in_a_translation_is_found(
    function: str,
    operation: str,
    systems: dict[str, tuple[BoundModel, System]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = getattr(AnyTerms, function)

    def wrong(self: AnyTerms, node: Any, *rest: Any) -> Any:
        term = right(self, node, *rest)
        return another(self, node, term) if node.op == operation else term

    monkeypatch.setattr(AnyTerms, function, wrong)
    for bound, system in (both for both in systems.values() if has(both[1], function, operation)):
        rng = random.Random(1)
        if any(difference(system, bound, drawn(bound.type, rng), 1)[0] is not None for _ in range(12)):
            return
    pytest.fail(f"a wrong {operation} changes nothing in the tables")


def another(terms: AnyTerms, node: Any, term: Any) -> Any:
    """Another value of the same sort."""
    if isinstance(term, z3.BoolRef):
        return z3.Not(term)
    if isinstance(term, z3.ArithRef):
        return term + 1
    first, second = (terms.member_named(i, node.type) for i in (0, 1))
    return z3.If(term == first, second, first)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_model_agrees_or_is_refused(name: str) -> None:
    bound, rng = bound_to(name), random.Random(1)
    if not free_numbers(bound).free:
        return
    try:
        system = system_of(bound)
    except SubsetError as refused:
        assert refused.refusals
        return
    states = reachable(bound, rng, 8, {a.name for a in bound.model.actions})
    assert compare_steps(system, bound, states, 4) > 0
