"""Explanation of a property's value at the end of a trace: the line that decided it, and the deciding part."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any

from reassure.checkers.machine.polled_interrupts import traced_return
from reassure.checkers.machine.terminal import first_few
from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.fairness import repeats, violates, why_fair
from reassure.checkers.traces.format_value import natural, plain
from reassure.checkers.traces.reconstruct import is_deadlock, last_step, raised_at_end, shows
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

UNKNOWN = object()


@dataclass(frozen=True)
class Scene:
    """The names and values in sight of a property where it was decided."""

    names: dict[str, object]
    local: frozenset[str]
    """The names that are its own; the others stand for the same in every state."""
    printed: tuple[type, ...]
    """Record types that the trace prints itself: states, views of them, the configuration."""


def claim_of(trace: Trace, bound: BoundModel) -> Property | None:
    """The property that the trace is about, if the model has it under this configuration."""
    name = trace.meta.get("property")
    return next((p for p in [*bound.properties, *bound.covers] if p.name == name), None)


def end_shows(trace: Trace, bound: BoundModel) -> bool | None:
    """Whether the end of a trace that replays is what it claims to show; None if that is not decided here.

    A violation for a property, a deadlock, the goal for a cover, an error of the model.
    """
    if trace.meta.get("property_kind") == RAISES:
        return raised_at_end(trace, bound) is not None
    if trace.meta.get("property_kind") == "deadlock":
        return is_deadlock(bound, trace.states[-1])
    claim = claim_of(trace, bound)
    if claim is None:
        return None
    if claim.temporal:
        return violates(trace, bound, claim) if trace.loop is not None else None
    before = trace.states[-2] if len(trace) > 1 else None
    return shows(bound, claim, before, last_step(trace, bound), trace.states[-1])


def explained(explain: Callable[[], list[str]]) -> list[str]:
    """The lines of an explanation; one line that names the error where explaining raises.

    An answer does not depend on its explanation: its trace is printed, and its exit code stays.
    """
    try:
        return explain()
    except (Exception, SystemExit) as error:
        return [f"not explained: {type(error).__name__}: {error}"]


def reasons(trace: Trace, bound: BoundModel) -> list[str]:
    """Of a loop, what repeats and why that is fair; what raises; else the expression that the property returned false
    with, what in it is false, the values it read, and of each function that it asks why that one is false.

    Raises nothing: see `explained`.
    """
    return explained(lambda: _reasons(trace, bound))


def _reasons(trace: Trace, bound: BoundModel) -> list[str]:
    if trace.loop is not None:
        return [repeats(trace), *why_fair(trace, bound)]
    if trace.meta.get("property_kind") == RAISES:
        raised = raised_at_end(trace, bound)
        return [] if raised is None else raised.text.splitlines()
    if not end_shows(trace, bound):
        return []  # a trace of another model, or of this one before it was changed
    if trace.meta.get("property_kind") == "deadlock":
        return ["nothing is enabled here; where a run may end, a @terminal function of the state says so"]
    claim = claim_of(trace, bound)
    if claim is None or claim.temporal or claim.kind == "cover":
        return []
    step = last_step(trace, bound)
    if claim.over_steps and step is not None:
        decided = _returned(claim.function, lambda: bound.holds_on(claim, trace.states[-2], step))
    else:
        decided = _returned(claim.function, lambda: bound.holds(claim, trace.states[-1]))
    if decided is None:
        return []
    expression, names = decided
    printed = (bound.model.state, bound.model.config, *bound.views)
    scene = Scene(names, frozenset(claim.function.__code__.co_varnames), printed)
    if _value(expression, scene) is not False:
        return []  # its file has changed since it was imported
    inner = [*within_calls(expression, scene), *within_members(expression, scene)]
    return [*false_because(expression, scene), *(f"  {line}" for line in inner)]


def false_because(expression: ast.expr, scene: Scene) -> list[str]:
    """A false expression, what in it is false, and the values that it read."""
    lines = [f"false: {_short(expression)}", *(f"  {line}" for line in _for_which(expression, scene))]
    for part in _false_parts(expression, scene):
        # Of a disjunction everything is false; of a conjunction it is news which part is.
        if isinstance(expression, ast.BoolOp) and isinstance(expression.op, ast.And):
            lines.append(f"  because false: {_short(part)}")
            lines += [f"    {line}" for line in _for_which(part, scene)]
        lines += [f"  {line}" for line in _values_of(part, scene) if f"  {line}" not in lines]
    return lines


def within_calls(expression: ast.expr, scene: Scene) -> list[str]:
    """The reasons of functions that a false expression calls and that return false."""
    lines = []
    for part in _false_parts(expression, scene):
        name = part.func.id if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) else ""
        function = scene.names.get(name)
        if not isinstance(function, FunctionType):
            continue
        decided = _returned(function, partial(_value, part, scene))
        if decided is not None:
            inner = Scene(decided[1], frozenset(function.__code__.co_varnames), scene.printed)
            lines += [f"{function.__name__}: {line.strip()}" for line in false_because(decided[0], inner)]
    return lines


def within_members(expression: ast.expr, scene: Scene) -> list[str]:
    """The reasons of functions that a false `all` calls on its members, for the first member that decides it."""
    lines = []
    for part in _false_parts(expression, scene):
        quantified = _quantifier(part)
        deciding = _deciding(quantified, scene) if quantified is not None else []
        if quantified is not None and deciding:
            inner = Scene({**scene.names, **deciding[0]}, scene.local | frozenset(deciding[0]), scene.printed)
            lines += within_calls(quantified[0], inner)
    return lines


def values_read(expressions: Iterable[ast.expr], scene: Scene) -> list[str]:
    """Those of these expressions that read names of the scene's own, each with its value."""
    return [f"{text} = {value}" for text, value in _read(expressions, scene)]


