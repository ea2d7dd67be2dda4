"""Sets of numbers: made of their members, compared, combined.

Such a set is not one node: it has a node for each number that may be in it, which says whether it is. Every engine
gets these as bools, so that there is no operation on such sets.
"""

from __future__ import annotations

from collections.abc import Callable

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.symbolic_values import Mismatch, NumberSet, Scalar, Sym, conversion, describe, interval
from reassure.spec.language.types import IntType

MOST_NUMBERS = 256
"""Numbers that may be in a set while a step is calculated: each is a node. (One of a state has fewer.)"""


def set_of_numbers(g: Graph, members: list[tuple[Node, Sym]]) -> NumberSet:
    """The set of the numbers whose condition holds; `Mismatch` if there are other values, or far too many numbers."""
    inside: dict[int, list[Node]] = {}
    for condition, value in members:
        if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
            raise Mismatch(f"an int and {describe(value)} in one set{conversion(value, IntType(0, 0))}")
        within = interval(value.node)
        if within.count > MOST_NUMBERS:
            what = f"a number in a set that may be anything from {within.low} to {within.high}"
            raise Mismatch(f"{what}: at most {MOST_NUMBERS} numbers: narrow a Range, or take `min(x, limit)`")
        for number in within.values():
            inside.setdefault(number, []).append(g.and_(condition, g.eq(value.node, g.num(number))))
    if len(inside) > MOST_NUMBERS:
        raise Mismatch(f"a set that may have {len(inside):,} numbers: at most {MOST_NUMBERS}")
    return _numbers({number: g.or_(*conditions) for number, conditions in inside.items()}, g)


def _numbers(inside: dict[int, Node], g: Graph) -> NumberSet:
    """The set by its numbers, each with the condition under which it is there; those never there are left out."""
    return NumberSet(tuple((number, inside[number]) for number in sorted(inside) if inside[number] is not g.false))


def combined(g: Graph, combine: Callable[[Node, Node], Node], a: NumberSet, b: NumberSet) -> NumberSet:
    """The set that has a number by whether the two have it."""
    one, other = dict(a.members), dict(b.members)
    both = dict.fromkeys((*one, *other))
    return _numbers({n: combine(one.get(n, g.false), other.get(n, g.false)) for n in both}, g)


def contains(g: Graph, numbers: NumberSet, number: Node) -> Node:
    """Whether a number is in the set."""
    return g.or_(*(g.and_(there, g.eq(number, g.num(n))) for n, there in numbers.members))


def is_subset(g: Graph, a: NumberSet, b: NumberSet, strict: bool) -> Node:
    """`a < b`, or `a <= b` if it is not strict."""
    other = dict(b.members)
    within = g.and_(*(g.implies(there, other.get(n, g.false)) for n, there in a.members))
    return g.and_(within, g.not_(same_numbers(g, a, b))) if strict else within


def same_numbers(g: Graph, a: NumberSet, b: NumberSet) -> Node:
    """`a == b`."""
    one, other = dict(a.members), dict(b.members)
    both = dict.fromkeys((*one, *other))
    return g.and_(*(g.eq(one.get(n, g.false), other.get(n, g.false)) for n in both))


def count_of(g: Graph, numbers: NumberSet) -> Node:
    """`len(a)`."""
    total = g.num(0)
    for _, there in numbers.members:
        total = g.arith("add", total, g.ite(there, g.num(1), g.num(0)))
    return total


def items(g: Graph, numbers: NumberSet) -> list[tuple[Node, Sym]]:
    """The numbers that may be in the set, ascending, each with the condition under which it is."""
    return [(there, Scalar(g.num(number))) for number, there in numbers.members]


def has_others(g: Graph, numbers: NumberSet, kind: IntType) -> Node:
    """Whether a number outside a range is in the set."""
    return g.or_(*(there for number, there in numbers.members if not kind.low <= number <= kind.high))
