"""Narrowing of optionals by tests, as in mypy: the access paths that are not None for an outcome of a test."""

from __future__ import annotations

import ast

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import access_path, peek
from reassure.spec.frontend.symbolic_values import Option, Poison

NOTHING: frozenset[str] = frozenset()


def not_none_if(context: Context, test: ast.expr, outcome: bool) -> frozenset[str]:
    """Access paths that are not None if `test` has come out as `outcome`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not_none_if(context, test.operand, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if outcome else ast.Or):
        paths = NOTHING
        for part in test.values:
            with context.knowing(paths):
                paths |= not_none_if(context, part, outcome)
        return paths
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _by_comparison(context, test, outcome)
    return NOTHING


def _by_comparison(context: Context, test: ast.Compare, outcome: bool) -> frozenset[str]:
    left, op, right = test.left, test.ops[0], test.comparators[0]
    holds = outcome if isinstance(op, ast.IsNot | ast.Eq | ast.In) else not outcome
    if not holds:
        return NOTHING
    paths: list[str | None] = []
    if isinstance(op, ast.Is | ast.IsNot) and isinstance(right, ast.Constant) and right.value is None:
        paths = [access_path(left)]
    elif isinstance(op, ast.Eq | ast.NotEq):
        sides = ((left, right), (right, left))
        paths = [access_path(one) for one, other in sides if access_path(one) and _never_none(context, other)]
    elif isinstance(op, ast.In | ast.NotIn):
        members = right.elts if isinstance(right, ast.Tuple | ast.Set) else []
        if all(_never_none(context, member) for member in members):
            paths = [access_path(left)]
    return frozenset(path for path in paths if path)


def _never_none(context: Context, node: ast.expr) -> bool:
    return not isinstance(peek(context, node), Option | Poison)


__all__ = ["NOTHING", "not_none_if"]
