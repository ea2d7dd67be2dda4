"""The table of operations is complete: each engine has each of them, and what the table says of them is so."""

from __future__ import annotations

import itertools
import random
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT
from reassure.checkers.engines.native.model import emit_nodes
from reassure.checkers.engines.symbolic import sample_evaluator, smt_terms
from reassure.checkers.engines.symbolic.lemma_templates import candidates
from reassure.checkers.engines.symbolic.sample_evaluator import UNSUPPORTED, Sample
from reassure.checkers.engines.symbolic.smt_terms import Terms
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.operations import LEAVES, OPERATIONS, arguments_first, may_hold_together
from reassure.spec.language.types import BoolType, IdType, IntType, RecordType, SeqType, SetType, Type, bits_of
from reassure.spec.language.values import Id
from tests.helpers.constructs import TABLES, bound_model

MADE: dict[str, set[str]] = {}
"""By operation: the constructors of `Graph` that made its nodes."""
DRAWS = 20


def made_by(graph: Graph, op: str, *given: Any) -> Node:
    """`Graph._make`, and a note of its caller."""
    MADE.setdefault(op, set()).add(sys._getframe(1).f_code.co_name)
    return RIGHT(graph, op, *given)


RIGHT = Graph._make


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[LoweredModel]:
    """Every construct, lowered with switches; `MADE` is what that was made by."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "_make", made_by)
        return [lower_model(bound_model(name, folder), switches=True) for name in TABLES]


@pytest.fixture(scope="module")
def by_operation(models: list[LoweredModel]) -> dict[str, list[tuple[Graph, Node]]]:
    """The nodes of all constructs, each with its graph, by operation."""
    nodes: dict[str, list[tuple[Graph, Node]]] = {}
    for model in models:
        for action in model.actions:
            roots = [*action.next_leaves, *(c.condition for c in action.checks), *(c for _, c, _ in action.clips)]
            for node in arguments_first(roots):
                nodes.setdefault(node.op, []).append((model.graph, node))
    return nodes


def test_machine_code_has_each_operation() -> None:
    assert set(emit_nodes.OPERATIONS) - set(LEAVES) == set(OPERATIONS)


def test_z3_has_each_operation() -> None:
    assert set(smt_terms.OPERATIONS) == set(OPERATIONS)


def test_numpy_has_each_operation_or_says_why_not() -> None:
    assert not set(sample_evaluator.OPERATIONS) & set(UNSUPPORTED)
    assert set(sample_evaluator.OPERATIONS) | set(UNSUPPORTED) == set(OPERATIONS)
    assert all(UNSUPPORTED.values())


def test_the_constructs_have_each_operation(by_operation: dict[str, list[tuple[Graph, Node]]]) -> None:
    """On them all engines are compared with plain Python."""
    assert set(by_operation) - set(LEAVES) == set(OPERATIONS)


def is_of(kind: Type, word: str) -> bool:
    """Whether a node of a type is of the kind that a signature names."""
    kinds = {"bool": BoolType, "int": IntType, "slot": IntType, "set": SetType, "seq": SeqType, "record": RecordType}
    if word == "item":
        return not isinstance(kind, SetType | SeqType | RecordType)
    return word == "one" or isinstance(kind, kinds[word])


@pytest.mark.parametrize("name", OPERATIONS)
def test_signature(name: str, by_operation: dict[str, list[tuple[Graph, Node]]]) -> None:
    arguments, result = OPERATIONS[name].signature.split(" -> ")
    for _, node in by_operation[name]:
        several = arguments.endswith("...")
        words = [arguments.removesuffix("...")] * len(node.args) if several else arguments.split(", ")
        assert is_of(node.type, result)
        assert all(is_of(a.type, word) for a, word in zip(node.args, words, strict=True))


@pytest.mark.parametrize("name", OPERATIONS)
def test_rebuilt_by_the_constructor_that_simplifies(
    name: str, by_operation: dict[str, list[tuple[Graph, Node]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    constructors = set(MADE[name])
    MADE[name].clear()
    monkeypatch.setattr(Graph, "_make", made_by)
    for graph, node in by_operation[name]:
        assert OPERATIONS[name].rebuild(graph, node, node.args) is node
    assert MADE[name] == constructors


def drawn(kind: Type, rng: random.Random) -> Any:
    """A constant of a type, as `Node.data` has it."""
    if isinstance(kind, IntType):
        return rng.randint(kind.low, kind.high)
    if isinstance(kind, SeqType):
        return tuple(rng.randrange(kind.item.count) for _ in range(rng.randint(0, kind.length)))
    return bool(rng.randrange(2)) if isinstance(kind, BoolType) else rng.randrange(kind.count)


def number(value: Any, kind: Type) -> int:
    """A constant as the engines have it."""
    if isinstance(kind, SeqType):
        return sum(v << (i * bits_of(kind.item)) for i, v in enumerate(value)) | len(value) << SEQ_LENGTH_AT
    return int(value)


@pytest.mark.parametrize("name", [name for name, operation in OPERATIONS.items() if operation.fold])
def test_folded_as_engines_compute(name: str, by_operation: dict[str, list[tuple[Graph, Node]]]) -> None:
    """What a graph makes of constants is what Z3 and numpy make of them."""
    fold, rng, compared, solver = OPERATIONS[name].fold, random.Random(name), 0, z3.Solver()
    assert fold is not None and solver.check() == z3.sat
    for _, node in islice(by_operation[name], 10):
        for _ in range(DRAWS):
            args = tuple(a if a.op == "const" else constant(a.type, rng) for a in node.args)
            value = fold(*(a.data for a in args))
            if value is None:
                continue
            compared += 1
            same = Node(-1, name, node.type, args, None, frozenset())
            low = node.type.low if isinstance(node.type, IntType) else 0
            term = Terms({}.__getitem__, lambda _: None)(same)
            assert smt_terms.value(term, node.type, solver.model()) + low == number(value, node.type)
            if name not in UNSUPPORTED:
                assert int(Sample({})(same)) == number(value, node.type)
    assert compared >= DRAWS


def constant(kind: Type, rng: random.Random) -> Node:
    return Node(-1, "const", kind, (), drawn(kind, rng), frozenset())


@pytest.mark.parametrize("construct", ["sets", "nested floor_division", "odd a_wide_set"])
def test_every_lemma_can_be_evaluated_on_a_sample(construct: str, tmp_path: Path) -> None:
    """The templates make nothing that numpy lacks, also of sequences in messages."""
    model = lower_model(bound_model(construct, tmp_path))
    sample = Sample({leaf.path: np.zeros(2, np.int64) for leaf in model.leaves})
    lemmas: list[Node] = []

    def holds(node: Node) -> bool:
        lemmas.append(node)
        return np.shape(sample(node)) in ((), (2,))

    assert len(candidates(model, holds)) == len(lemmas) > 50
    assert not {node.op for node in arguments_first(lemmas)} & set(UNSUPPORTED)


class Server(Id, size="servers"): ...


SERVER = IdType(Server, 3)


class Formulas:
    """Formulas over a few leaves, drawn at random, and their values for all values of the leaves."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.graph = rng, Graph()
        kinds = {"p": BoolType(), "q": BoolType(), "i": IntType(-2, 2), "j": IntType(0, 6), "x": SERVER}
        self.leaves = {name: self.graph.var(name, kind) for name, kind in kinds.items()}

    def truth(self, depth: int) -> Node:
        g, what = self.graph, self.rng.randrange(7 if depth else 3)
        if what == 0:
            return self.leaves[self.rng.choice("pq")]
        if what == 1:
            return g.lt(self.number(depth - 1), self.number(depth - 1))
        if what == 2:
            return g.eq(self.leaves["x"], g.const(self.rng.randrange(3), SERVER))
        parts = [self.truth(depth - 1) for _ in range(3)]
        return (g.and_(*parts), g.or_(*parts), g.not_(parts[0]), g.ite(*parts))[what - 3]

    def number(self, depth: int) -> Node:
        g, what = self.graph, self.rng.randrange(10 if depth > 0 else 3)
        if what < 3:
            return g.num(self.rng.randint(-3, 5)) if what == 2 else self.leaves["ij"[what]]
        a, b = self.number(depth - 1), self.number(depth - 1)
        if what == 3:
            return g.ite(self.truth(depth - 1), a, b)
        op = ("add", "sub", "min", "max", "mul", "floordiv")[what - 4]
        return g.arith(op, a, g.num(3) if op == "floordiv" else b)

    def together(self, conditions: list[Node]) -> bool:
        """Whether some values make all of them true, by trying all."""
        ranges = (range(2), range(2), range(-2, 3), range(7), range(3))
        for values in itertools.product(*ranges):
            found = dict(zip(self.leaves.values(), values, strict=True))
            for node in arguments_first(conditions):
                if node.args:
                    found[node] = OPERATIONS[node.op].fold(*(found[a] for a in node.args))  # type: ignore[misc]
                elif node.op == "const":
                    found[node] = node.data
            if all(found[condition] for condition in conditions):
                return True
        return False


