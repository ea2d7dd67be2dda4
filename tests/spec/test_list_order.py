"""Sequences in no order: what is read of them in all orders, and in some, against every order there is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reassure import Id
from reassure.spec.frontend.any_order import ListOrder, can_be_forgotten, reads_list_order
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.operations import OPERATIONS, arguments_first
from reassure.spec.frontend.sets_and_sequences import seq_len, seq_set, seq_sorted
from reassure.spec.language.types import BagType, BoolType, IdType, RecordType, SeqType, SetType


class Node_(Id, size="nodes"): ...


ID = IdType(Node_, 3)
SEQ, SET = SeqType(ID, 3), SetType(ID)
SORTS = {Node_}
Values = dict[str, Any]


def value(node: Node, leaves: Values) -> Any:
    """A node's value: sequences are tuples of indices, sets are masks."""
    results: dict[Node, Any] = {}
    for one in arguments_first([node]):
        if one.op in ("const", "var"):
            results[one] = one.data if one.op == "const" else leaves[one.data]
        else:
            fold = OPERATIONS[one.op].fold
            assert fold is not None
            results[one] = fold(*(results[a] for a in one.args))
    return results[node]


def drawn_sequence(g: Graph, rng: random.Random, depth: int) -> Node:
    what = rng.randrange(7 if depth else 3)
    if what < 3:
        return g.var("abc"[what], SEQ)
    if what == 3:
        return g.op("seq_keep", SEQ, (drawn_sequence(g, rng, depth - 1), g.var(rng.choice("xy"), SET)))
    if what == 4:
        parts = drawn_sequence(g, rng, depth - 1), drawn_sequence(g, rng, depth - 1)
        return g.op("seq_cat", SeqType(ID, sum(p.type.length for p in parts)), parts)  # type: ignore[attr-defined]
    if what == 5:
        return seq_sorted(g, g.minus(g.var("x", SET), seq_set(g, g.var("a", SEQ))))
    return g.ite(drawn_formula(g, rng, 0), drawn_sequence(g, rng, depth - 1), drawn_sequence(g, rng, depth - 1))


def drawn_formula(g: Graph, rng: random.Random, depth: int) -> Node:
    what = rng.randrange(7)
    if depth and what < 5:
        parts = [drawn_formula(g, rng, depth - 1) for _ in range(3)]
        made = (g.and_(*parts), g.or_(*parts), g.not_(parts[0]), g.ite(*parts), g.eq(*parts[:2]))
        return made[what]
    a, b = (drawn_sequence(g, rng, 2 if depth else 0) for _ in range(2))
    return g.eq(a, b) if what < 6 else g.lt(seq_len(g, a), seq_len(g, b))


