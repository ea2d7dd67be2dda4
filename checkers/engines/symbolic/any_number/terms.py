"""Nodes of a model for any number as Z3 terms: ids of an uninterpreted sort, sets as predicates, maps as functions.

A formula over all members of a sort is a named Boolean with its definition: it implies the formula for each member, and
its negation a member that refutes it. Solvers get the instances of the first for the members that the terms of the
query name (`naming.py`), so that no query has a quantifier. Whatever instance, or fact about a number of members, is
left out admits more: where Z3 finds no model there is none.
"""

from __future__ import annotations

from typing import Any

import z3

from reassure.checkers.engines.symbolic.any_number.instance import is_slot
from reassure.checkers.engines.symbolic.any_number.naming import Env, choice, conj, disj, equal, implication, neg
from reassure.checkers.engines.symbolic.any_number.sizes import ARITHMETIC, Sizes
from reassure.checkers.engines.symbolic.any_number.system import place_of
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import (
    ANY,
    BoolType,
    IntType,
    MapType,
    RecordType,
    SeqType,
    SetType,
    unbounded,
)

BOTH, POSITIVE, NEGATIVE = 0, 1, -1
"""Which half of the definition of a named Boolean a formula needs: that of its truth, or of its negation."""


class NoTranslation(Exception):
    """An operation that has no translation for any number."""


