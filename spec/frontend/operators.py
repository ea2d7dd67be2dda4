"""`and`, `or`, `not`, `a if c else b`, and the operators on ints, sets, sets of records and sequences."""

from __future__ import annotations

import ast

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower, lower_condition, lower_operand, lower_present, lower_scalar
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.narrowing import NOTHING, not_none_if
from reassure.spec.frontend.record_sets import insert, keep, occupied, unpack_slot
from reassure.spec.frontend.sets_and_sequences import empty_like
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    Mismatch,
    Poison,
    Record,
    Scalar,
    Sym,
    describe,
)
from reassure.spec.language.types import IntType, SeqType, SetType


def bool_op(context: Context, node: ast.BoolOp) -> Sym:
    """`and`, `or`: a term is evaluated only where those before it have not decided."""
    g = context.graph
    conjunction = isinstance(node.op, ast.And)
    terms: list[Node] = []
    not_none = NOTHING
    undecided = g.true
    for part in node.values:
        term = g.false
        with context.under(undecided), context.knowing(not_none):
            term = lower_condition(context, part)
            not_none |= not_none_if(context, part, conjunction)
        terms.append(term)
        undecided = g.and_(undecided, term if conjunction else g.not_(term))
    return Scalar(g.and_(*terms) if conjunction else g.or_(*terms))


def unary_op(context: Context, node: ast.UnaryOp) -> Sym:
    """`not` and `-`."""
    g = context.graph
    if isinstance(node.op, ast.Not):
        return Scalar(g.not_(lower_condition(context, node.operand)))
    if isinstance(node.op, ast.USub):
        return Scalar(g.arith("sub", g.num(0), lower_scalar(context, node.operand, IntType)))
    raise context.refuse(node, "this operator", "unary operators are `not` and `-`")


def if_expression(context: Context, node: ast.IfExp) -> Sym:
    """`a if c else b`."""
    g, symbols = context.graph, context.symbols
    test = lower_condition(context, node.test)
    yes: Sym = POISON
    no: Sym = POISON
    with context.under(test), context.knowing(not_none_if(context, node.test, True)):
        yes = symbols.as_bag(lower(context, node.body))
    with context.under(g.not_(test)), context.knowing(not_none_if(context, node.test, False)):
        no = symbols.as_bag(lower(context, node.orelse))
    return symbols.choose(test, yes, no)


def binary_op(context: Context, node: ast.BinOp) -> Sym:
    """`a op b` for ints, sets, sets of records and sequences."""
    a, b = lower_present(context, node.left), lower_operand(context, node.right)
    g, op = context.graph, node.op
    if isinstance(a, Poison) or isinstance(b, Poison):
        return POISON
    legal = not any(isinstance(x, Empty) and (type(op) in OF_SETS) == x.sequence for x in (a, b))
    if legal and (isinstance(a, Bag | Loose) or isinstance(b, Bag | Loose)):
        return _record_sets(context, node, a, b)
    if legal and (isinstance(a, Empty) or isinstance(b, Empty)):
        if isinstance(a, Empty) and isinstance(b, Empty) and a.sequence == b.sequence:
            return a
        a = empty_like(g, b, a.sequence) if isinstance(a, Empty) else a
        b = empty_like(g, a, b.sequence) if isinstance(b, Empty) else b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        combined = _scalars(context, node, a, b)
        if combined is not None:
            return Scalar(combined)
    sign = SIGNS.get(type(op), type(op).__name__)
    remedy = "`| & - ^` are for sets of one sort, `+ - * // %` for ints, `+` for tuples"
    raise context.refuse(node, f"{describe(a)} {sign} {describe(b)}", remedy)


def _scalars(context: Context, node: ast.BinOp, a: Scalar, b: Scalar) -> Node | None:
    """`a op b` for ints, sets and sequences; None if there is no such operator."""
    g, x, y = context.graph, a.node, b.node
    if isinstance(a.type, IntType) and isinstance(b.type, IntType) and type(node.op) in ARITHMETIC:
        operation = ARITHMETIC[type(node.op)]
        if operation in ("floordiv", "mod") and not (y.op == "const" and y.data > 0):
            raise context.refuse(node, "division by what is not constant", "the divisor is a positive constant")
        return g.arith(operation, x, y)
    if isinstance(a.type, SetType) and a.type == b.type:
        if isinstance(node.op, ast.BitOr):
            return g.union(x, y)
        if isinstance(node.op, ast.BitAnd):
            return g.inter(x, y)
        if isinstance(node.op, ast.Sub):
            return g.minus(x, y)
        if isinstance(node.op, ast.BitXor):
            return g.xor(x, y)
    if isinstance(a.type, SeqType) and isinstance(b.type, SeqType) and isinstance(node.op, ast.Add):
        if a.type.item == b.type.item:
            kind = SeqType(a.type.item, a.type.length + b.type.length)
            return g.op("seq_cat", kind, (x, y))
    return None


def _record_sets(context: Context, node: ast.BinOp, a: Sym, b: Sym) -> Sym:
    """`a op b` where one of them is a set of records."""
    op = node.op
    if type(op) not in OF_SETS:
        raise context.refuse(node, "this operator on sets of records", "use `|`, `-` or `&`")
    if isinstance(a, Empty):
        return b if isinstance(op, ast.BitOr | ast.BitXor) else a
    if isinstance(b, Empty):
        return b if isinstance(op, ast.BitAnd) else a
    if not isinstance(a, Bag | Loose) or not isinstance(b, Bag | Loose):
        raise context.refuse(node, f"{describe(a)} and {describe(b)}", "sets of the same kind of member")
    if isinstance(op, ast.BitOr):
        return _union(context, a, b)
    if isinstance(op, ast.Sub | ast.BitAnd):
        return _restricted(context, a, b, isinstance(op, ast.BitAnd))
    raise context.refuse(node, "this operator on sets of records", "use `|`, `-` or `&`")


def _union(context: Context, a: Bag | Loose, b: Bag | Loose) -> Bag:
    g, symbols = context.graph, context.symbols
    union = symbols.as_bag(a)
    assert isinstance(union, Bag)
    if isinstance(b, Loose):
        for condition, record in b.members:
            if record.cls is not union.item.cls:
                raise Mismatch(f"{describe(a)} and {describe(b)}")
            union = symbols.with_record(union, record, condition)
        return union
    if b.item != union.item:
        raise Mismatch(f"{describe(a)} and {describe(b)}")
    for slot in b.slots:
        union = insert(g, union, slot, union.item, occupied(g, slot))
    return Bag(union.item, union.slots, union.excess + b.excess)


def _restricted(context: Context, a: Bag | Loose, b: Bag | Loose, inside: bool) -> Bag | Loose:
    """The records of `a` that are in `b`, or those that are not."""
    g, symbols = context.graph, context.symbols
    if isinstance(a, Loose):
        members = []
        for condition, record in a.members:
            in_b = symbols.among(record, b)
            members.append((g.and_(condition, in_b if inside else g.not_(in_b)), record))
        return Loose(tuple(members))
    conditions = []
    for slot in a.looked_into():
        unpacked = unpack_slot(g, a.item, slot)
        assert isinstance(unpacked, Record)
        in_b = symbols.among(unpacked, b)
        conditions.append(in_b if inside else g.not_(in_b))
    return keep(g, a, conditions)


OF_SETS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
"""The operators on sets; of sequences there is `+` alone."""
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}
"""Operations of the graph on ints."""
SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/", ast.Pow: "**",
    ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip

__all__ = ["binary_op", "bool_op", "if_expression", "unary_op"]
