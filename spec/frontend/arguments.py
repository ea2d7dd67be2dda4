"""The arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower
from reassure.spec.frontend.introspection import signature_of
from reassure.spec.frontend.symbolic_values import Sym


def positional(context: Context, node: ast.Call, low: int, high: int, *keywords: str) -> list[ast.expr]:
    """Positional arguments, from `low` to `high` of them; refuses keywords but the given ones."""
    unknown = [k.arg for k in node.keywords if k.arg not in keywords]
    if unknown or not low <= len(node.args) <= high:
        count = str(low) if low == high else f"{low} to {high}"
        raise context.refuse(node, f"`{ast.unparse(node)}`", f"it takes {count} arguments here")
    return node.args


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The argument with a keyword, if it is given."""
    return next((k.value for k in node.keywords if k.arg == name), None)


def by_parameter(context: Context, node: ast.Call, function: Callable[..., Any], takes: str) -> dict[str, Sym]:
    """The arguments by the names of parameters, evaluated in the order in which they are written.

    takes: the remedy where they do not fit the parameters.
    """
    count = len(node.args)
    try:
        places: dict[str, Any] = {k.arg: count + i for i, k in enumerate(node.keywords) if k.arg is not None}
        place_of = signature_of(function).bind(*range(count), **places).arguments
    except TypeError:
        raise context.refuse(node, f"`{ast.unparse(node)}`", takes) from None
    names = {place: name for name, place in place_of.items()}
    written = [*node.args, *(k.value for k in node.keywords)]
    return {names[place]: lower(context, value) for place, value in enumerate(written)}


__all__ = ["by_parameter", "keyword", "positional"]