def test_what_may_hold_together_is_what_some_values_make_true() -> None:
    rng, seen = random.Random(59), {False: 0, True: 0}
    for _ in range(60):
        drawn_ = Formulas(rng)
        conditions = [drawn_.truth(3) for _ in range(rng.randint(2, 5))]
        together = drawn_.together(conditions)
        assert may_hold_together(conditions) == together, conditions
        seen[together] += 1
    assert min(seen.values()) > 8


def test_what_is_not_decided_may_hold() -> None:
    g = Graph()
    i, j, x, up = g.var("i", IntType(0, 1 << 40)), g.var("j", IntType(0, 1 << 40)), g.var("x", SERVER), SetType(SERVER)
    a, b, before = g.var("a", up), g.var("b", up), g.arith("add", i, g.num(1))
    assert not may_hold_together([g.lt(i, g.num(7)), g.lt(g.num(9), before)])
    assert may_hold_together([g.lt(i, j), g.lt(j, i)])  # split in halves without an end
    assert not may_hold_together([g.member(x, a), g.not_(g.member(x, a))])
    assert may_hold_together([g.member(x, a), g.not_(g.member(x, b)), g.eq(a, b)])  # sets are not looked into
    assert not may_hold_together([g.lt(i, g.num(2)), g.lt(g.num(1), g.arith("mul", i, i))])
