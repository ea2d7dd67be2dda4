"""Comparisons of numbers of members are exact: possible for any number if some sets of a few members satisfy them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import z3

from reassure.checkers.engines.symbolic.any_number.instance import Instance
from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.any_number.terms import POSITIVE, AnyTerms
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import IdType
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text
from tests.helpers.any_number import proof, statuses, system_of

STATE = """
@dataclass(frozen=True)
class State:
    a: Nodes
    b: Nodes
    x: Node

@initial
def start(c: Config, x: Node) -> State:
    return State(NOBODY, NOBODY, x)

@action(who="tester")
def act(s: State, a: Nodes, b: Nodes) -> State:
    return replace(s, a=a, b=b)
"""
TEXT = model_text.BEFORE_STATE + STATE
MOST = 3
"""Members of each region of the two sets."""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    made = model_text.module("", tmp_path_factory.mktemp("sizes"), prelude=TEXT)
    return system_of(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))


def worlds(sort: type) -> Iterator[Instance]:
    """Each pair of sets with a member, but for the names of the members."""
    for both, a, b, neither in product(range(MOST + 1), range(MOST + 1), range(MOST + 1), range(2)):
        ends = [both, both + a, both + a + b, both + a + b + neither]
        in_a, in_b = (1 << ends[1]) - 1, (1 << both) - 1 | (1 << ends[2]) - (1 << ends[1])
        for x in {first for first, last in zip([0, *ends[:-1]], ends, strict=True) if first < last}:
            yield Instance({sort: ends[3]}, {"a": in_a, "b": in_b, "x": x, "c.nodes": ends[3]})


def drawn_comparison(system: System, rng: random.Random) -> Node:
    """A comparison of sums of numbers of members, with two conditions on the sets."""
    g, kinds = system.graph, dict(system.scalars)
    a, b, x = (g.var(name, kinds[name]) for name in "abx")
    with_x, without_x = g.union(a, g.single(x)), g.minus(b, g.single(x))
    sets = [a, b, g.union(a, b), g.inter(a, b), g.minus(a, b), g.minus(b, a), with_x, without_x]

    def number() -> Node:
        size = g.card(rng.choice(sets))
        return g.op("add", size.type, (size, g.card(rng.choice(sets)))) if rng.random() < 0.5 else size

    def condition() -> Node:
        disjoint = g.eq(g.inter(a, b), g.const(0, a.type))
        one = rng.choice([g.subset(a, b), disjoint, g.member(x, a), g.member(x, b), g.eq(a, b), g.true])
        return g.not_(one) if rng.random() < 0.4 else one

    one, other = number(), number()
    comparison = rng.choice([g.le(one, other), g.eq(one, other)])
    return g.and_(g.not_(comparison) if rng.random() < 0.5 else comparison, condition(), condition())


def possible(system: System, condition: Node) -> bool:
    terms, solver = AnyTerms(system.graph), z3.SimpleSolver()
    solver.add(terms.truth(condition, (), POSITIVE), *terms.facts())
    return bool(solver.check() == z3.sat)


def test_a_comparison_is_possible_if_some_sets_satisfy_it_and_only_then(system: System) -> None:
    rng, answers = random.Random(1), []
    sort = next(kind.sort for name, kind in system.scalars if name == "x" and isinstance(kind, IdType))
    every = list(worlds(sort))
    for _ in range(50):
        condition = drawn_comparison(system, rng)
        answers.append(any(world.holds(condition) for world in every))
        assert possible(system, condition) == answers[-1], condition
        for world in every:
            world.memo.clear()
    assert 10 <= sum(answers) <= 40


CLAIMS = """
@invariant
def larger(s: State) -> bool:
    return (len(s.a) < len(s.b)) == (len(s.a - s.b) < len(s.b - s.a))

@invariant
def counted_once(s: State) -> bool:
    return len(s.a | s.b) + len(s.a & s.b) == len(s.a) + len(s.b)

@invariant
def counted_twice(s: State) -> bool:
    return len(s.a | s.b) == len(s.a) + len(s.b)
"""


def test_what_follows_from_regions_is_proved_and_what_does_not_is_violated(tmp_path: Path) -> None:
    assert statuses(proof(model_text.file(CLAIMS, tmp_path, TEXT))) == {
        "larger": "proved",
        "counted_once": "proved",
        "counted_twice": "violated",
    }