def agree(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    common = [i for i in a if i in b]
    return common == [i for i in b if i in a] and len(common) == len(set(common))


def orders(items: Values, pairs: list[tuple[str, str]]) -> Iterator[Values]:
    """All orders of the sequences in which some pairs agree."""
    names = [name for name in "abc" if name in items]
    for found in itertools.product(*(set(itertools.permutations(items[name])) for name in names)):
        leaves = items | dict(zip(names, found, strict=True))
        if all(agree(leaves[one], leaves[other]) for one, other in pairs):
            yield leaves


@pytest.mark.parametrize("first", range(0, 300, 50))
@pytest.mark.parametrize("pairs", [[], [("a", "b")], [("a", "b"), ("a", "c"), ("b", "c")]], ids=len)
def test_every_order(pairs: list[tuple[str, str]], first: int) -> None:
    """What is said of all orders holds in each; what is said of some holds if it does in one; neither reads one."""
    for number in range(first, first + 50):
        rng, g = random.Random(number), Graph()
        formula = g.eq(drawn_sequence(g, rng, 2), drawn_sequence(g, rng, 2)) if number % 2 else drawn_formula(g, rng, 2)
        order = ListOrder(g, SORTS, lambda *paths: paths in pairs)
        every, some = order.in_all(formula), order.in_some(formula)
        for _ in range(4):
            items: Values = {name: tuple(rng.choices(range(3), k=rng.randrange(4))) for name in "abc"}
            items |= {name: rng.randrange(8) for name in "xy"}
            cases = [
                (value(formula, leaves), value(every, leaves), value(some, leaves)) for leaves in orders(items, pairs)
            ]
            assert all(exact or not low for exact, low, _ in cases)
            assert all(high or not exact for exact, _, high in cases)
            assert len({case[1:] for case in cases}) <= 1


@pytest.mark.parametrize(
    ("pairs", "sure"),
    [([], [True, True, False, False, True]), ([("a", "b")], [True, True, True, True, True])],
)
def test_what_is_made_alike(pairs: list[tuple[str, str]], sure: list[bool]) -> None:
    """Without what leaves, and with nothing new, a list stays; one that agrees is told by its members."""
    g = Graph()
    a, b = g.var("a", SEQ), g.var("b", SEQ)
    x, y = g.var("x", SET), g.var("y", SET)
    order = ListOrder(g, SORTS, lambda *paths: paths in pairs)
    longer = g.op("seq_cat", SeqType(ID, 6), (g.op("seq_keep", SEQ, (a, x)), seq_sorted(g, y)))
    conditions = [
        order.surely_equal(a, longer),
        order.surely_equal(g.op("seq_keep", SEQ, (a, x)), g.op("seq_keep", SEQ, (a, g.union(x, y)))),
        order.surely_equal(g.op("seq_keep", SEQ, (a, x)), b),
        order.agree(longer, b),
        order.surely_equal(seq_sorted(g, x), seq_sorted(g, g.union(x, y))),
    ]
    leaves = {"a": (2, 0), "b": (2, 0), "x": 0b101, "y": 0}
    assert [value(one, leaves) for one in conditions] == sure
    assert [value(one, leaves | {"x": 0b001, "y": 0b100}) for one in conditions[:3]] == [False] * 3
    assert order.assumed == {("a", "b"): bool(pairs)}


def test_items_in_two_orders_may_be_equal_or_not() -> None:
    g = Graph()
    order, a, b = ListOrder(g, SORTS, lambda *paths: False), g.var("a", SEQ), g.var("b", SEQ)
    same = g.eq(a, b)
    for left, right, every, some in [
        ((0, 1), (1, 0), False, True),
        ((0, 1), (0, 2), False, False),
        ((1,), (1,), True, True),
        ((), (), True, True),
    ]:
        leaves = {"a": left, "b": right}
        assert [value(f(same), leaves) for f in (order.in_all, order.in_some)] == [every, some]
        assert [value(f(g.not_(same)), leaves) for f in (order.in_all, order.in_some)] == [not some, not every]


def test_what_cannot_be_forgotten() -> None:
    g = Graph()
    a = g.var("a", SEQ)
    state = RecordType(object, (("a", SEQ),))
    taken = g.op("seq_take", SEQ, (a, g.num(1)))
    first = g.op("seq_first", ID, (a, g.var("x", SET)))
    assert [reads_list_order(node, SORTS) for node in (a, taken, first, seq_len(g, a))] == [False, True, True, False]
    assert not reads_list_order(taken, set())
    assert can_be_forgotten(state, [a, first], SORTS)
    assert not can_be_forgotten(state, [taken], SORTS)
    assert not can_be_forgotten(RecordType(object, (("b", BagType(state, 1)),)), [a], SORTS)
    assert not can_be_forgotten(state, [g.op("pack", state, (a,))], SORTS)
    # What is made of such a part is left open.
    order = ListOrder(g, SORTS, lambda *paths: False)
    claim = g.eq(taken, g.var("b", SEQ))
    assert (order.in_all(claim), order.in_some(claim)) == (g.false, g.true)
    assert isinstance(claim.type, BoolType)
