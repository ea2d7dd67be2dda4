"""Expressions: constants, names, operators, comparisons, subscripts; calls are in `calls.py`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

from reassure.checkers.tla.calls import apply, declared_property, set_enumeration, translate_call
from reassure.checkers.tla.context import Context, Value, known, signature
from reassure.checkers.tla.iteration import set_constructor
from reassure.checkers.tla.kinds import (
    INTEGER,
    Kind,
    Static,
    family,
    field_of,
    is_record,
    item_of,
    items_of_tuple,
    kind_of_values,
    place_name,
    sequences_of,
    tuple_term,
)
from reassure.checkers.tla.order import has_parts, precedes
from reassure.checkers.tla.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    call,
    choose,
    conjunction,
    disjunction,
    field,
    infix,
    negation,
    truth,
)
from reassure.spec.language.values import Map


def translate(context: Context, node: ast.expr) -> Value:
    """The value of an expression; `Untranslatable` if it has no translation."""
    construct = CONSTRUCTS.get(type(node))
    if construct is None:
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    return construct(context, node)


def _constant(context: Context, node: ast.Constant) -> Value:
    if isinstance(node.value, int) and abs(node.value) >= INTEGER:
        raise context.refuse(node, f"the number {node.value}, as TLC's integers have 32 bits,")
    return context.lift(node.value)


def _name(context: Context, node: ast.Name) -> Value:
    if node.id in context.variables:
        return context.variables[node.id]
    function = context.function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    if node.id in cells:
        return context.lift(cells[node.id].cell_contents, node.id)
    if node.id in function.__globals__:
        return context.lift(function.__globals__[node.id], node.id)
    return known(getattr(builtins, node.id))


def _attribute(context: Context, node: ast.Attribute) -> Value:
    base = context.translate(node.value)
    if isinstance(base.kind, Static):
        found = base.static
        if found is context.scope.bound.config:
            return context.scope.setting(node.attr)
        if isinstance(found, ModuleType | type) or is_dataclass(found):
            return context.lift(getattr(found, node.attr), node.attr if isinstance(found, ModuleType) else "")
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    fget = declared_property(base.kind, node.attr)
    if fget is not None:
        return apply(context, node, fget, {next(iter(signature(fget))): base})
    if not is_record(base.kind):
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    kind = field_of(base.kind, node.attr)
    if base.moment:
        return Value(context.scope.variable(node.attr, base.moment), kind)
    return Value(field(base.term, node.attr), kind)


def _bool_op(context: Context, node: ast.BoolOp) -> Value:
    conjunctive = isinstance(node.op, ast.And)
    terms: list[Term] = []
    for part in node.values:
        before = conjunction(terms) if conjunctive else negation(disjunction(terms))
        if before == FALSE:
            break
        with context.guards_if(before):
            terms.append(context.condition(part))
    return Value(conjunction(terms) if conjunctive else disjunction(terms), bool)


def _unary_op(context: Context, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return Value(negation(context.condition(node.operand)), bool)
    return Value(Term("neg", (context.term(node.operand),)), int)


def _if_expression(context: Context, node: ast.IfExp) -> Value:
    test = context.condition(node.test)
    if test in (TRUE, FALSE):
        return context.translate(node.body if test == TRUE else node.orelse)
    with context.guards_if(test):
        yes = context.translate(node.body)
    with context.guards_if(negation(test)):
        no = context.translate(node.orelse)
    return Value(choose(test, context.whole(yes, node), context.whole(no, node)), _either(yes.kind, no.kind))


def _either(a: Kind, b: Kind) -> Kind:
    return b if a in (type(None), frozenset, tuple) else a


ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: r"\div",
    ast.Mod: "%",
}
ON_SETS: dict[type[ast.operator], str] = {ast.BitOr: r"\cup", ast.BitAnd: r"\cap", ast.Sub: "\\"}


def _binary_op(context: Context, node: ast.BinOp) -> Value:
    a, b = context.translate(node.left), context.translate(node.right)
    x, y = context.whole(a, node), context.whole(b, node)
    kind, op = _either(a.kind, b.kind), type(node.op)
    if items_of_tuple(a.kind) is not None or items_of_tuple(b.kind) is not None:
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    if family(kind) is tuple and op is ast.Add:
        return Value(infix(r"\o", x, y), kind)
    if family(kind) is frozenset:
        if op is ast.BitXor:
            return Value(infix(r"\cup", infix("\\", x, y), infix("\\", y, x)), kind)
        if op in ON_SETS:
            return Value(infix(ON_SETS[op], x, y), kind)
    elif op in ARITHMETIC:
        return Value(infix(ARITHMETIC[op], x, y), int)
    raise context.refuse(node, f"`{ast.unparse(node)}`")


COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "=", ast.NotEq: "#", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "=", ast.IsNot: "#",
}  # fmt: skip


def _compare(context: Context, node: ast.Compare) -> Value:
    terms: list[Term] = []
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        with context.guards_if(conjunction(terms)):
            terms.append(_comparison(context, node, left, op, right))
        left = right
    return Value(conjunction(terms), bool)


def _comparison(context: Context, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Term:
    if isinstance(op, ast.In | ast.NotIn):
        within = _membership(context, node, context.translate(left), right)
        return within if isinstance(op, ast.In) else negation(within)
    a, b = context.translate(left), context.translate(right)
    if isinstance(a.kind, Static) and isinstance(b.kind, Static):
        same = a.static == b.static
        return truth(same == isinstance(op, ast.Eq | ast.Is))
    ordered = family(_either(a.kind, b.kind)) in (frozenset, tuple, bool) or has_parts(a.kind)
    if ordered and not isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        strict = isinstance(op, ast.Lt | ast.Gt)
        return precedes(context, node, *((b, a) if isinstance(op, ast.Gt | ast.GtE) else (a, b)), strict)
    return infix(COMPARISONS[type(op)], context.whole(a, node), context.whole(b, node))


def _membership(context: Context, node: ast.Compare, value: Value, right: ast.expr) -> Term:
    if isinstance(right, ast.Tuple | ast.Set):
        members = [context.translate(e) for e in right.elts]
        if isinstance(value.kind, Static):
            return truth(any(value.static == m.static for m in members))
        terms = tuple(context.whole(m, node) for m in members)
        x = context.whole(value, node)
        return infix("=", x, terms[0]) if len(terms) == 1 else infix(r"\in", x, Term("set", terms))
    container = context.translate(right)
    if isinstance(value.kind, Static):
        return truth(value.static in container.static)
    x = context.whole(value, node)
    if family(container.kind) is tuple and items_of_tuple(container.kind) is None:
        return infix(r"\in", x, call(context.scope.helper("Range"), container.term))
    return infix(r"\in", x, context.whole(container, node))


def _tuple(context: Context, node: ast.Tuple) -> Value:
    items = [context.translate(e) for e in node.elts]
    if items and all(isinstance(i.kind, Static) for i in items):
        return known(tuple(i.static for i in items))
    if not items:
        return Value(Term("tuple"), tuple)
    return Value(*tuple_term(tuple(context.whole(i, node) for i in items), tuple(i.kind for i in items)))


def _is_number(node: ast.expr) -> bool:
    """Whether a number is written there."""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant)


def _subscript(context: Context, node: ast.Subscript) -> Value:
    base = context.translate(node.value)
    if family(base.kind) is Map:
        return Value(Term("index", (base.term, context.term(node.slice))), kind_of_values(base.kind))
    if family(base.kind) is not tuple:
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    kinds = items_of_tuple(base.kind)
    if kinds is not None and not _is_number(node.slice):
        if len(set(kinds)) > 1 or base.term.op != "record":
            raise context.refuse(node, f"`{ast.unparse(node)}`")
        base = Value(Term("tuple", base.term.parts), sequences_of(kinds[0]))
    elif kinds is not None:
        index = ast.literal_eval(node.slice)
        return Value(field(base.term, place_name(index % len(kinds))), kinds[index])
    length = call("Len", base.term)
    if isinstance(node.slice, ast.Slice):
        low = atom("0") if node.slice.lower is None else _from_the_front(context, node.slice.lower, length)
        high = length
        if node.slice.upper is not None:
            end = _from_the_front(context, node.slice.upper, length)
            high = call(context.scope.helper("Min"), Term("set", (end, length)))
        return Value(call("SubSeq", base.term, infix("+", low, atom("1")), high), base.kind)
    index = context.term(node.slice)
    if index.op == "neg":
        back = index.parts[0]
        place = length if back == atom("1") else infix("-", length, infix("-", back, atom("1")))
    elif index.op == "infix" and index.names == ("-",) and index.parts[1] == atom("1"):
        place = index.parts[0]
    else:
        place = infix("+", index, atom("1"))
    return Value(Term("index", (base.term, place)), item_of(base.kind))


def _from_the_front(context: Context, node: ast.expr, length: Term) -> Term:
    """A bound of a slice, which may be written as one from the end."""
    bound = context.term(node)
    if bound.op != "neg":
        return bound
    return call(context.scope.helper("Max"), Term("set", (atom("0"), infix("-", length, bound.parts[0]))))


CONSTRUCTS: dict[type[ast.expr], Callable[[Context, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary_op,
    ast.IfExp: _if_expression,
    ast.BinOp: _binary_op,
    ast.Compare: _compare,
    ast.Tuple: _tuple,
    ast.Subscript: _subscript,
    ast.Call: translate_call,
    ast.Set: set_enumeration,
    ast.SetComp: set_constructor,
}
"""The expressions of the language, and where each is translated; `spec/frontend/lowering.py` has the same."""
