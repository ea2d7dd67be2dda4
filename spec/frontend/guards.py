"""Guards: `require`, `some`, `refuse`."""

from __future__ import annotations

import ast

from reassure.spec.frontend.arguments import keyword, positional
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower, lower_condition, peek
from reassure.spec.frontend.ir import BOOL, Node
from reassure.spec.frontend.lowered_model import Guard
from reassure.spec.frontend.narrowing import not_none_if
from reassure.spec.frontend.symbolic_values import Option, Static, Sym

WHOLE = (0, 1)
"""The part of a guard that has no conjuncts: the first of one."""


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that are joined by `and`, in the order in which they are written."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in conjuncts(value)]
    return [test]


def require_call(context: Context, node: ast.Call) -> Sym:
    """`require(condition, "why")`: each conjunct is a guard."""
    test = positional(context, node, 1, 2, "note")[0]
    _refuse_odd_note(context, node, 1)
    _refuse_guard_elsewhere(context, node)
    g, parts = context.graph, conjuncts(test)
    for number, part in enumerate(parts):
        place = number, len(parts)
        left_out = _switch(context, node, "require", place, part)
        condition = g.false
        with context.under(g.not_(left_out)):
            condition = lower_condition(context, part)
        context.check("require", node, g.or_(left_out, condition), place, ast.unparse(part))
        paths = not_none_if(context, part, True)
        if context.scope.guards is not None and any(_is_optional(context, path) for path in paths):
            context.scope.narrowing.add(_guard(context, node, "require", place, part))
        context.frame.not_none |= paths
    return Static(None)


def some_call(context: Context, node: ast.Call) -> Sym:
    """`some(optional, "why")`: the value, which must be there."""
    value = lower(context, positional(context, node, 1, 2, "note")[0])
    _refuse_odd_note(context, node, 1)
    if isinstance(value, Option):
        if value.value is None:
            raise context.refuse(node, "some(None)", "it is never there: write `refuse()`")
        left_out = _switch(context, node, "some", WHOLE, node)
        _refuse_guard_elsewhere(context, node)
        context.check("require", node, context.graph.or_(left_out, value.present))
        return value.value
    return value


def refuse_call(context: Context, node: ast.Call) -> Sym:
    """`refuse("why")`: the action is not enabled. It has no switch, since what follows it is not lowered."""
    positional(context, node, 0, 1, "note")
    _refuse_odd_note(context, node, 0)
    _refuse_guard_elsewhere(context, node)
    if context.scope.guards is not None:
        _listed(context, context.scope.guards, node, "refuse", WHOLE, node)
    context.check("require", node, context.graph.false)
    return Static(None)


def _refuse_guard_elsewhere(context: Context, node: ast.Call) -> None:
    if not context.within_step:
        raise context.refuse(node, "a guard outside an action", "a property gives a bool; return it")


def _refuse_odd_note(context: Context, node: ast.Call, place: int) -> None:
    """Refuses a guard's note that is more than a text: nothing but Python would evaluate it."""
    note = node.args[place] if len(node.args) > place else keyword(node, "note")
    if note is not None and not (isinstance(note, ast.Constant) and isinstance(note.value, str)):
        raise context.refuse(note, f"`{ast.unparse(note)}` as a note", 'a note is a text: "why"')


def _switch(context: Context, node: ast.Call, kind: str, part: tuple[int, int], text: ast.expr) -> Node:
    """Whether a guard of the text is left out: false, but where each of them can be switched off."""
    guards = context.scope.guards
    if guards is None:
        return context.graph.false
    return context.graph.op("switch", BOOL, (), _listed(context, guards, node, kind, part, text))


def _is_optional(context: Context, path: str) -> bool:
    """Whether the value at an access path may be None as far as is known."""
    return isinstance(peek(context, ast.parse(path, mode="eval").body), Option)


def _guard(context: Context, node: ast.Call, kind: str, part: tuple[int, int], text: ast.expr) -> Guard:
    return Guard(kind, context.frame.file, node.lineno, node.col_offset, part, ast.unparse(text))


def _listed(
    context: Context,
    guards: dict[Guard, list[str]],
    node: ast.Call,
    kind: str,
    part: tuple[int, int],
    text: ast.expr,
) -> int:
    """The number of a guard of the text, which is listed with the declaration that evaluates it."""
    guard = _guard(context, node, kind, part, text)
    reached_by = guards.setdefault(guard, [])
    if context.declaration not in reached_by:
        reached_by.append(context.declaration)
    return list(guards).index(guard)


__all__ = ["conjuncts", "refuse_call", "require_call", "some_call"]
