"""Why a property is decided as it is at the end of a trace: the line that decided, and which part of it."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import FrameType
from typing import Any

from checkers.values import plain
from spec.binding import Bound, Step
from spec.language import Property
from spec.trace import Trace

UNKNOWN = object()


def claim_of(trace: Trace, bound: Bound) -> Property | None:
    """The property that the trace is about, if the model has it under this configuration."""
    name = trace.meta.get("property")
    return next((p for p in [*bound.properties, *bound.covers] if p.name == name), None)


def shows(trace: Trace, bound: Bound) -> bool | None:
    """Whether the end of a trace that replays is what it claims to show; None if that is not decided here.

    A violation for a property, a deadlock, the goal for a cover.
    """
    last = trace.states[-1]
    if trace.meta.get("property_kind") == "deadlock":
        return next(bound.steps(last), None) is None and not bound.is_terminal(last)
    claim = claim_of(trace, bound)
    if claim is None or claim.kind == "leads_to":
        return None
    if not claim.over_steps:
        return bound.holds(claim, last) == (claim.kind == "cover")
    step = _last_step(trace, bound)
    if step is None or not bound.concerns(claim, step.action):
        return False
    return bound.holds_on(claim, trace.states[-2], step) == (claim.kind == "cover")


def _last_step(trace: Trace, bound: Bound) -> Step | None:
    if len(trace) < 2:
        return None
    last = trace.steps[-1]
    by = next((a for a in bound.model.actions if a.name == last.action), None)
    return None if by is None else Step(by, last.params, trace.states[-1])


def reasons(trace: Trace, bound: Bound) -> list[str]:
    """The expression that the property returned false with, what in it is false, and the values it read."""
    if trace.meta.get("property_kind") == "deadlock":
        return ["nothing is enabled here, and the model does not say that a run may end here"]
    claim = claim_of(trace, bound)
    if claim is None or claim.kind in ("cover", "leads_to"):
        return []
    step = _last_step(trace, bound)
    if not claim.over_steps:
        decided = _returned(claim.function, lambda: bound.holds(claim, trace.states[-1]))
    elif step is not None:
        decided = _returned(claim.function, lambda: bound.holds_on(claim, trace.states[-2], step))
    else:
        return []
    if decided is None:
        return []
    expression, names = decided
    parts = _parts(expression)
    lines = [f"false: {_short(expression)}{_for_which(expression, names)}"]
    for part in parts:
        if _value(part, names) is not False:
            continue
        values = _sides(part, names)
        # Of a disjunction everything is false; of a conjunction it is news which part is.
        if isinstance(expression, ast.BoolOp) and isinstance(expression.op, ast.And):
            lines.append(f"  because false: {_short(part)}{_for_which(part, names)}")
        lines += [f"  {text} = {value}" for text, value in values if f"  {text} = {value}" not in lines]
    return lines


def _returned(function: Callable[..., Any], call: Callable[[], bool]) -> tuple[ast.expr, dict[str, Any]] | None:
    """The expression of the return statement by which `function` ended in `call`, and the names it saw."""
    code = function.__code__
    found: list[tuple[int, dict[str, Any]]] = []

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return" and argument is False:
            found.append((frame.f_lineno, {**frame.f_globals, **frame.f_locals}))
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: local if frame.f_code is code else None)
    try:
        call()
    finally:
        sys.settrace(before)
    if not found:
        return None
    line, names = found[-1]
    try:
        source, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, SyntaxError):
        return None
    at = line - first + 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None and node.lineno <= at <= (node.end_lineno or at):
            return node.value, names
    return None


def _parts(expression: ast.expr) -> list[ast.expr]:
    """The operands of the `and` and `or` that an expression is made of."""
    if isinstance(expression, ast.BoolOp):
        return [part for value in expression.values for part in _parts(value)]
    return [expression]


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    """The value of a part where the property was decided; `UNKNOWN` where it cannot be had on its own."""
    try:
        return eval(compile(ast.Expression(expression), "<property>", "eval"), names)
    except Exception:
        return UNKNOWN  # a part behind another that guards it, such as `x is None or x.y`


def _sides(part: ast.expr, names: dict[str, Any]) -> list[tuple[str, str]]:
    """What a comparison compares or a call is given, with the values that are not written there already."""
    match part:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _sides(inner, names)
        case ast.Compare():
            read = [part.left, *part.comparators]
        case ast.Call():
            read = [a for a in part.args if not isinstance(a, ast.GeneratorExp)]
        case _:
            return []
    found = []
    for side in read:
        value = _value(side, names)
        written = isinstance(side, ast.Constant) or (isinstance(side, ast.Name) and side.id.isupper())
        shown = "" if value is UNKNOWN else plain(value)
        if not written and 0 < len(shown) <= 80:  # a whole state says nothing here
            found.append((_short(side), shown))
    return found


def _for_which(expression: ast.expr, names: dict[str, Any]) -> str:
    """Of `all(claim for x in them)`, the members that the claim is false for."""
    match expression:
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=claim, generators=[one])]):
            false = ast.UnaryOp(ast.Not(), claim)
            which = ast.ListComp(one.target, [ast.comprehension(one.target, one.iter, [*one.ifs, false], 0)])
            # The target is stored to in one place and read in the other.
            which.elt = ast.parse(ast.unparse(one.target), mode="eval").body
            members = _value(ast.fix_missing_locations(which), names)
            if members is UNKNOWN:
                return ""
            shown = ", ".join(plain(m) for m in members[:3]) + (", ..." if len(members) > 3 else "")
            return f" for {ast.unparse(one.target)} = {shown}" if members else ""
    return ""


def _short(expression: ast.expr) -> str:
    text = ast.unparse(expression)
    return text if len(text) <= 160 else text[:157] + "..."