class AnyTerms(Sizes):
    """Nodes of one model as Z3 terms."""

    # -- values ---------------------------------------------------------------------------------------------

    def value(self, node: Node, env: Env = (), polarity: int = BOTH) -> Any:
        """A scalar: a truth value, a number, an id."""
        if isinstance(node.type, BoolType):
            return self.truth(node, env, polarity)
        env = self._within(node, env)
        return self._once(("value", node, self._key(env)), lambda: self._value(node, env))

    def _value(self, node: Node, env: Env) -> Any:
        kind = node.type
        if node.op == "const":
            return self.member_named(node.data, kind) if unbounded(kind) else z3.IntVal(int(node.data))
        if node.op == "bound":
            return dict(env)[node.data]
        if node.op == "ite":
            return choice(self.truth(node.args[0], env), self.value(node.args[1], env), self.value(node.args[2], env))
        if node.op in ("var", "param", "config", "at", "unpack"):
            name, arguments = self._place(node, env)
            return self._leaf(name, kind, arguments)
        if node.op in ARITHMETIC:
            return ARITHMETIC[node.op](*(self.value(a, env) for a in node.args))
        if node.op == "card":
            return self._card(node.args[0], env)
        if node.op in ("lowest", "highest"):
            return self._extreme(node, env)
        if node.op == "total":
            term = self.function(f"total!{node.number}", [t for _, t in env], kind)
            if isinstance(kind, IntType) and kind.low >= 0:
                self._fact(term >= 0)
            return term
        if node.op == "seq_len":
            return self._length(node.args[0], env)
        if node.op == "seq_first":
            return self._first(node, env)
        if node.op == "seq_get":
            return self._item(node, env)
        raise NoTranslation(node.op)

    def _place(self, node: Node, env: Env) -> tuple[str, list[Any]]:
        """The name of a variable, and the members that it depends on."""
        if node.op in ("var", "param"):
            return place_of(node), []
        if node.op == "config":
            return f"c.{node.data}", []
        if node.op == "at":
            name, arguments = self._place(node.args[0], env)
            return name, [*arguments, self.value(node.args[1], env)]
        if node.op == "unpack" and node.args[0].op == "record":
            slot = node.args[0].args[0]
            if slot.op in ("var", "param"):
                name, arguments = self._place(slot, env)
                return f"{name}.{node.data}", arguments
        raise NoTranslation(node.op)

    # -- truth values -----------------------------------------------------------------------------------------

    def truth(self, node: Node, env: Env = (), polarity: int = BOTH) -> Any:
        """A truth value. polarity: which half of the definitions of what is named in it is needed."""
        env = self._within(node, env)
        return self._once(("truth", node, self._key(env), polarity), lambda: self._truth(node, env, polarity))

    def _truth(self, node: Node, env: Env, polarity: int) -> Any:
        op, args = node.op, node.args
        if op == "const":
            return z3.BoolVal(bool(node.data))
        if op == "not":
            return neg(self.truth(args[0], env, -polarity))
        if op in ("and", "or"):
            terms = [self.truth(a, env, polarity) for a in args]
            return conj(*terms) if op == "and" else disj(*terms)
        if op == "ite":
            chosen = [self.truth(a, env, polarity) for a in args[1:]]
            return choice(self.truth(args[0], env), *chosen)
        if op == "member":
            return self.member(args[1], self.value(args[0], env), env, polarity)
        if op == "lt":
            return self._less(args[0], args[1], env)
        if op == "eq":
            return self._equal(args[0], args[1], env, polarity)
        if op in ("var", "param", "at", "unpack"):
            name, arguments = self._place(node, env)
            return self._leaf(name, node.type, arguments)
        raise NoTranslation(op)

    def _less(self, a: Node, b: Node, env: Env) -> Any:
        if is_slot(a) or is_slot(b):  # the order of records in a set: which it is does not matter
            occupied = [self.truth(self._occupied(s), env) for s in (a, b)]
            unknown = self.function(f"less!{a.number}!{b.number}", [t for _, t in env], BoolType())
            return conj(occupied[1], disj(neg(occupied[0]), unknown))
        x, y = self.value(a, env), self.value(b, env)
        if unbounded(a.type):
            rank = self._rank(a.type)
            self.store.pairs += [(x, y), (y, x)]
            return rank(x) < rank(y)
        self.compare_sizes(a, b)
        return x < y

    def _equal(self, a: Node, b: Node, env: Env, polarity: int) -> Any:
        kind = a.type
        if isinstance(kind, SetType):
            return self._same_sets(a, b, env, polarity)
        if isinstance(kind, SeqType):
            return self._same_sequences(a, b, env)
        if is_slot(a) or is_slot(b):
            return self._same_slots(a, b, env)
        if isinstance(kind, MapType | RecordType):
            raise NoTranslation("the equality of maps as values")
        self.compare_sizes(a, b)
        return equal(self.value(a, env), self.value(b, env))

    # -- sets ---------------------------------------------------------------------------------------------------

    def member(self, node: Node, item: Any, env: Env, polarity: int = BOTH) -> Any:
        """Whether a member of a sort is in a set."""
        env = self._within(node, env)
        key = ("member", node, self._key(env), self._id(item), polarity)
        return self._once(key, lambda: self._member(node, item, env, polarity))

    def _member(self, node: Node, item: Any, env: Env, polarity: int) -> Any:
        op, args = node.op, node.args
        assert isinstance(node.type, SetType)
        kind = node.type.item
        if op == "const":
            mask = node.data if node.data >= 0 else ~node.data
            listed = [equal(item, self.member_named(i, kind)) for i in range(mask.bit_length()) if mask >> i & 1]
            return disj(*listed) if node.data >= 0 else neg(disj(*listed))
        if op == "union":
            return disj(*(self.member(a, item, env, polarity) for a in args))
        if op == "inter":
            return conj(*(self.member(a, item, env, polarity) for a in args))
        if op == "minus":
            return conj(self.member(args[0], item, env, polarity), neg(self.member(args[1], item, env, -polarity)))
        if op == "single":
            return equal(item, self.value(args[0], env))
        if op == "ite":
            chosen = [self.member(a, item, env, polarity) for a in args[1:]]
            return choice(self.truth(args[0], env), *chosen)
        if op == "those":
            return self.truth(args[0], (*env, (node.data, item)), polarity)
        if op == "build":
            return disj(*(conj(item == i, self.truth(c, env, polarity)) for i, c in enumerate(args)))
        if op == "seq_set":
            return self._listed(args[0], item, env)
        name, arguments = self._place(node, env)
        return self.function(name, [*arguments, item], BoolType())

    def _same_sets(self, a: Node, b: Node, env: Env, polarity: int) -> Any:
        """Whether two sets have the same members."""
        assert isinstance(a.type, SetType)
        kind = a.type.item
        zero = self.graph.const(0, a.type)
        if a is zero:
            a, b = b, a

        def same(x: Any, its: int) -> Any:
            if b is zero:
                return neg(self.member(a, x, env, -its))
            return equal(self.member(a, x, env), self.member(b, x, env))

        key = ("same", a, b, self._key(env))
        number = self._once(key, lambda: next(self._numbers))
        truth = self.function(f"q!{number}", [t for _, t in env], BoolType())
        if polarity != NEGATIVE:
            self._once((*key, POSITIVE), lambda: self._for_all(kind, lambda x: same(x, POSITIVE), env, given=truth))
        if polarity != POSITIVE:

            def refuted() -> None:
                witness = self._witness(key, kind, env)
                self._fact(disj(truth, neg(same(witness, NEGATIVE))))

            self._once((*key, NEGATIVE), refuted)
        return truth

    def _extreme(self, node: Node, env: Env) -> Any:
        """The lowest or highest member of a set; any member of the sort where there is none."""
        kind, rank = node.type, self._rank(node.type)
        term = self._witness(("extreme", node), kind, env)

        def at_least(x: Any) -> Any:
            order = rank(term) <= rank(x) if node.op == "lowest" else rank(x) <= rank(term)
            return implication(self.member(node.args[0], x, env), conj(self.member(node.args[0], term, env), order))

        self._for_all(kind, at_least, env)
        return term

    # -- sequences ----------------------------------------------------------------------------------------------

    def _listed(self, node: Node, item: Any, env: Env) -> Any:
        """Whether a member of a sort is in a sequence."""
        op, args = node.op, node.args
        assert isinstance(node.type, SeqType)
        if op == "const":
            return disj(*(item == self.member_named(i, node.type.item) for i in node.data))
        if op == "seq_of":
            return disj(*(item == self.value(a, env) for a in args))
        if op == "seq_cat":
            return disj(*(self._listed(a, item, env) for a in args))
        if op == "seq_keep":
            return conj(self._listed(args[0], item, env), self.member(args[1], item, env))
        if op == "seq_sorted":
            return self.member(args[0], item, env)
        if op == "ite":
            return choice(self.truth(args[0], env), *(self._listed(a, item, env) for a in args[1:]))
        name, arguments = self._place(node, env)
        return self.function(name, [*arguments, item], BoolType())

    def _distinct(self, node: Node, env: Env) -> Any:
        """Whether a sequence has no item twice."""
        op, args, kind = node.op, node.args, node.type
        assert isinstance(kind, SeqType)
        if op == "const":
            return z3.BoolVal(len(set(node.data)) == len(node.data))
        if op == "seq_sorted":
            return z3.BoolVal(True)
        if op == "seq_of":
            return z3.Distinct(*(self.value(a, env) for a in args)) if len(args) > 1 else z3.BoolVal(True)
        if op == "ite":
            return choice(self.truth(args[0], env), *(self._distinct(a, env) for a in args[1:]))
        if op == "seq_cat":
            sets = [self.graph.op("seq_set", SetType(kind.item), (a,)) for a in args]
            apart = self.truth(self.graph.eq(self.graph.inter(*sets), self.graph.const(0, sets[0].type)), env)
            return conj(apart, *(self._distinct(a, env) for a in args))
        if op == "seq_keep":
            kept = self.function(f"distinct!{node.number}", [t for _, t in env], BoolType())
            return disj(self._distinct(args[0], env), kept)
        name, arguments = self._place(node, env)
        return self.function(f"{name}!distinct", arguments, BoolType())

    def _before(self, node: Node, x: Any, y: Any, env: Env) -> Any:
        """Whether an item comes before another in a sequence that has both, and no item twice."""
        op, args, kind = node.op, node.args, node.type
        assert isinstance(kind, SeqType)
        if op in ("const", "seq_of"):
            items = (
                [self.member_named(i, kind.item) for i in node.data]
                if op == "const"
                else [self.value(a, env) for a in args]
            )
            return disj(*(conj(x == a, y == b) for i, a in enumerate(items) for b in items[i + 1 :]))
        if op == "seq_sorted":
            rank = self._rank(kind.item)
            return rank(x) < rank(y)
        if op == "ite":
            return choice(self.truth(args[0], env), *(self._before(a, x, y, env) for a in args[1:]))
        if op == "seq_cat":
            first, second = args
            within = [conj(self._listed(a, x, env), self._listed(a, y, env), self._before(a, x, y, env)) for a in args]
            return disj(conj(self._listed(first, x, env), self._listed(second, y, env)), *within)
        if op == "seq_keep":
            return self._before(args[0], x, y, env)
        name, arguments = self._place(node, env)
        return self.function(f"{name}!before", [*arguments, x, y], BoolType())

    def _same_sequences(self, a: Node, b: Node, env: Env) -> Any:
        """Whether two sequences are equal: known where neither has an item twice."""
        assert isinstance(a.type, SeqType)
        kind, g = a.type.item, self.graph
        sets = [g.op("seq_set", SetType(kind), (s,)) for s in (a, b)]
        members = self.truth(g.eq(*sets), env)
        for one, other in ((a, b), (b, a)):
            if one.op == "const" and not one.data:
                return self.truth(g.eq(g.op("seq_set", SetType(kind), (other,)), g.const(0, SetType(kind))), env)
        key = ("same sequences", a, b, self._key(env))
        alike = self.function(f"s!{a.number}!{b.number}", [t for _, t in env], BoolType())
        distinct = [self._distinct(s, env) for s in (a, b)]

        def ordered(x: Any, y: Any) -> Any:
            both = conj(self._listed(a, x, env), self._listed(a, y, env), x != y)
            return implication(both, equal(self._before(a, x, y, env), self._before(b, x, y, env)))

        def make() -> Any:
            first, second = (self._witness((place, key), kind, env) for place in ("first", "second"))
            self.store.pairs.append((first, second))
            self._fact(implication(alike, conj(members, distinct[0] == distinct[1])))
            self._for_all(kind, ordered, env, 2, conj(alike, distinct[0]))
            self._fact(disj(alike, neg(conj(members, *distinct)), neg(ordered(first, second))))
            return alike

        return self._once(key, make)

    def _length(self, node: Node, env: Env) -> Any:
        """The number of items of a sequence: of its members, if it has none twice, else more."""
        assert isinstance(node.type, SeqType)
        members = self._card(self.graph.op("seq_set", SetType(node.type.item), (node,)), env)
        if node.op == "seq_sorted":
            return members
        length = self.function(f"len!{node.number}", [t for _, t in env], IntType(0, ANY))
        self._fact(choice(self._distinct(node, env), length == members, length > members))
        return length

    def _first(self, node: Node, env: Env) -> Any:
        """The first item of a sequence that is in a set; any member of the sort where there is none."""
        sequence, mask = node.args
        kind = node.type
        term = self._witness(("first item", node), kind, env)

        def fits(x: Any) -> Any:
            return conj(self._listed(sequence, x, env), self.member(mask, x, env))

        def no_earlier(x: Any) -> Any:
            earlier = conj(self._distinct(sequence, env), x != term, neg(self._before(sequence, term, x, env)))
            return implication(fits(x), conj(fits(term), neg(earlier)))

        self._for_all(kind, no_earlier, env)
        return term

    def _item(self, node: Node, env: Env) -> Any:
        """An item at a place: some item of the sequence."""
        sequence, index = node.args
        term = self._witness(("item", node), node.type, env)
        place = self.value(index, env)
        there = conj(place >= 0, place < self._length(sequence, env))
        self._fact(implication(there, self._listed(sequence, term, env)))
        return term

    # -- sets of records ----------------------------------------------------------------------------------------

    def _occupied(self, slot: Node) -> Node:
        return self.graph.not_(self.graph.eq(slot, self.graph.num(0)))

    def _same_slots(self, a: Node, b: Node, env: Env) -> Any:
        """Whether two slots are equal; one of them is the constant of an empty slot, most often."""
        if b.op == "const":
            a, b = b, a
        if a.op == "const":
            if b.op == "const":
                return z3.BoolVal(a.data == b.data)
            if b.op == "ite":
                return choice(self.truth(b.args[0], env), *(self._same_slots(a, s, env) for s in b.args[1:]))
            if b.op == "slot":
                return z3.BoolVal(False)
            name, arguments = self._place(b, env)
            return self.function(f"{name}!empty", arguments, BoolType())
        empty = [self._same_slots(self.graph.num(0), s, env) for s in (a, b)]
        alike = self.function(f"slots!{a.number}!{b.number}", [t for _, t in env], BoolType())
        self._fact(implication(alike, empty[0] == empty[1]))
        self._fact(implication(conj(*empty), alike))
        return alike
