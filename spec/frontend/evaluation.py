"""The value of an expression: any value, one that is not None, a condition, a scalar of some type."""

from __future__ import annotations

import ast

from reassure.spec.frontend.bounds import beyond_words
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    Mismatch,
    Option,
    Poison,
    Scalar,
    Sym,
    describe,
)
from reassure.spec.language.types import (
    BoolType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    MapType,
    SeqType,
    SetType,
    Type,
)


def lower(context: Context, node: ast.expr) -> Sym:
    """The value of an expression. Raises `Refused`, the refusal being recorded, if it is outside the language."""
    lower_expression = context.constructs.expressions.get(type(node))
    if lower_expression is None:
        construct, remedy = UNSUPPORTED.get(type(node), (type(node).__name__, "this is not in the language"))
        raise context.refuse(node, construct, remedy)
    context.must_be_small(node)
    try:
        value = lower_expression(context, node)
    except (Mismatch, DomainError) as error:
        raise context.refuse(node, "types do not fit", str(error)) from None
    if isinstance(value, Scalar):
        beyond = beyond_words(node, value.type)
        if beyond is not None:
            raise context.refuse(node, *beyond)
    if isinstance(value, Option) and value.value is not None and access_path(node) in context.frame.not_none:
        return value.value
    return value


def access_path(node: ast.expr) -> str | None:
    """The access path `a.b.c`, if the expression is one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = access_path(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def peek(context: Context, node: ast.expr) -> Sym:
    """The value of an expression, nothing recorded; `POISON` if it is refused."""
    with context.nothing_recorded():
        try:
            return lower(context, node)
        except (Refused, Mismatch):
            return POISON


def lower_present(context: Context, node: ast.expr) -> Sym:
    """The value of an expression that may not be None here."""
    value = lower(context, node)
    if isinstance(value, Option):
        text = ast.unparse(node)
        raise context.refuse(node, f"`{text}` may be None here", f"test `{text} is not None` first, or `some({text})`")
    return value


def lower_operand(context: Context, node: ast.expr) -> Sym:
    """As `lower_present`, where also a set display may stand: it gives no mutable set to what comes after."""
    lower_set = context.constructs.set_displays.get(type(node))
    return lower_present(context, node) if lower_set is None else lower_set(context, node)


def lower_condition(context: Context, node: ast.expr) -> Node:
    """The truth value of an expression that is a bool."""
    value = lower(context, node)
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return value.node
    if isinstance(value, Poison):
        raise Refused
    text = ast.unparse(node)
    if isinstance(value, Option):
        raise context.refuse(node, f"`{text}` is not a bool", f"write `{text} is not None`")
    remedy = "only bools are conditions"
    if isinstance(value, Scalar):
        remedy = COMPARE_WITH.get(type(value.type), remedy)
    elif isinstance(value, Bag | Empty | Loose):
        remedy = COMPARE_WITH[SetType]
    raise context.refuse(node, f"`{text}` is {describe(value)}, not a bool", remedy)


def lower_scalar(context: Context, node: ast.expr, *kinds: type[Type]) -> Node:
    """The node of a scalar expression of one of the given types."""
    value = lower_present(context, node)
    if isinstance(value, Poison):
        raise Refused
    if isinstance(value, Scalar) and isinstance(value.type, kinds):
        return value.node
    kinds_text = " or ".join(TYPE_NAMES[k] for k in kinds)
    raise context.refuse(node, f"`{ast.unparse(node)}` is {describe(value)}", f"{kinds_text} is needed here")


COMPARE_WITH: dict[type[Type], str] = {
    SetType: "compare with an empty set: `x != frozenset()`",
    IntType: "compare with a number: `x != 0`",
    SeqType: "compare with an empty tuple: `x != ()`",
}
"""The remedy where a value of a type stands for a condition."""
TYPE_NAMES: dict[type[Type], str] = {
    BoolType: "a bool",
    IntType: "an int",
    SetType: "a set",
    SeqType: "a tuple",
    IdType: "an id",
    EnumType: "an enum member",
    MapType: "a map",
}
UNSUPPORTED: dict[type[ast.expr], tuple[str, str]] = {
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
"""Expressions outside the language, with what to write instead."""

__all__ = [
    "access_path",
    "lower",
    "lower_condition",
    "lower_operand",
    "lower_present",
    "lower_scalar",
    "peek",
]