def _values_of(part: ast.expr, scene: Scene) -> list[str]:
    """The values that made a part false; of a quantifier, those of the first member that decides it."""
    quantified = _quantifier(part)
    if quantified is None:
        return [f"{text} = {value}" for text, value in _sides(part, scene)]
    claim, generators, universal = quantified
    deciding = _deciding(quantified, scene)
    if not deciding:  # `any` of nothing that holds: what it looked at
        own = {node.id for g in generators for node in ast.walk(g.target) if isinstance(node, ast.Name)}
        looked_at = [g.iter for g in generators if own.isdisjoint(names_in(g.iter))]
        return [f"{text} = {value}" for text, value in _read(looked_at, scene)]
    inner = Scene({**scene.names, **deciding[0]}, scene.local | frozenset(deciding[0]), scene.printed)
    lines = []
    for decisive in _false_parts(claim, inner) if universal else [claim]:
        lines += _values_of(decisive, inner) if universal else [f"{t} = {v}" for t, v in _sides(decisive, inner)]
    return [line for line in lines if line.partition(" = ")[0] not in deciding[0]]


def _returned(function: Any, call: Callable[[], bool]) -> tuple[ast.expr, dict[str, object]] | None:
    """The expression of the return statement by which `function` ended in `call`, and the names it saw."""
    returned = traced_return(function, call, False)
    if returned is None:
        return None
    line, names = returned
    try:
        source, first = inspect.getsourcelines(function)
        from textwrap import dedent

        tree = ast.parse(dedent("".join(source)))
    except (OSError, SyntaxError):
        return None
    at = line - first + 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None and node.lineno <= at <= (node.end_lineno or at):
            return _required(node, tree), names
    return None


def _required(decided: ast.Return, tree: ast.AST) -> ast.expr:
    """The expression that a return statement requires: of `return False` under an `if`, the negated condition."""
    assert decided.value is not None
    if isinstance(decided.value, ast.Constant):
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and decided in node.body:
                return ast.UnaryOp(ast.Not(), node.test)
            if isinstance(node, ast.If) and decided in node.orelse:
                return node.test
    return decided.value


def _false_parts(expression: ast.expr, scene: Scene) -> list[ast.expr]:
    """The operands of the `and` and `or` in a false expression that make it false."""
    if not isinstance(expression, ast.BoolOp):
        return [expression]
    # Of a conjunction, one operand decided: the last that Python evaluated.
    operands = evaluated(expression, scene)[-1:] if isinstance(expression.op, ast.And) else expression.values
    # What lies in an operand that is true has decided nothing, even if it is false.
    false = [operand for operand in operands if _value(operand, scene) is False]
    return [part for operand in false for part in _false_parts(operand, scene)]


