"""Comprehensions of the subset: what a model may range over, and in which order what is in it is evaluated.

Everything that ranges over a finite sort is unrolled here; what ranges over a set becomes operations on its mask.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from reassure.spec.frontend.conditions import exclude
from reassure.spec.frontend.expressions import Check, Expressions, Refused
from reassure.spec.frontend.ir import Node, items
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    Poison,
    Scalar,
    Static,
    Sym,
    describe,
)
from reassure.spec.language.types import (
    IdType,
    IntType,
    SeqType,
    SetType,
    Type,
)

Item = tuple[Node, Sym]
"""A value and the condition under which it is there."""
Comprehension = ast.GeneratorExp | ast.SetComp | ast.DictComp
MOST = 4096
"""Numbers of a range, at most: each becomes a copy of the expression."""


@dataclass
class Selection:
    """A comprehension over one set: the set, and for each index its condition and element."""

    source: Node
    item: Type
    conditions: list[Node]
    elements: list[Sym]

    @property
    def identity(self) -> bool:
        """Whether the elements are the members themselves."""
        return all(
            isinstance(e, Scalar) and e.node.op == "const" and e.type == self.item and e.node.data == i
            for i, e in enumerate(self.elements)
        )


@dataclass
class Turn:
    """What one member of the (outermost) iterable of a comprehension gives: the checks on the way, and elements."""

    checks: list[Check]
    items: list[Item]


@dataclass
class Loop:
    """A comprehension while it is unrolled. ordered: only what has an order may be iterated over.

    one_by_one: what one element makes sure of holds for the next, and what comes after one that `ends` it is not
    reached: `live` is the condition under which none has.
    """

    element: ast.expr
    ordered: bool
    pairs: bool
    one_by_one: bool = False
    ends: Callable[[Sym], Node] | None = None
    live: Node | None = None
    in_order: bool = True
    """Whether everything it ranges over has an order."""
    turns: list[Turn] = field(default_factory=list)


class Comprehensions(Expressions):
    """Elaborates comprehensions."""

    def arguments(self, node: ast.Call, low: int, high: int, *keywords: str) -> list[ast.expr]:
        """Positional arguments, their number checked, and no keywords but the given ones."""
        unknown = [k.arg for k in node.keywords if k.arg not in keywords]
        if unknown or not low <= len(node.args) <= high:
            count = str(low) if low == high else f"{low} to {high}"
            raise self.refuse(node, f"`{ast.unparse(node)}`", f"it takes {count} arguments here")
        return node.args

    def keyword(self, node: ast.Call, name: str) -> ast.expr | None:
        return next((k.value for k in node.keywords if k.arg == name), None)

    def iterate(self, node: ast.expr, ordered: bool) -> tuple[list[Item], bool]:
        """The members an iterable may have, each with its condition, and whether they come in a defined order.

        ordered: refuse what has none.
        """
        g = self.g
        if isinstance(node, ast.Call):
            target = self.peek(node.func)
            if isinstance(target, Static) and target.value is sorted:
                return self._members(self.sorted_set(node)), True
            if isinstance(target, Static) and target.value is range:
                return self._range(node), True
        if isinstance(node, ast.Tuple):
            return [(g.true, self.solid(e)) for e in node.elts], True
        source = self.operand(node)
        if isinstance(source, Poison):
            raise Refused
        if isinstance(source, Empty):
            return [], True
        if isinstance(source, Scalar) and isinstance(source.type, SeqType):
            return self._positions(source.node, source.type), True
        if ordered:
            raise self.refuse(node, "a set has no order", "iterate over `sorted(...)` or a tuple")
        if isinstance(source, Scalar) and isinstance(source.type, SetType):
            return self._members(source.node), False
        if isinstance(source, Bag):
            slots = self.symbols.looked_into(source).slots
            return [(self.symbols.occupied(s), self.symbols.unpack_slot(source.item, s)) for s in slots], False
        if isinstance(source, Loose):
            return self._distinct(source), False
        raise self.refuse(node, f"iteration over {describe(source)}", "iterate over a set, a tuple or `every(Sort, c)`")

    def _distinct(self, source: Loose) -> list[Item]:
        """The records of a display, each once."""
        g = self.g
        found: list[Item] = []
        for i, (condition, record) in enumerate(source.members):
            same = [g.and_(c, self.symbols.equal(record, r)) for c, r in source.members[:i]]
            found.append((g.and_(condition, g.not_(g.or_(*same))), record))
        return found

    def _members(self, source: Node) -> list[Item]:
        assert isinstance(source.type, SetType)
        item, g = source.type.item, self.g
        return [(g.member(i, source), Scalar(i)) for i in (g.const(k, item) for k in range(items(item)))]

    def _positions(self, source: Node, kind: SeqType) -> list[Item]:
        g, length = self.g, self.seq_len(source)
        return [
            (g.lt(g.num(i), length), Scalar(g.op("seq_get", kind.item, (source, g.num(i))))) for i in range(kind.length)
        ]

    def _range(self, node: ast.Call) -> list[Item]:
        bounds = [self.scalar(a, IntType) for a in self.arguments(node, 1, 2)]
        if any(b.op != "const" for b in bounds):
            raise self.refuse(node, "a range whose bounds are no constants", "use constants or the configuration")
        numbers = range(*(b.data for b in bounds))
        if len(numbers) > MOST:
            raise self.refuse(node, f"a range of {len(numbers)} numbers", f"at most {MOST}")
        return [(self.g.true, Scalar(self.g.num(i))) for i in numbers]

    def sorted_set(self, node: ast.Call) -> Node:
        """The set under `sorted(...)`."""
        (argument,) = self.arguments(node, 1, 1)
        source = self.set_from(argument) if isinstance(argument, ast.GeneratorExp) else self.operand(argument)
        if isinstance(source, Scalar) and isinstance(source.type, SetType):
            if not isinstance(source.type.item, IdType):
                raise self.refuse(node, "sorted() of this", "only ids have an order here")
            self.ordered_sorts.add(source.type.item.sort)
            return source.node
        raise self.refuse(node, f"sorted() of {describe(source)}", "it sorts a set of ids")

    @contextmanager
    def naming(self, target: ast.expr, value: Sym) -> Any:
        if not isinstance(target, ast.Name):
            raise self.refuse(target, "this loop variable", "one name")
        frame, missing = self.frame, object()
        saved: Any = frame.env.get(target.id, missing)
        known = frame.known
        frame.env[target.id] = value
        frame.known = frozenset(k for k in known if k.split(".")[0] != target.id)
        try:
            yield
        finally:
            frame.known = known
            if saved is missing:
                del frame.env[target.id]
            else:
                frame.env[target.id] = saved

    def unroll(
        self,
        node: Comprehension,
        element: ast.expr,
        ordered: bool = False,
        pairs: bool = False,
        ends: Callable[[Sym], Node] | None = None,
        then: Callable[[], None] | None = None,
    ) -> list[Item]:
        """All elements of a comprehension with the conditions under which they are there.

        ends: the condition under which an element ends it, so that Python does not look at the rest. then: what is
        evaluated once the first iterable has been. Where the order of a set would show, this is refused.
        """
        loop = Loop(element, ordered, pairs)
        mark = self.mark()
        found = self._unrolled(node.generators, loop, then)
        if not any(turn.checks for turn in loop.turns):
            return found
        if loop.in_order:
            # Something may fail, so that it matters what is evaluated before: once more, one element after the other.
            self.rollback(mark)
            return self._unrolled(node.generators, Loop(element, ordered, pairs, True, ends, self.g.true), then)
        self.order_hidden(node, loop.turns, ends)
        return found

    def _unrolled(
        self, generators: list[ast.comprehension], loop: Loop, then: Callable[[], None] | None, inner: bool = False
    ) -> list[Item]:
        first, *rest = generators
        if first.is_async:
            raise self.refuse(loop.element, "async", "a model is plain functions")
        members, in_order = self.iterate(first.iter, loop.ordered)
        loop.in_order = loop.in_order and in_order
        if then is not None:
            then()
        found: list[Item] = []
        before, start = self.passed, len(self.checks)
        for condition, value in members:
            number = len(self.checks)
            if not loop.one_by_one and not inner:
                self.passed = before
            here = condition if loop.live is None else self.g.and_(loop.live, condition)
            with self.under(here), self.naming(first.target, value), self._filtered(first.ifs) as kept:
                items = self._unrolled(rest, loop, None, True) if rest else [(self.g.true, self._element(loop))]
            there = [(self.g.and_(condition, kept, c), v) for c, v in items]
            there = [(c, v) for c, v in there if c is not self.g.false]
            found += there
            if not inner:
                loop.turns.append(Turn(self.checks[number:], there))
        if not loop.one_by_one and not inner:
            guards = [c.condition for c in self.checks[start:] if c.kind == "require"]
            self.passed = self.g.and_(before, *guards)
        return found

    def _element(self, loop: Loop) -> Sym:
        element = loop.element
        if loop.pairs and isinstance(element, ast.Tuple):
            return Static(tuple(self.expr(e) for e in element.elts))
        value = self.expr(element)
        if loop.ends is not None and loop.live is not None:
            loop.live = self.g.and_(loop.live, self.g.not_(self.g.and_(self.path, loop.ends(value))))
        return value

    def order_hidden(self, node: ast.expr, turns: list[Turn], ends: Callable[[Sym], Node] | None) -> None:
        """Refuses a comprehension over a set in which one member may fail where another, if it came first, would end
        it or fail in another way: a set has no order."""
        g = self.g
        stops: list[list[tuple[str, Node]]] = []
        for turn in turns:
            held = [c.condition for c in turn.checks]
            found = [(c.kind, g.and_(g.not_(c.condition), *held[:i])) for i, c in enumerate(turn.checks)]
            if ends is not None:
                over = g.or_(*(g.and_(c, ends(v)) for c, v in turn.items))
                found.append(("end", g.and_(over, *held)))
            stops.append(found)
        for i, mine in enumerate(stops):
            others = [stop for j, theirs in enumerate(stops) if j != i for stop in theirs]
            for kind, fails in mine:
                if kind != "end" and any(k != kind and not exclude(g, fails, stop) for k, stop in others):
                    what = "what may fail in a comprehension over a set, whose order would show"
                    raise self.refuse(node, what, "test before it that it cannot fail, or iterate over `sorted(...)`")

    @contextmanager
    def _filtered(self, tests: list[ast.expr]) -> Any:
        """Within, the filters of a comprehension hold; yields their conjunction."""
        saved, known, kept = self.path, self.frame.known, self.g.true
        try:
            for test in tests:
                term = self.boolean(test)
                self.frame.known |= self.facts(test, True)
                self.path = self.g.and_(self.path, term)
                kept = self.g.and_(kept, term)
            yield kept
        finally:
            self.path, self.frame.known = saved, known

    def select(
        self, node: Comprehension, ordered: bool = False, then: Callable[[], None] | None = None, early: bool = False
    ) -> Selection | None:
        """The comprehension as a selection from one set (or, where order is wanted, a sorted one), if it is one.

        early: an element may end it, so that it is none where something in it may fail.
        """
        if len(node.generators) != 1 or not isinstance(node, ast.GeneratorExp | ast.SetComp):
            return None
        (generator,) = node.generators
        mark = self.mark()
        sorted_call = isinstance(generator.iter, ast.Call) and isinstance(t := self.peek(generator.iter.func), Static)
        if sorted_call and isinstance(t, Static) and t.value is sorted and isinstance(generator.iter, ast.Call):
            source = self.sorted_set(generator.iter)
        else:
            value = self.peek(generator.iter)
            if not isinstance(value, Scalar) or not isinstance(value.type, SetType | SeqType):
                return None
            if ordered and isinstance(value.type, SetType):
                raise self.refuse(generator.iter, "a set has no order", "iterate over `sorted(...)` or a tuple")
            value = self.solid(generator.iter)
            assert isinstance(value, Scalar)
            source = self.seq_set(value.node) if isinstance(value.type, SeqType) else value.node
        if then is not None:
            then()
        assert isinstance(source.type, SetType)
        item = source.type.item
        conditions, elements, turns = [], [], []
        before, start = self.passed, len(self.checks)
        for k in range(items(item)):
            self.passed, number = before, len(self.checks)
            index = self.g.const(k, item)
            with self.under(self.g.member(index, source)), self.naming(generator.target, Scalar(index)):
                with self._filtered(generator.ifs) as kept:
                    elements.append(self.expr(node.elt))
                conditions.append(kept)
            turns.append(Turn(self.checks[number:], []))
        if len(self.checks) > start:
            if early:
                self.rollback(mark)
                return None
            self.order_hidden(node, turns, None)
            guards = [c.condition for c in self.checks[start:] if c.kind == "require"]
            self.passed = self.g.and_(before, *guards)
        return Selection(source, item, conditions, elements)

    def chosen(self, found: Selection) -> Node:
        """The subset that a selection keeps."""
        return self.g.inter(found.source, self.g.build(found.item, found.conditions))

    def set_from(self, node: ast.GeneratorExp | ast.SetComp) -> Sym:
        """The set that a comprehension makes."""
        found = self.select(node)
        if found is not None and found.identity:
            return Scalar(self.chosen(found))
        members = self.unroll(node, node.elt)
        if any(isinstance(v, Poison) for _, v in members):
            return POISON
        return self.symbols.set_of(members)


__all__ = ["Comprehension", "Comprehensions", "Item", "Loop", "Selection", "Turn"]
