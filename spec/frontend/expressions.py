"""Expressions of the subset: a Python expression of a model, elaborated into a symbolic value.

Everything legal has a method here; everything else is refused with what to write instead (`Refusal`).
One module, since all of them read and narrow the same frame and path condition.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from reassure.spec.frontend.conditions import implied
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    MapOf,
    Mismatch,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Symbols,
    comparable,
    describe,
)
from reassure.spec.language.types import (
    NUMBER,
    SEQUENCE_BITS,
    BoolType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    MapType,
    SeqType,
    SetType,
    Type,
    bits_of,
)


@dataclass(frozen=True)
class Refusal:
    """A construct outside the subset, and what to write instead."""

    file: str
    line: int
    column: int
    construct: str
    remedy: str
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}:{self.column + 1}: {self.construct}: {self.remedy}"
        return text + (f"\n    {self.source}\n    {' ' * self.column}^" if self.source else "")


@dataclass(frozen=True)
class Check:
    """A condition the elaborated function passes in program order.

    kind "require": not enabled unless it holds, where no check before it has failed. kind "error": Python raises
    unless it holds; that Python gets there, past the guards before it, is in the condition.
    """

    kind: str
    condition: Node
    text: str
    file: str
    line: int
    column: int = 0
    part: tuple[int, int] = (0, 1)
    """Which of how many conjuncts of what is written there."""


@dataclass
class Frame:
    """One function being elaborated."""

    function: FunctionType
    file: str
    lines: list[str]
    env: dict[str, Sym]
    known: frozenset[str] = frozenset()
    """Access paths that are not None here."""
    broken: bool = False
    """Whether something in it was refused."""


class Refused(Exception):
    """Unwinds to the statement in which something was refused."""


_COMPARE_WITH = {
    SetType: "compare with an empty set: `x != frozenset()`",
    IntType: "compare with a number: `x != 0`",
    SeqType: "compare with an empty tuple: `x != ()`",
}


class Expressions:
    """Elaborates expressions in the current frame and under the current path condition."""

    def __init__(self, graph: Graph, config: Any) -> None:
        self.g = graph
        self.config = config
        self.symbols = Symbols(graph, config)
        self.refusals: list[Refusal] = []
        self.checks: list[Check] = []
        self.path = graph.true
        """Under which condition the branches, filters and operands so far lead here."""
        self.passed = graph.true
        """What the guards so far have made sure of."""
        self.guards_allowed = False
        self.frames: list[Frame] = []
        self.ordered_sorts: set[type] = set()
        """Id sorts whose order is read somewhere: they are not symmetric."""

    # -- bookkeeping ----------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def refuse(self, node: ast.AST, construct: str, remedy: str) -> Refused:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        frame = self.frame
        source = frame.lines[line - 1].rstrip() if line <= len(frame.lines) else ""
        found = Refusal(frame.file, line, column, construct, remedy, source)
        if found not in self.refusals:
            self.refusals.append(found)
        return Refused()

    @contextmanager
    def under(self, condition: Node) -> Iterator[None]:
        """Within, only runs in which `condition` holds are meant."""
        saved, self.path = self.path, self.g.and_(self.path, condition)
        try:
            yield
        finally:
            self.path = saved

    @contextmanager
    def knowing(self, facts: frozenset[str]) -> Iterator[None]:
        frame, saved = self.frame, self.frame.known
        frame.known = saved | facts
        try:
            yield
        finally:
            frame.known = saved

    def check(self, kind: str, node: ast.expr, condition: Node, part: tuple[int, int] = (0, 1), text: str = "") -> None:
        """Records that Python goes on here only if the condition holds."""
        g = self.g
        if kind == "error":
            condition = implied(g, g.and_(self.path, self.passed), condition)
        else:
            condition = implied(g, self.path, condition)
        if condition is g.true:
            return
        place = self.frame.file, node.lineno, node.col_offset
        self.checks.append(Check(kind, condition, text or ast.unparse(node), *place, part))
        if kind == "require":
            self.passed = g.and_(self.passed, condition)

    def mark(self) -> tuple[int, Node]:
        """What `rollback` goes back to."""
        return len(self.checks), self.passed

    def rollback(self, mark: tuple[int, Node]) -> None:
        """Forgets the checks since the mark, to elaborate the same once more."""
        del self.checks[mark[0] :]
        self.passed = mark[1]

    # -- narrowing of optionals -------------------------------------------------------------------

    def key(self, node: ast.expr) -> str | None:
        """The access path `a.b.c`, if the expression is one."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            base = self.key(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def facts(self, test: ast.expr, truth: bool) -> frozenset[str]:
        """Access paths that are not None if `test` has come out as `truth` (as mypy narrows them)."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.facts(test.operand, not truth)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if truth else ast.Or):
            known: frozenset[str] = frozenset()
            for part in test.values:
                with self.knowing(known):
                    known |= self.facts(part, truth)
            return known
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, op, right = test.left, test.ops[0], test.comparators[0]
            holds = truth if isinstance(op, ast.IsNot | ast.Eq | ast.In) else not truth
            found: set[str] = set()
            if isinstance(op, ast.Is | ast.IsNot) and isinstance(right, ast.Constant) and right.value is None:
                found = {self.key(left) or ""} if holds else set()
            elif isinstance(op, ast.Eq | ast.NotEq) and holds:
                for one, other in ((left, right), (right, left)):
                    name = self.key(one)
                    if name and not isinstance(self.peek(other), Option | Poison):
                        found.add(name)
            elif isinstance(op, ast.In | ast.NotIn) and holds:
                shown = right.elts if isinstance(right, ast.Tuple | ast.Set) else []
                if not any(isinstance(self.peek(e), Option | Poison) for e in shown):
                    found = {self.key(left) or ""}
            return frozenset(found - {""})
        return frozenset()

    def peek(self, node: ast.expr) -> Sym:
        """The value of an expression, nothing recorded."""
        refused, mark = len(self.refusals), self.mark()
        try:
            return self.expr(node)
        except (Refused, Mismatch):
            return POISON
        finally:
            del self.refusals[refused:]
            self.rollback(mark)

    # -- expressions --------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Sym:
        """The value of an expression; raises `Refused` (already recorded) or records a type mismatch."""
        method = getattr(self, "_" + type(node).__name__, None)
        if method is None:
            construct, remedy = _UNSUPPORTED.get(type(node), (type(node).__name__, "this is not in the language"))
            raise self.refuse(node, construct, remedy)
        try:
            value = method(node)
        except (Mismatch, DomainError) as error:
            raise self.refuse(node, "types do not fit", str(error)) from None
        assert isinstance(value, Sym)
        self.in_word(node, value)
        if isinstance(value, Option) and value.value is not None and self.key(node) in self.frame.known:
            return value.value
        return value

    def in_word(self, node: ast.AST, value: Sym) -> None:
        """Refuses a number or a sequence that may not fit the engines' words."""
        if not isinstance(value, Scalar):
            return
        kind = value.type
        if isinstance(kind, IntType) and not -NUMBER <= kind.low <= kind.high < NUMBER:
            what = f"`{ast.unparse(node)}` may be anything from {kind.low} to {kind.high}"
            raise self.refuse(node, what, "keep numbers within -2^62..2^62-1: narrow a Range, or take `min(x, limit)`")
        if isinstance(kind, SeqType) and kind.length * bits_of(kind.item) > SEQUENCE_BITS:
            most = SEQUENCE_BITS // bits_of(kind.item)
            what = f"`{ast.unparse(node)}` may have {kind.length} items of {kind.item}; at most {most} fit"
            raise self.refuse(node, what, "shorten its MaxLen, take a slice, or work with the set (`len(set)`)")

    def solid(self, node: ast.expr) -> Sym:
        """The value of an expression that may not be None here."""
        value = self.expr(node)
        if isinstance(value, Option):
            text = ast.unparse(node)
            raise self.refuse(node, f"`{text}` may be None here", f"test `{text} is not None` first, or `some({text})`")
        return value

    def boolean(self, node: ast.expr) -> Node:
        """The truth value of an expression that is a bool."""
        value = self.expr(node)
        if isinstance(value, Scalar) and isinstance(value.type, BoolType):
            return value.node
        if isinstance(value, Poison):
            raise Refused
        text = ast.unparse(node)
        if isinstance(value, Option):
            raise self.refuse(node, f"`{text}` is not a bool", f"write `{text} is not None`")
        remedy = "only bools are conditions"
        if isinstance(value, Scalar):
            remedy = _COMPARE_WITH.get(type(value.type), remedy)
        elif isinstance(value, Bag | Empty | Loose):
            remedy = _COMPARE_WITH[SetType]
        raise self.refuse(node, f"`{text}` is {describe(value)}, not a bool", remedy)

    def scalar(self, node: ast.expr, *kinds: type[Type]) -> Node:
        """The node of a scalar expression of one of the given types."""
        value = self.solid(node)
        if isinstance(value, Poison):
            raise Refused
        if isinstance(value, Scalar) and isinstance(value.type, kinds):
            return value.node
        wanted = " or ".join(_NAMES[k] for k in kinds)
        raise self.refuse(node, f"`{ast.unparse(node)}` is {describe(value)}", f"{wanted} is needed here")

    def _Constant(self, node: ast.Constant) -> Sym:
        if isinstance(node.value, bool | int) or node.value is None:
            return self.symbols.lift(node.value)
        raise self.refuse(node, f"the constant {node.value!r}", "values are bools, ints, ids, enum members, None")

    def _Name(self, node: ast.Name) -> Sym:
        frame = self.frame
        if node.id in frame.env:
            return frame.env[node.id]
        if node.id in frame.function.__code__.co_varnames:
            raise self.refuse(node, f"`{node.id}` may be unbound here", "give it a value on every path")
        closure = dict(zip(frame.function.__code__.co_freevars, frame.function.__closure__ or (), strict=False))
        if node.id in closure:
            return self.symbols.lift(closure[node.id].cell_contents)
        if node.id in frame.function.__globals__:
            return self.symbols.lift(frame.function.__globals__[node.id])
        if hasattr(builtins, node.id):
            return Static(getattr(builtins, node.id))
        raise self.refuse(node, f"`{node.id}` is not defined", "define or import it")

    def _Attribute(self, node: ast.Attribute) -> Sym:
        base = self.solid(node.value)
        if isinstance(base, Poison):
            return base
        if isinstance(base, Record):
            if node.attr in base.fields:
                return base.fields[node.attr]
            remedy = (
                f"{base.cls.__name__} has the fields {', '.join(base.fields)}; instead of a method write a function"
            )
            raise self.refuse(node, f"`.{node.attr}` is no field", remedy)
        if isinstance(base, Static):
            if base.value is self.config or isinstance(base.value, ModuleType | type):
                if not hasattr(base.value, node.attr):
                    raise self.refuse(node, f"no `{node.attr}`", f"{describe(base)} does not have it")
                return self.symbols.lift(getattr(base.value, node.attr))
        raise self.refuse(
            node, f"`.{node.attr}` of {describe(base)}", "only records, configuration and modules have fields"
        )

    def _BoolOp(self, node: ast.BoolOp) -> Sym:
        conjunction = isinstance(node.op, ast.And)
        terms: list[Node] = []
        known: frozenset[str] = frozenset()
        so_far = self.g.true
        for part in node.values:
            with self.under(so_far), self.knowing(known):
                term = self.boolean(part)
                known |= self.facts(part, conjunction)
            terms.append(term)
            so_far = self.g.and_(so_far, term if conjunction else self.g.not_(term))
        return Scalar(self.g.and_(*terms) if conjunction else self.g.or_(*terms))

    def _UnaryOp(self, node: ast.UnaryOp) -> Sym:
        if isinstance(node.op, ast.Not):
            return Scalar(self.g.not_(self.boolean(node.operand)))
        if isinstance(node.op, ast.USub):
            return Scalar(self.g.arith("sub", self.g.num(0), self.scalar(node.operand, IntType)))
        raise self.refuse(node, "this operator", "unary operators are `not` and `-`")

    def _IfExp(self, node: ast.IfExp) -> Sym:
        test = self.boolean(node.test)
        with self.under(test), self.knowing(self.facts(node.test, True)):
            yes = self.symbols.as_bag(self.expr(node.body))
        with self.under(self.g.not_(test)), self.knowing(self.facts(node.test, False)):
            no = self.symbols.as_bag(self.expr(node.orelse))
        return self.symbols.choose(test, yes, no)

    def _BinOp(self, node: ast.BinOp) -> Sym:
        return self.binary(node, node.op, self.solid(node.left), self.operand(node.right))

    def operand(self, node: ast.expr) -> Sym:
        """As `solid`, where also a set display may stand: it gives no mutable set to what comes after."""
        if isinstance(node, ast.Set):
            return self.symbols.set_of([(self.g.true, self.solid(e)) for e in node.elts])
        if isinstance(node, ast.SetComp):
            return self.set_from(node)
        return self.solid(node)

    def binary(self, node: ast.AST, op: ast.operator, a: Sym, b: Sym) -> Sym:
        """`a op b` for ints, sets, message sets and sequences."""
        g = self.g
        if isinstance(a, Poison) or isinstance(b, Poison):
            return POISON
        if isinstance(a, Bag | Loose) or isinstance(b, Bag | Loose):
            return self._message_sets(node, op, a, b)
        if isinstance(a, Empty) or isinstance(b, Empty):
            if isinstance(a, Empty) and isinstance(b, Empty) and a.sequence == b.sequence:
                return a
            a = self.symbols.empty_like(b, a.sequence) if isinstance(a, Empty) else a
            b = self.symbols.empty_like(a, b.sequence) if isinstance(b, Empty) else b
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            x, y = a.node, b.node
            if isinstance(a.type, IntType) and isinstance(b.type, IntType):
                name = _ARITHMETIC.get(type(op))
                if name in ("floordiv", "mod") and not (y.op == "const" and y.data > 0):
                    raise self.refuse(node, "division by what is no constant", "the divisor is a positive constant")
                if name:
                    return Scalar(g.arith(name, x, y))
            if isinstance(a.type, SetType) and a.type == b.type:
                name = _SETS.get(type(op))
                if name:
                    return Scalar(getattr(g, name)(x, y))
            if isinstance(a.type, SeqType) and isinstance(b.type, SeqType) and isinstance(op, ast.Add):
                if a.type.item == b.type.item:
                    kind = SeqType(a.type.item, a.type.length + b.type.length)
                    return Scalar(g.op("seq_cat", kind, (x, y)))
        sign = _SIGNS.get(type(op), type(op).__name__)
        remedy = "`| & - ^` are for sets of one sort, `+ - * // %` for ints, `+` for tuples"
        raise self.refuse(node, f"{describe(a)} {sign} {describe(b)}", remedy)

    def _message_sets(self, node: ast.AST, op: ast.operator, a: Sym, b: Sym) -> Sym:
        g, symbols = self.g, self.symbols
        if isinstance(a, Empty):
            return b if isinstance(op, ast.BitOr | ast.BitXor) else a
        if isinstance(b, Empty):
            return b if isinstance(op, ast.BitAnd) else a
        if not isinstance(a, Bag | Loose) or not isinstance(b, Bag | Loose):
            raise self.refuse(node, f"{describe(a)} and {describe(b)}", "sets of the same kind of member")
        if isinstance(op, ast.BitOr):
            result = symbols.as_bag(a)
            assert isinstance(result, Bag)
            if isinstance(b, Loose):
                for condition, record in b.members:
                    if record.cls is not result.item.cls:
                        raise Mismatch(f"{describe(a)} and {describe(b)}")
                    result = symbols.with_record(result, record, condition)
                return result
            if b.item != result.item:
                raise Mismatch(f"{describe(a)} and {describe(b)}")
            for slot in b.slots:
                result = symbols.insert(result, slot, result.item, symbols.occupied(slot))
            return Bag(result.item, result.slots, result.excess + b.excess)
        if isinstance(op, ast.Sub | ast.BitAnd):
            inside = isinstance(op, ast.BitAnd)
            if isinstance(a, Loose):
                kept = []
                for condition, record in a.members:
                    found = symbols.among(record, b)
                    kept.append((g.and_(condition, found if inside else g.not_(found)), record))
                return Loose(tuple(kept))
            conditions = []
            for slot in symbols.looked_into(a).slots:
                unpacked = symbols.unpack_slot(a.item, slot)
                assert isinstance(unpacked, Record)
                found = symbols.among(unpacked, b)
                conditions.append(found if inside else g.not_(found))
            return symbols.keep(a, conditions)
        raise self.refuse(node, "this operator on sets of records", "use `|`, `-` or `&`")

    def _Compare(self, node: ast.Compare) -> Sym:
        terms = []
        left = node.left
        so_far = self.g.true
        for op, right in zip(node.ops, node.comparators, strict=True):
            with self.under(so_far):
                term = self._comparison(node, left, op, right)
            terms.append(term)
            so_far = self.g.and_(so_far, term)
            left = right
        return Scalar(self.g.and_(*terms))

    def _comparison(self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Node:
        g = self.g
        if isinstance(op, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise self.refuse(node, "`is`", "`is` is only for None; compare with `==`")
            value = self.expr(left)
            if isinstance(value, Poison):
                raise Refused
            absent = g.not_(value.present) if isinstance(value, Option) else g.false
            return absent if isinstance(op, ast.Is) else g.not_(absent)
        if isinstance(op, ast.In | ast.NotIn):
            found = self._membership(node, self.expr(left), right)
            return found if isinstance(op, ast.In) else g.not_(found)
        if isinstance(op, ast.Eq | ast.NotEq):
            a, b = (self.operand(x) if isinstance(x, ast.Set | ast.SetComp) else self.expr(x) for x in (left, right))
            if isinstance(a, Poison) or isinstance(b, Poison):
                raise Refused
            same = self._same(a, b)
            return same if isinstance(op, ast.Eq) else g.not_(same)
        return self._order(node, self.operand(left), op, self.operand(right))

    def _same(self, a: Sym, b: Sym) -> Node:
        if isinstance(a, Static) and isinstance(b, Static):
            return self.g.truth(a.value == b.value)
        return self.symbols.equal(a, b)

    def _order(self, node: ast.Compare, a: Sym, op: ast.cmpop, b: Sym) -> Node:
        g = self.g
        if isinstance(op, ast.Gt | ast.GtE):
            a, b = b, a
        strict = isinstance(op, ast.Lt | ast.Gt)
        if isinstance(a, Poison) or isinstance(b, Poison):
            raise Refused
        if isinstance(a, Empty) and isinstance(b, Empty):
            return g.truth(not strict)
        a = self.symbols.empty_like(b, a.sequence) if isinstance(a, Empty) else a
        b = self.symbols.empty_like(a, b.sequence) if isinstance(b, Empty) else b
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            x, y = a.node, b.node
            if isinstance(a.type, IntType) and isinstance(b.type, IntType):
                return g.lt(x, y) if strict else g.le(x, y)
            if isinstance(a.type, IdType) and a.type == b.type:
                self.ordered_sorts.add(a.type.sort)
                return g.lt(x, y) if strict else g.le(x, y)
            if isinstance(a.type, SetType) and a.type == b.type:
                within = g.subset(x, y)
                return g.and_(within, g.not_(g.eq(x, y))) if strict else within
        remedy = "`<` compares ints, ids of one sort, or sets of one sort"
        raise self.refuse(node, f"an order of {describe(a)} and {describe(b)}", remedy)

    def _membership(self, node: ast.Compare, value: Sym, right: ast.expr) -> Node:
        g = self.g
        if isinstance(right, ast.Tuple | ast.Set):
            parts = [self.expr(e) for e in right.elts]
            if isinstance(value, Poison) or any(isinstance(p, Poison) for p in parts):
                raise Refused
            return g.or_(*(self._same(value, p) for p in parts))
        within = self.operand(right)
        if isinstance(value, Poison) or isinstance(within, Poison):
            raise Refused
        if isinstance(value, Option):
            if value.value is None:
                return g.false
            return g.and_(value.present, self._within(node, value.value, within))
        return self._within(node, value, within)

    def _within(self, node: ast.Compare, value: Sym, within: Sym) -> Node:
        g = self.g
        if isinstance(within, Static) and isinstance(within.value, tuple | frozenset | set):
            return g.truth(isinstance(value, Static) and value.value in within.value)
        if isinstance(within, Empty):
            return g.false
        if isinstance(value, Record):
            return self.symbols.among(value, within)
        if isinstance(value, Scalar) and isinstance(within, Scalar):
            if isinstance(within.type, SetType) and comparable(value.type, within.type.item):
                return g.member(self.symbols.index(value), within.node)
            if isinstance(within.type, SeqType) and comparable(value.type, within.type.item):
                return g.member(self.symbols.index(value), self.seq_set(within.node))
        raise self.refuse(node, f"{describe(value)} in {describe(within)}", "the set's members are of another sort")

    def seq_set(self, node: Node) -> Node:
        assert isinstance(node.type, SeqType)
        return self.g.op("seq_set", SetType(node.type.item), (node,))

    def seq_len(self, node: Node) -> Node:
        assert isinstance(node.type, SeqType)
        return self.g.op("seq_len", IntType(0, node.type.length), (node,))

    def _Tuple(self, node: ast.Tuple) -> Sym:
        parts = [self.solid(e) for e in node.elts]
        if parts and all(isinstance(p, Static) for p in parts):
            return Static(tuple(p.value for p in parts if isinstance(p, Static)))
        if any(isinstance(p, Poison) for p in parts):
            raise Refused
        return self.symbols.sequence(parts)

    def _Subscript(self, node: ast.Subscript) -> Sym:
        base = self.solid(node.value)
        if isinstance(base, Poison):
            return base
        if isinstance(base, MapOf):
            index = self.solid(node.slice)
            if isinstance(index, Scalar) and index.type == base.key:
                return self.lookup(base, self.symbols.index(index))
            raise self.refuse(node, f"a map from {base.key} at {describe(index)}", "index it with one of its keys")
        if isinstance(base, Scalar) and isinstance(base.type, SeqType):
            return self._sequence_at(node, base.node, base.type)
        raise self.refuse(node, f"an index into {describe(base)}", "only maps and tuples are indexed")

    def _sequence_at(self, node: ast.Subscript, seq: Node, kind: SeqType) -> Sym:
        g = self.g
        length = self.seq_len(seq)
        if isinstance(node.slice, ast.Slice):
            part = node.slice
            if part.step is not None:
                raise self.refuse(node, "a slice with a step", "write `seq[a:b]`")
            result = seq
            first = None if part.lower is None else self._bound_of_slice(part.lower)
            if part.upper is not None:
                end = self._bound_of_slice(part.upper)
                kind = SeqType(kind.item, max(1, min(kind.length, interval(end).high)))
                result = g.op("seq_take", kind, (result, end))
            if first is not None:
                kind = SeqType(kind.item, max(1, kind.length - interval(first).low))
                result = g.op("seq_drop", kind, (result, first))
            return Scalar(result)
        index = self.scalar(node.slice, IntType)
        if index.op == "const" and index.data < 0:
            index = g.arith("add", length, index)
        elif interval(index).low < 0:
            raise self.refuse(node, "an index that may be negative", "index from the front, or with a constant")
        self.check("error", node, g.and_(g.lt(index, length), g.le(g.num(0), index)))
        return Scalar(g.op("seq_get", kind.item, (seq, index)))

    def _bound_of_slice(self, node: ast.expr) -> Node:
        bound = self.scalar(node, IntType)
        if interval(bound).low < 0:
            raise self.refuse(node, "a slice bound that may be negative", "count from the front")
        return bound

    def lookup(self, base: MapOf, index: Node) -> Sym:
        """`map[key]`."""
        if index.op == "const":
            known: Sym = base.values[index.data]
            return known
        result = base.values[-1]
        for k in range(len(base.values) - 2, -1, -1):
            result = self.symbols.choose(self.g.eq(index, self.g.const(k, base.key)), base.values[k], result)
        return result

    # -- to be provided by the parts built on this one ------------------------------------------------

    def set_from(self, node: ast.GeneratorExp | ast.SetComp) -> Sym:
        raise NotImplementedError


def interval(node: Node) -> IntType:
    """The interval of an int's node."""
    assert isinstance(node.type, IntType)
    return node.type


_ARITHMETIC: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}
_SETS: dict[type, str] = {ast.BitOr: "union", ast.BitAnd: "inter", ast.Sub: "minus", ast.BitXor: "xor"}
_SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/", ast.Pow: "**",
    ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_NAMES: dict[type, str] = {
    BoolType: "a bool",
    IntType: "an int",
    SetType: "a set",
    SeqType: "a tuple",
    IdType: "an id",
    EnumType: "an enum member",
    MapType: "a map",
}
_UNSUPPORTED: dict[type, tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write a function of the module"),
    ast.NamedExpr: ("`:=`", "assign in a statement of its own"),
    ast.JoinedStr: ("an f-string", "a model has no text"),
    ast.Dict: ("a dict", "use `Map({k: v for k in every(Sort, c)})`"),
    ast.DictComp: ("a dict comprehension", "wrap it: `Map({k: v for k in every(Sort, c)})`"),
    ast.Set: ("a mutable set", "write `frozenset({...})`"),
    ast.SetComp: ("a mutable set", "write `frozenset(... for ...)`"),
    ast.List: ("a list", "use a tuple or frozenset"),
    ast.ListComp: ("a list comprehension", "use `tuple(... for ...)` or `frozenset(... for ...)`"),
    ast.GeneratorExp: ("a generator", "give it to any, all, sum, min, max, next, tuple or frozenset"),
    ast.Await: ("await", "a model is plain functions"),
    ast.Yield: ("yield", "return one value; choices are parameters"),
    ast.YieldFrom: ("yield from", "return one value; choices are parameters"),
    ast.Starred: ("`*`", "write the arguments out"),
}

__all__ = ["Check", "Expressions", "Frame", "Refusal", "Refused"]
