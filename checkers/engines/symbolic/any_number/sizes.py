"""Numbers of members of sets, for any number: what follows from inclusion, and exactly where two are compared.

Of a set there is its number of members, with what emptiness, one and two members say of it. Where a comparison has
the numbers of several sets, each region of their Venn diagram has a number too: each set has as many members as
its regions, a region without a member has none, and the members that are named have different places in their region.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.naming import (
    Counted,
    Env,
    Naming,
    choice,
    conj,
    disj,
    equal,
    implication,
    neg,
)
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.language.types import ANY, IdType, IntType, SeqType, SetType, unbounded

MOST_PARTS = 6
"""Sets that those of a comparison are made of, at most: of the regions of more nothing is said."""


MOST_NAMED = 3
"""Named members that sets of a comparison are made of, of which it is known that they are no more."""


class Sizes(Naming):
    """Numbers of members as Z3 terms."""

    closed = False
    """Whether every member of a sort is named."""

    def member(self, node: Node, item: Any, env: Env) -> Any:
        """Whether a member of a sort is in a set."""
        raise NotImplementedError

    def value(self, node: Node, env: Env = ()) -> Any:
        """A scalar."""
        raise NotImplementedError

    def _within(self, node: Node, env: Env) -> Env:
        """The part of `env` that a node depends on."""
        return tuple((n, t) for n, t in env if f"#{n}" in node.params)

    def _card(self, node: Node, env: Env) -> Any:
        """The number of members of a set."""
        assert isinstance(node.type, SetType)
        kind = node.type.item
        if not unbounded(kind):
            members = (self.member(node, self.member_named(i, kind), env) for i in range(kind.count))
            return z3.Sum(*(choice(m, z3.IntVal(1), z3.IntVal(0)) for m in members))
        if node is self.graph.full(kind) and isinstance(kind, IdType) and isinstance(kind.sort.size, str):
            return self._leaf(f"c.{kind.sort.size}", IntType(1, ANY), [])
        env = self._within(node, env)
        return self._once(("card", node, self._key(env)), lambda: self._counted(node, env))

    def _counted(self, node: Node, env: Env) -> Any:
        assert isinstance(node.type, SetType)
        kind = node.type.item
        number = self.function(f"n!{node.number}", [t for _, t in env], IntType(0, ANY))
        first, second = (self._witness((place, node), kind, env) for place in ("first of", "second of"))
        self._fact(number >= 0)
        self._fact(implication(number >= 1, self.member(node, first, env)))
        self._fact(implication(number >= 2, conj(self.member(node, second, env), first != second)))
        self._for_all(kind, lambda x: implication(self.member(node, x, env), number >= 1), env)
        self._for_all(kind, lambda x: implication(self.member(node, x, env), equal(x, first)), env, given=number <= 1)
        if isinstance(kind, IdType) and isinstance(kind.sort.size, str):
            self._fact(number <= self._leaf(f"c.{kind.sort.size}", IntType(1, ANY), []))
        self.store.counted.setdefault(kind, []).append(Counted(node, env, number))
        return number

    def _compare(self, one: Counted, other: Counted) -> None:
        """The order of the numbers of members of two sets, where one is within the other, perhaps but for a member."""
        for a, b in ((one, other), (other, one)):
            self._compare_inclusion(a, b)

    def _compare_inclusion(self, a: Counted, b: Counted) -> None:
        assert isinstance(a.node.type, SetType)
        kind = a.node.type.item
        if a.env or b.env:
            return  # of sets that depend on a bound member nothing is said

        def missing(x: Any, one: Node, other: Node) -> Any:
            return conj(self.member(one, x, ()), neg(self.member(other, x, ())))

        outside = self._witness(("outside", a.node, b.node), kind, ())
        lacking = self._witness(("outside", b.node, a.node), kind, ())
        # a has a member that b lacks, or no more members than b
        self._fact(disj(missing(outside, a.node, b.node), a.number <= b.number))
        # a has a member that b lacks, and lacks none of b: it has more members
        lacks = missing(lacking, b.node, a.node)
        more = disj(lacks, a.number > b.number)
        self._for_all(kind, lambda x: implication(missing(x, a.node, b.node), more), ())
        if b.node.op == "minus" and b.node.args[0] is a.node and b.node.args[1].op == "single":
            leaves = self.member(a.node, self.value(b.node.args[1].args[0]), ())
            self._fact(b.number == choice(leaves, a.number - 1, a.number))
        for one in b.node.args if b.node.op == "union" else ():
            if one.op == "single" and a.node in b.node.args:
                self._fact(b.number == choice(self.member(a.node, self.value(one.args[0]), ()), a.number, a.number + 1))

    # -- regions ------------------------------------------------------------------------------------------------

    def compare_sizes(self, a: Node, b: Node) -> None:
        """States the regions of the sets whose numbers of members a comparison has, if these are several.

        They are those of the sets of earlier comparisons too, where there are not too many.
        """
        compared = self.store.compared
        own = [one for one in dict.fromkeys([*self._counted_in(a), *self._counted_in(b)]) if self._has_regions(one)]
        for kind in {one.type for one in own}:
            those = [one for one in own if one.type == kind]
            fresh = [one for one in those if one not in compared]
            if len(those) > 1 and fresh:
                compared += fresh
                every = [one for one in compared if one.type == kind]
                several = every if len(_parts(every)) <= MOST_PARTS else those
                if len(_parts(several)) <= MOST_PARTS:
                    self._state_regions(several)

    def _has_regions(self, one: Node) -> bool:
        assert isinstance(one.type, SetType)
        bound = any(name.startswith("#") for name in one.params)
        return unbounded(one.type.item) and not bound and not self.closed

    def _state_regions(self, sets: list[Node]) -> None:
        number, parts = next(self._numbers), _parts(sets)
        made = (dict(zip(parts, signs, strict=True)) for signs in product((True, False), repeat=len(parts)))
        regions = {tuple(_inside(one, signs) for one in sets) for signs in made}
        regions.discard((False,) * len(sets))
        size = {}
        for i, signs in enumerate(sorted(regions)):
            size[signs] = self.function(f"region!{number}!{i}", [], IntType(0, ANY))
            self._state_region(f"{number}!{i}", size[signs], list(zip(sets, signs, strict=True)))
        for place, one in enumerate(sets):
            within = [size[signs] for signs in size if signs[place]]
            self._fact(self._card(one, ()) == z3.Sum(z3.IntVal(0), *within))

    def _state_region(self, name: str, size: Any, signs: list[tuple[Node, bool]]) -> None:
        assert isinstance(signs[0][0].type, SetType)
        kind = signs[0][0].type.item

        def inside(x: Any) -> Any:
            return conj(*(self.member(s, x, ()) if sign else neg(self.member(s, x, ())) for s, sign in signs))

        def in_its_place(x: Any) -> Any:
            place = self.function(f"place!{name}", [x], IntType(0, ANY))
            there = self.function(f"at!{name}", [place], kind)
            return implication(inside(x), conj(place >= 0, place < size, equal(there, x)))

        self._fact(size >= 0)
        named = sum(one.op == "single" for one in arguments_first(s for s, _ in signs))
        others: list[Any] = []
        for number in range(1, 2 + min(named, MOST_NAMED)):  # a region of named members alone has no more than these
            witness = self._witness(("region", name, number), kind, ())
            self._fact(implication(size >= number, conj(inside(witness), *(neg(equal(witness, w)) for w in others))))
            others.append(witness)
        self._for_all(kind, in_its_place, ())

    def _counted_in(self, node: Node) -> list[Node]:
        """The sets whose numbers of members a number is made of."""
        if node.op == "card":
            return [node.args[0]]
        if node.op == "seq_len":
            assert isinstance(node.args[0].type, SeqType)
            return [self.graph.op("seq_set", SetType(node.args[0].type.item), node.args)]
        parts = node.args[1:] if node.op == "ite" else node.args if node.op in ARITHMETIC else ()
        return [one for part in parts for one in self._counted_in(part)]


def _minimum(a: Any, b: Any) -> Any:
    return choice(a <= b, a, b)


def _maximum(a: Any, b: Any) -> Any:
    return choice(a >= b, a, b)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "min": _minimum,
    "max": _maximum,
}
"""The operations on numbers. Z3 divides as Python does where the divisor is positive."""


def _parts(sets: list[Node]) -> list[Node]:
    """The sets that some are made of by union, intersection and difference."""
    nodes = list(sets)
    for one in nodes:
        if one.op in ("union", "inter", "minus"):
            nodes += one.args
    return list(dict.fromkeys(one for one in nodes if one.op not in ("union", "inter", "minus")))


def _inside(one: Node, signs: dict[Node, bool]) -> bool:
    """Whether a member is in a set, by whether it is in each of those that the set is made of."""
    if one.op not in ("union", "inter", "minus"):
        return signs[one]
    of_parts = [_inside(part, signs) for part in one.args]
    if one.op == "minus":
        return of_parts[0] and not of_parts[1]
    return any(of_parts) if one.op == "union" else all(of_parts)
