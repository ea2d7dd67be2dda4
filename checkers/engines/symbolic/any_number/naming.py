"""What formulas for any number name: members of sorts, functions, definitions with their instances.

A formula over all members of a sort is a named Boolean with its definition. Solvers get the instances for the members
that the terms of a query name, so that no query has a quantifier; what a query has named is taken back after it.

Also here: Z3's connectives, made without the conversions of its Python functions: these take most of the time of a
query.

The arguments are Z3 terms of the sorts that fit; nothing here looks whether they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any, NamedTuple

import z3

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.language.types import ANY, BoolType, EnumType, IdType, IntType, Type, unbounded

_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()


def _array(terms: Any) -> Any:
    return (z3.Ast * len(terms))(*(term.ast for term in terms))


def conj(*terms: Any) -> z3.BoolRef:
    """All of these."""
    return z3.BoolRef(z3.Z3_mk_and(_REF, len(terms), _array(terms)), _CONTEXT)


def disj(*terms: Any) -> z3.BoolRef:
    """One of these."""
    return z3.BoolRef(z3.Z3_mk_or(_REF, len(terms), _array(terms)), _CONTEXT)


def neg(term: Any) -> z3.BoolRef:
    """Not this."""
    return z3.BoolRef(z3.Z3_mk_not(_REF, term.ast), _CONTEXT)


def implication(a: Any, b: Any) -> z3.BoolRef:
    """The second if the first."""
    return z3.BoolRef(z3.Z3_mk_implies(_REF, a.ast, b.ast), _CONTEXT)


def equal(a: Any, b: Any) -> z3.BoolRef:
    """The two are the same."""
    return z3.BoolRef(z3.Z3_mk_eq(_REF, a.ast, b.ast), _CONTEXT)


def choice(condition: Any, a: Any, b: Any) -> Any:
    """The second if the first is true, else the third."""
    return type(a)(z3.Z3_mk_ite(_REF, condition.ast, a.ast, b.ast), _CONTEXT)


def _applied(declared: z3.FuncDeclRef, arguments: Any, kind: type) -> Any:
    """A function applied to terms. kind: the class of the result."""
    return kind(z3.Z3_mk_app(_REF, declared.ast, len(arguments), _array(arguments)), _CONTEXT)


Env = tuple[tuple[int, Any], ...]
"""The members that bound numbers stand for."""
DEEPEST = 2
"""Witnesses of conditions that are stated of witnesses are named to this depth."""


class Element(NamedTuple):
    """A member of a sort that a term names. depth: of the instances because of which it is there, and itself."""

    term: Any
    depth: int


@dataclass
class Universal:
    """A condition on each member of a sort, or on each pair whose order matters. done: for how many it was stated."""

    sort: Type
    arity: int
    condition: Callable[..., Any]
    depth: int
    done: int = 0


@dataclass
class Counted:
    """The number of members of a set that a query speaks of."""

    node: Node
    env: Env
    number: Any
    done: int = 0


@dataclass
class Store:
    """All that was named, in order, so that what a query added can be taken back."""

    memo: dict[Any, Any] = field(default_factory=dict)
    order: list[Any] = field(default_factory=list)
    elements: dict[Type, list[Element]] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    """Of the elements, by the number of the term."""
    universals: list[Universal] = field(default_factory=list)
    counted: dict[Type, list[Counted]] = field(default_factory=dict)
    facts: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    """Pairs of members whose order matters: those for which conditions on pairs are stated."""
    compared: list[Node] = field(default_factory=list)
    """Sets whose numbers of members are compared with those of others."""


class StoreMark(NamedTuple):
    """A state of the store."""

    order: int
    elements: dict[Type, int]
    universals: int
    done: list[int]
    counted: dict[Type, int]
    pairs: int
    compared: int


_CLASSES: dict[type[Type], type] = {BoolType: z3.BoolRef}


class Naming:
    """The members, functions and definitions of one query."""

    def __init__(self, graph: Graph, look: Callable[[], None] = lambda: None) -> None:
        """look: called while conditions are stated; raises to end that."""
        self.graph, self.look = graph, look
        self.store = Store()
        self._sorts: dict[Type, Any] = {}
        self._declared: dict[str, z3.FuncDeclRef] = {}
        """Constants and functions by their names."""
        self._named: dict[Type, dict[int, Any]] = {}
        """Members by their index in the sort."""
        self._numbers = count()
        self._depth_of_instance = 0
        """Of the condition that is being stated of an element: a witness of it is one deeper."""
        self._kept: dict[int, Any] = {}
        """Terms whose numbers are in keys of the store: none of these is given to another term."""

    # -- what a solver gets ---------------------------------------------------------------------------

    def facts(self) -> list[Any]:
        """The facts that everything named so far has; those since the last call."""
        store = self.store
        self._saturate()
        fresh, store.facts = store.facts, []
        return fresh

    def mark(self) -> StoreMark:
        """The state of what is named, to return to. Every fact has been taken."""
        s = self.store
        assert not s.facts
        lengths = {sort: len(e) for sort, e in s.elements.items()}
        counted = {sort: len(c) for sort, c in s.counted.items()}
        done = [u.done for u in s.universals]
        return StoreMark(len(s.order), lengths, len(s.universals), done, counted, len(s.pairs), len(s.compared))

    def restore(self, mark: StoreMark) -> None:
        """Forgets what was named since."""
        s = self.store
        for key in s.order[mark.order :]:
            del s.memo[key]
        del s.order[mark.order :]
        for sort, elements in s.elements.items():
            for gone in elements[mark.elements.get(sort, 0) :]:
                del s.depths[gone.term.get_id()]
            del elements[mark.elements.get(sort, 0) :]
        del s.universals[mark.universals :]
        for universal, done in zip(s.universals, mark.done, strict=True):
            universal.done = done
        for sort, counted in s.counted.items():
            del counted[mark.counted.get(sort, 0) :]
        del s.pairs[mark.pairs :]
        del s.compared[mark.compared :]
        s.facts = []

    def _saturate(self) -> None:
        """States every universal for every tuple of elements, until there is no further one."""
        s, again = self.store, True
        while again:
            again = False
            for universal in list(s.universals):
                elements = s.elements.setdefault(universal.sort, [])
                if not elements:  # a sort has a member
                    self.member_named(0, universal.sort)
                chosen: list[Any] = elements if universal.arity == 1 else s.pairs
                if len(chosen) == universal.done:
                    continue
                again, fresh, universal.done = True, chosen[universal.done :], len(chosen)
                for one in fresh:
                    self.look()
                    if universal.arity == 2:
                        s.facts.append(universal.condition(*one))
                    elif one.depth + universal.depth <= DEEPEST:
                        self._depth_of_instance = max(one.depth, universal.depth)
                        s.facts.append(universal.condition(one.term))
                        self._depth_of_instance = 0
            for counted in s.counted.values():
                for number in range(1, len(counted)):
                    one = counted[number]
                    while one.done < number:
                        self.look()
                        again = True
                        self._compare(one, counted[one.done])
                        one.done += 1

    # -- naming -----------------------------------------------------------------------------------------

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        s = self.store
        if key not in s.memo:
            value = make()
            if key not in s.memo:
                s.order.append(key)
            s.memo[key] = value
        return s.memo[key]

    def _fact(self, condition: Any) -> None:
        self.store.facts.append(condition)

    def sort(self, kind: Type) -> Any:
        """The Z3 sort of a scalar."""
        if isinstance(kind, BoolType):
            return z3.BoolSort()
        if not unbounded(kind):
            return z3.IntSort()
        if kind not in self._sorts:
            self._sorts[kind] = z3.DeclareSort(str(kind))
        return self._sorts[kind]

    def function(self, name: str, arguments: list[Any], kind: Type) -> Any:
        """An uninterpreted constant, or an application of a function to terms."""
        if name not in self._declared:
            sort = self.sort(kind)
            signature = (*(a.sort() for a in arguments), sort)
            self._declared[name] = z3.Function(name, *signature) if arguments else z3.Const(name, sort)
        declared = self._declared[name]
        if not arguments:
            return declared
        return _applied(
            declared, arguments, _CLASSES.get(type(kind), z3.ArithRef) if not unbounded(kind) else z3.ExprRef
        )

    def _depth(self, env: Env) -> int:
        return max((self.store.depths.get(term.get_id(), 0) for _, term in env), default=0)

    def _element(self, kind: Type, term: Any, depth: int) -> Any:
        """Names a member of a sort."""
        if unbounded(kind):
            if term.get_id() not in self.store.depths:
                self.store.depths[term.get_id()] = depth
                self.store.elements.setdefault(kind, []).append(Element(term, depth))
        return term

    def _witness(self, what: Any, kind: Type, env: Env) -> Any:
        """A member that depends on those of `env`."""
        number = self._once(("number", what), lambda: next(self._numbers))
        term = self.function(f"w!{kind}!{len(env)}!{number}", [t for _, t in env], kind)
        if not unbounded(kind) and not isinstance(kind, BoolType):
            self._fact(z3.And(term >= 0, term < kind.count))
        return self._element(kind, term, self._depth_of_instance + 1)

    def _for_all(self, kind: Type, condition: Callable[..., Any], env: Env, arity: int = 1, given: Any = None) -> None:
        """States a condition on each tuple of members. given: where it is stated."""

        def stated(*members: Any) -> Any:
            return condition(*members) if given is None else implication(given, condition(*members))

        if unbounded(kind):
            self.store.universals.append(Universal(kind, arity, stated, self._depth(env)))
        else:
            for chosen in product((self.member_named(i, kind) for i in range(kind.count)), repeat=arity):
                self._fact(stated(*chosen))

    # -- leaves -------------------------------------------------------------------------------------------

    def _leaf(self, name: str, kind: Type, arguments: list[Any]) -> Any:
        """A variable, with what its type says of its value."""
        term = self.function(name, arguments, kind)

        def make() -> Any:
            if isinstance(kind, IntType):
                bounds = [term >= kind.low] if kind.low > -ANY else []
                bounds += [term <= kind.high] if kind.high < ANY else []
                self.store.facts += bounds
            elif isinstance(kind, EnumType | IdType) and not unbounded(kind):
                self.store.facts += [term >= 0, term < kind.count]
            return self._element(kind, term, 0)

        return self._once(("leaf", name, self._id(term)), make)

    def member_named(self, index: int, kind: Type) -> Any:
        """The member of a sort with an index."""
        if not unbounded(kind):
            return z3.BoolVal(index == 1) if isinstance(kind, BoolType) else z3.IntVal(index)

        def make() -> Any:
            term = self._element(kind, z3.Const(f"{kind}!{index}", self.sort(kind)), 0)
            named = self._named.setdefault(kind, {})
            self.store.facts += [term != other for i, other in named.items() if i != index]
            named[index] = term
            if ("rank", kind) in self.store.memo:
                self.store.facts.append(self._rank(kind)(term) == index)
            return term

        return self._once(("id", kind, index), make)

    def of_these_alone(self, kind: Type, members: list[Any]) -> None:
        """States that a sort has these members and no others."""
        self._for_all(kind, lambda x: z3.Or(*(x == member for member in members)), ())

    def named(self, kind: Type) -> dict[int, Any]:
        """The members of a sort that were named by their index."""
        return self._named.get(kind, {})

    def _rank(self, kind: Type) -> Any:
        """The place of a member in the order of its sort."""

        def make() -> Any:
            rank = z3.Function(f"rank!{kind}", self.sort(kind), z3.IntSort())
            self._for_all(kind, lambda x: rank(x) >= 0, ())
            self._for_all(kind, lambda x, y: implication(rank(x) == rank(y), equal(x, y)), (), 2)
            self.store.facts += [rank(term) == index for index, term in self._named.get(kind, {}).items()]
            return rank

        return self._once(("rank", kind), make)

    def _id(self, term: Any) -> int:
        """The number of a term, which nothing else has from now on."""
        number: int = term.get_id()
        self._kept[number] = term
        return number

    def _key(self, env: Env) -> tuple[tuple[int, int], ...]:
        return tuple((n, self._id(t)) for n, t in env)

    def _compare(self, one: Counted, other: Counted) -> None:
        """States what follows for the numbers of members of two sets from how one is within the other."""
        raise NotImplementedError
