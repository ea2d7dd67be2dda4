"""Calls: of what the language offers, of built-in functions, of classes and functions of the model."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any

from reassure.spec.frontend import aggregates, guards, sorts_and_maps
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower, peek
from reassure.spec.frontend.functions import function_call
from reassure.spec.frontend.records import construct, replace_call
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Empty,
    MapOf,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    describe,
)
from reassure.spec.language import values
from reassure.spec.language.vocabulary import Action, Property, refuse, replace, require, some


def call(context: Context, node: ast.Call) -> Sym:
    """Any call."""
    if isinstance(node.func, ast.Attribute):
        base = peek(context, node.func.value)
        if isinstance(base, MapOf | Scalar | Bag | Record | Empty | Option):
            return _method(context, node, node.func, base)
    callee = lower(context, node.func)
    if isinstance(callee, Poison):
        raise Refused
    if not isinstance(callee, Static):
        raise context.refuse(node, f"a call of {describe(callee)}", "only functions are called")
    if any(k.arg is None for k in node.keywords):
        raise context.refuse(node, "`**`", "write the arguments out")
    target = callee.value
    lower_call = _known_call(target)
    if lower_call is not None:
        return lower_call(context, node)
    if isinstance(target, Action | Property):
        target = target.function
    if isinstance(target, FunctionType) and target.__module__.split(".")[0] not in sys.stdlib_module_names:
        return function_call(context, node, target)
    if isinstance(target, type) and is_dataclass(target):
        return construct(context, node, target)
    if isinstance(target, type) and issubclass(target, values.Id):
        return sorts_and_maps.id_of(context, node, target)
    name = getattr(target, "__name__", type(target).__name__)
    raise context.refuse(node, f"a call of `{name}`", f"call functions of the model, or {OFFERED}")


def _known_call(target: Any) -> Callable[[Context, ast.Call], Sym] | None:
    """The function that lowers a call of a function of the language, or of a built-in one."""
    try:
        return CALLS.get(target)
    except TypeError:  # it cannot be hashed
        return None


def _method(context: Context, node: ast.Call, function: ast.Attribute, base: Sym) -> Sym:
    if isinstance(base, MapOf) and function.attr == "put" and len(node.args) == 2 and not node.keywords:
        return sorts_and_maps.put(context, node, function.value)
    remedy = METHODS.get(function.attr, "write a function; the only method is `map.put(key, value)`")
    raise context.refuse(node, f"a method `.{function.attr}` of {describe(base)}", remedy)


CALLS: dict[Any, Callable[[Context, ast.Call], Sym]] = {
    require: guards.require_call,
    some: guards.some_call,
    refuse: guards.refuse_call,
    replace: replace_call,
    values.every: sorts_and_maps.every_call,
    values.fill: sorts_and_maps.fill_call,
    values.Map: sorts_and_maps.map_call,
    any: aggregates.any_of,
    all: aggregates.all_of,
    sum: aggregates.sum_of,
    len: aggregates.length_of,
    min: aggregates.minimum,
    max: aggregates.maximum,
    next: aggregates.first_of,
    tuple: aggregates.tuple_of,
    frozenset: aggregates.frozenset_of,
    abs: aggregates.absolute,
}
"""The functions of the language and the built-in ones, each with the function that lowers its calls."""
OFFERED = "any, all, sum, len, min, max, next, sorted, tuple, frozenset, abs, replace, every, fill, Map"
METHODS: dict[str, str] = {
    "union": "write `a | b`",
    "intersection": "write `a & b`",
    "difference": "write `a - b`",
    "issubset": "write `a <= b`",
    "issuperset": "write `a >= b`",
    "isdisjoint": "write `a & b == frozenset()`",
    "index": "write a comprehension",
    "add": "sets do not change: write `s | {x}`",
    "append": "tuples do not change: write `t + (x,)`",
}
"""Methods of Python's sets and tuples, with what to write instead."""

__all__ = ["call"]