def evaluated(expression: ast.BoolOp | ast.Compare | ast.IfExp, scene: Scene) -> list[ast.expr]:
    """The operands that Python evaluates: none behind one that decides, and one branch of an `if`."""
    match expression:
        case ast.BoolOp(op=op, values=operands):
            deciding = isinstance(op, ast.Or)
            last = next((n for n, one in enumerate(operands) if _value(one, scene) is deciding), len(operands))
            return operands[: last + 1]
        case ast.Compare(left=left, ops=ops, comparators=others):
            links = [ast.Compare(a, [op], [b]) for a, op, b in zip([left, *others], ops, others, strict=False)]
            last = next((n for n, link in enumerate(links[:-1]) if _value(link, scene) is False), len(links))
            return [left, *others[: last + 1]]
    return [expression.test, expression.body if _value(expression.test, scene) is True else expression.orelse]


def _value(expression: ast.expr, scene: Scene) -> Any:
    """The value of a part where the property was decided; `UNKNOWN` where it cannot be had on its own."""
    try:
        whole = ast.fix_missing_locations(ast.Expression(expression))
        return eval(compile(whole, "<property>", "eval"), scene.names)
    except NameError:
        raise  # the names are ours
    except Exception:
        return UNKNOWN  # a member of `all` behind the first that is false: Python evaluated none


def _sides(part: ast.expr, scene: Scene) -> list[tuple[str, str]]:
    """The operands of a comparison or the arguments of a call, with the values that the trace does not print."""
    match part:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _sides(inner, scene)
        case ast.BoolOp():  # under a `not`
            return [side for operand in evaluated(part, scene) for side in _sides(operand, scene)]
        case ast.Compare():
            read = evaluated(part, scene)
        case ast.Call():
            read = [a for a in part.args if not isinstance(a, ast.GeneratorExp)]
        case _:
            return []
    return _read(read, scene)


def _read(read: Iterable[ast.expr], scene: Scene) -> list[tuple[str, str]]:
    """Texts and values of those expressions that read names of the scene's own and are short enough to print."""
    lines = []
    for side in read:
        value = _value(side, scene)
        reads = not scene.local.isdisjoint(names_in(side))
        if value is UNKNOWN or not reads or isinstance(value, scene.printed):
            continue
        shown = plain(value)
        if len(shown) <= 80:
            lines.append((_short(side), shown))
    return lines


def names_in(expression: ast.expr) -> set[str]:
    """The names that stand in an expression."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


Quantifier = tuple[ast.expr, list[ast.comprehension], bool]
"""The claim, what it is about, and whether it is of all."""


def _quantifier(expression: ast.expr) -> Quantifier | None:
    """`all(...)`, `any(...)`, and `not any(...)`, which is of all that it is not so."""
    match expression:
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=claim, generators=generators)]):
            return claim, generators, True
        case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp(elt=claim, generators=generators)]):
            return claim, generators, False
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() as each])):
            return ast.UnaryOp(ast.Not(), each.elt), each.generators, True
    return None


def _deciding(quantified: Quantifier, scene: Scene) -> list[dict[str, object]]:
    """The members for which a claim about all is false, in the order in which people write them."""
    claim, generators, universal = quantified
    if not universal:
        return []
    names = [node.id for g in generators for node in ast.walk(g.target) if isinstance(node, ast.Name)]
    last = generators[-1]
    false = ast.comprehension(last.target, last.iter, [*last.ifs, ast.UnaryOp(ast.Not(), claim)], 0)
    element = ast.parse(f"({', '.join(names)},)", mode="eval").body
    iterator = _value(ast.GeneratorExp(element, [*generators[:-1], false]), scene)
    members = []
    with suppress(Exception):  # of a member behind the first one that decides: Python evaluated it for none
        for values in iterator if iterator is not UNKNOWN else ():
            members.append(values)
    # A set of enum members has another order in every process.
    ordered = sorted(members, key=lambda values: [natural(plain(value)) for value in values])
    return [dict(zip(names, values, strict=True)) for values in ordered]


def _for_which(expression: ast.expr, scene: Scene) -> list[str]:
    """Of `all(claim for x in them)`, the members that the claim is false for; of `not any`, those it is true for.

    Of several names a line for each combination.
    """
    quantified = _quantifier(expression)
    members = _deciding(quantified, scene) if quantified is not None else []
    if not members:
        return []
    if len(members[0]) == 1:
        (name,) = members[0]
        return [f"for {name} = {first_few([plain(one[name]) for one in members], 3)}"]
    more = len(members) - 3
    texts = [", ".join(f"{name} = {plain(value)}" for name, value in one.items()) for one in members[:3]]
    return [f"for {text}" for text in texts] + ([f"and {more} more"] if more > 0 else [])


def _short(expression: ast.expr) -> str:
    text = ast.unparse(expression)
    return text if len(text) <= 160 else text[:157] + "..."
