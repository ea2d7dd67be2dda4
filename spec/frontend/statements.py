"""Statements: assignments, conditions, early returns, guards; and the value of a whole function's body.

Also here: guards: `require`, `some`, `refuse`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple

from reassure.spec.frontend.comprehensions import is_names, named
from reassure.spec.frontend.context import Context, Frame, implied
from reassure.spec.frontend.evaluation import (
    access_path,
    conditions_behind,
    keyword,
    lower,
    lower_beside,
    lower_condition,
    lower_present,
    not_none_if,
    of_other_names,
    peek,
    positional,
)
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import BOOL, Node
from reassure.spec.frontend.loops import break_, continue_, for_loop, look_behind, merged
from reassure.spec.frontend.lowered_model import Guard
from reassure.spec.frontend.sets_and_sequences import items_of, items_of_kind
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Mismatch,
    Option,
    Poison,
    Scalar,
    Static,
    Sym,
    Tuple,
    describe,
    is_incomplete,
)
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import BoolType, DomainError
from reassure.spec.language.vocabulary import refuse


class Returned(NamedTuple):
    """A `return`: the path to it, and the value."""

    path: Node
    value: Sym


@dataclass
class Branch:
    """The outcome of a branch of an `if`. live: the path on which it goes on; None if it is the one it began with."""

    ended: bool
    variables: dict[str, Sym]
    not_none: frozenset[str]
    live: Node | None


def lower_body(context: Context, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Sym:
    """The value that a function returns."""
    if isinstance(tree, ast.AsyncFunctionDef):
        raise context.refuse(tree, *UNSUPPORTED[ast.AsyncFunctionDef])
    if tree.args.vararg or tree.args.kwarg:
        raise context.refuse(tree, "`*args` or `**kwargs`", "name every parameter")
    returns: list[Returned] = []
    ended = _block(context, tree.body, returns)
    if context.frame.has_refusal:
        return POISON
    if not ended:
        raise context.refuse(tree, f"`{tree.name}` may end without a value", "return on every path")
    if not returns and context.frame.lacks_value and context.unreached:
        return POISON
    if not returns:
        raise context.refuse(tree, f"`{tree.name}` never returns", "return a value on some path")
    return _returned_value(context, tree, returns)


def _returned_value(context: Context, tree: ast.FunctionDef, returns: list[Returned]) -> Sym:
    """The choice among the values that are returned."""
    g = context.graph
    for path, value in returns:
        reached = path is not g.false and not context.scope.refusals
        assert not (reached and is_incomplete(value)), f"a value that `{tree.name}` returns was left out"
    result = context.symbols.as_bag(returns[-1].value)
    not_taken = [g.not_(r.path) for r in returns]
    for i, (path, value) in reversed(list(enumerate(returns[:-1]))):
        # Where an earlier return was taken this choice is not looked at.
        terms = path.args if path.op == "and" else (path,)
        path = g.and_(*(t for t in terms if t not in not_taken[:i]))
        try:
            result = context.symbols.choose(path, value, result)
        except Mismatch as error:
            raise context.refuse(tree, f"`{tree.name}` returns different kinds of value", str(error)) from None
    return result


def _block(context: Context, body: list[ast.stmt], returns: list[Returned]) -> bool:
    """Lowers statements; True when every path through them has ended."""
    for statement in body:
        try:
            if _statement(context, statement, returns):
                return True
        except (Refused, Mismatch, DomainError) as error:
            if isinstance(error, Refused) and context.unreached:
                context.frame.lacks_value = True
                return True
            if not isinstance(error, Refused):
                context.refuse_types(statement, error)
            # The refusal is recorded; go on, so that all of them come in one go.
            assert context.scope.refusals, f"no value and no refusal in line {statement.lineno}"
            for variable in assigned(statement):
                context.frame.variables[variable] = POISON
            context.frame.has_refusal = True
            if isinstance(statement, ast.Raise):
                return True
            if isinstance(statement, ast.Return):
                returns.append(Returned(context.path, POISON))
                return True
    return False


def _statement(context: Context, node: ast.stmt, returns: list[Returned]) -> bool:
    lower_statement = STATEMENTS.get(type(node))
    if lower_statement is None:
        construct, remedy = UNSUPPORTED.get(type(node), (type(node).__name__, "this is not in the language"))
        reached = not context.unreached
        refused = context.refuse(node, construct, remedy)
        if reached:
            _look_into(context, node)
        raise refused
    return lower_statement(context, node, returns)


def _look_into(context: Context, node: ast.stmt) -> None:
    """Lowers what is in a statement that is refused, for its refusals."""
    frame, names, tests, bodies = context.frame, assigned(node), list[ast.expr](), list[list[ast.stmt]]()
    known: frozenset[str] = frozenset()
    if isinstance(node, ast.While):
        tests, bodies, known = [node.test], [node.body, node.orelse], not_none_if(context, node.test, True)
    elif isinstance(node, ast.Match):
        tests, bodies = [case.guard for case in node.cases if case.guard is not None], [c.body for c in node.cases]
        known = frozenset({access_path(node.subject) or ""})  # of a case that is not of None
        frame.not_none |= known
    elif isinstance(node, ast.With):
        bodies = [node.body]
    elif isinstance(node, ast.Try):
        bodies = [node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody]
    elif isinstance(node, ast.FunctionDef):
        around, _, _ = context.definition_of(frame.function)
        later = assigned(around)  # it may have another value when the function is called
        names += [name for name in later if name not in frame.variables or later.count(name) > 1]
        names += [part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        bodies = [node.body]
    for test in tests:
        with context.behind_refused(*names), suppress(Refused):
            lower_condition(context, test)
    for body in bodies:
        with context.behind_refused(*names):
            frame.not_none |= known
            look_behind(context, body, _block)
    if isinstance(node, ast.While):
        frame.not_none |= not_none_if(context, node.test, False)


def assigned(statement: ast.AST) -> list[str]:
    """The variables that a statement or an expression assigns."""
    parts = list(ast.walk(statement))
    names = [n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names += [n.name for n in parts if isinstance(n, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and n.name]
    names += [n.rest for n in parts if isinstance(n, ast.MatchMapping) and n.rest]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        names += [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    return names + ([statement.name] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else [])


# -- one function for each kind of statement: whether every path has ended after it -----------------------------


def _return(context: Context, node: ast.Return, returns: list[Returned]) -> bool:
    if node.value is None:
        raise context.refuse(node, "return without a value", "return the next state or the value")
    returns.append(Returned(context.path, context.symbols.as_bag(lower(context, node.value))))
    return True


def _pass(context: Context, node: ast.Pass, returns: list[Returned]) -> bool:
    return False


def _expression(context: Context, node: ast.Expr, returns: list[Returned]) -> bool:
    """A guard, or the docstring."""
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return False
    if not isinstance(node.value, ast.Call):
        raise context.refuse(node, "an expression without effect", "assign or return it")
    value = lower(context, node.value)
    if isinstance(value, Static) and value.value is None:
        # `refuse()` ends the path: whatever follows is not reached.
        target = peek(context, node.value.func)
        return isinstance(target, Static) and target.value is refuse
    raise context.refuse(node, "a call whose value is not used", "assign or return it")


def _assignment(context: Context, node: ast.Assign | ast.AnnAssign, returns: list[Returned]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        raise context.refuse(node, "a name without a value", "give it one")
    target = targets[0]
    if len(targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        names = [t.id for t in target.elts if isinstance(t, ast.Name)]
        if len(names) == len(target.elts) == len(node.value.elts):
            values = [context.symbols.as_bag(lower(context, e)) for e in node.value.elts]
            for name, value in zip(names, values, strict=True):
                _bind(context, name, value)
            return False
    if len(targets) == 1 and isinstance(target, ast.Tuple) and all(map(is_names, target.elts)):
        whole, first = lower_present(context, node.value), ast.unparse(target.elts[0])
        if not isinstance(whole, Poison) and items_of(context.graph, whole) is None:
            of_sequence = items_of_kind(whole)[0] == "sequence"
            way = f"it may have any length: write `{first} = {ast.unparse(node.value)}[0]`, and so on"
            remedy = way if of_sequence else "only a tuple has items: assign one name"
            raise context.refuse(node, f"unpacking {describe(whole)}", remedy)
        for name, value in named(context, target, whole).items():
            _bind(context, name, context.symbols.as_bag(value))
        return False
    if len(targets) != 1 or not isinstance(target, ast.Name):
        if isinstance(target, ast.Attribute | ast.Subscript):
            way = _changed_part(context, target)
            with suppress(Refused):
                if not isinstance(lower_beside(context, target, node.value), Option):  # from here on it is there
                    context.frame.not_none |= {ast.unparse(target)}
            raise context.refuse(node, f"changing `{ast.unparse(target)}`", f"values do not change: write `{way}`")
        if len(targets) > 1:
            raise context.refuse(node, f"`{ast.unparse(node)}`", "assign one name in each line")
        raise context.refuse(node, "unpacking", "assign one name, or as many names as a tuple has items")
    # What is known not to be None has been unwrapped: so is the variable.
    _bind(context, target.id, context.symbols.as_bag(lower(context, node.value)))
    return False


def _changed_part(context: Context, target: ast.Attribute | ast.Subscript) -> str:
    """What to write in place of an assignment to a field, an item or a key."""
    if isinstance(target, ast.Attribute):
        return "s = replace(s, field=value)"
    base = peek(context, target.value)
    if isinstance(base, Tuple):
        return f"t = ({', '.join('value' if i == 0 else f't[{i}]' for i in range(len(base.items)))})"
    return "t = t[:i] + (value,) + t[i + 1:]" if items_of_kind(base)[0] == "sequence" else "m = m.put(key, value)"


def _augmented_assignment(context: Context, node: ast.AugAssign, returns: list[Returned]) -> bool:
    if not isinstance(node.target, ast.Name):
        raise context.refuse(node, "changing a part of a value", "use `replace(...)`")
    old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
    whole = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
    _bind(context, node.target.id, context.symbols.as_bag(lower(context, whole)))
    return False


def _bind(context: Context, variable: str, value: Sym) -> None:
    frame = context.frame
    frame.variables[variable] = value
    frame.not_none = of_other_names(frame.not_none, [variable])


def _if(context: Context, node: ast.If, returns: list[Returned]) -> bool:
    g, frame, before = context.graph, context.frame, context.path
    try:
        test = lower_condition(context, node.test)
    except Refused:
        if not context.unreached:
            ended = []
            for outcome, body in (True, node.body), (False, node.orelse):
                with context.behind_refused(*assigned(node.test)):
                    frame.not_none |= not_none_if(context, node.test, outcome)
                    ended.append(look_behind(context, body, _block))
            if ended[0] != ended[1]:
                frame.not_none |= not_none_if(context, node.test, ended[1])
        raise
    if_true, if_false = not_none_if(context, node.test, True), not_none_if(context, node.test, False)
    variables, not_none = frame.variables, frame.not_none

    def branch(condition: Node, facts: frozenset[str], body: list[ast.stmt]) -> Branch:
        frame.variables, frame.not_none = dict(variables), not_none | facts
        context.path = entry = g.and_(before, condition)
        ended = _block(context, body, returns)
        live = None if context.path in (entry, before) else context.path
        return Branch(ended, frame.variables, frame.not_none, live)

    yes = branch(test, if_true, node.body)
    no = branch(g.not_(test), if_false, node.orelse)
    if yes.ended and no.ended:
        context.path = before
        return True
    if yes.ended or no.ended:
        going_on, condition = (no, g.not_(test)) if yes.ended else (yes, test)
        frame.variables, frame.not_none = going_on.variables, going_on.not_none
        context.path = g.and_(before, condition) if going_on.live is None else going_on.live
        return False
    frame.variables = merged(context, node, test, yes.variables, no.variables)
    frame.not_none = yes.not_none & no.not_none
    if yes.live is None and no.live is None:
        context.path = before
    else:
        yes_live = g.and_(before, test) if yes.live is None else yes.live
        no_live = g.and_(before, g.not_(test)) if no.live is None else no.live
        context.path = g.or_(yes_live, no_live)
    return False


def _assert(context: Context, node: ast.Assert, returns: list[Returned]) -> bool:
    """It is refused; what follows is lowered as behind `require`."""
    refused = context.refuse(node, *UNSUPPORTED[ast.Assert])
    with suppress(Refused):
        holds = implied(context.graph, context.path, lower_condition(context, node.test))
        context.assured = context.graph.and_(context.assured, holds)
    context.frame.not_none |= not_none_if(context, node.test, True)
    raise refused


def _for(context: Context, node: ast.For, returns: list[Returned]) -> bool:
    return for_loop(context, node, returns, _block)


STATEMENTS: dict[type[ast.stmt], Callable[[Context, Any, list[Returned]], bool]] = {
    ast.Return: _return,
    ast.Pass: _pass,
    ast.If: _if,
    ast.For: _for,
    ast.Break: break_,
    ast.Continue: continue_,
    ast.Assign: _assignment,
    ast.AnnAssign: _assignment,
    ast.AugAssign: _augmented_assignment,
    ast.Expr: _expression,
    ast.Assert: _assert,
}
UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("a while loop", "a step is finite: write `for i in range(limit):` with `break`, or several actions"),
    ast.AsyncFor: ("async for", "a model is plain functions"),
    ast.With: ("with", "a model has no resources"),
    ast.Try: ("try", "test the condition first"),
    ast.Raise: ("raise", "`require(...)` disables an action; a property returns False"),
    ast.Assert: ("assert", "use `require(...)` in an action, or an invariant"),
    ast.FunctionDef: ("a nested function", "define it in the module"),
    ast.ClassDef: ("a class in a function", "define it in the module"),
    ast.Global: ("global", "everything that changes is in the state"),
    ast.Nonlocal: ("nonlocal", "everything that changes is in the state"),
    ast.Import: ("an import in a function", "import at the top of the module"),
    ast.ImportFrom: ("an import in a function", "import at the top of the module"),
    ast.Delete: ("del", "values do not change"),
    ast.Match: ("match", "use if and elif"),
    ast.AsyncFunctionDef: ("async", "a model is plain functions"),
}
"""Statements outside the language, with what to write instead."""


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
    _require(context, node, test)
    return Static(None)


def added_guard(context: Context, condition: FunctionType, arguments: dict[str, Sym]) -> None:
    """A guard that a variant adds to an action: each conjunct of a lambda is one, a function as a whole."""
    tree, path, lines = context.definition_of(condition)
    with context.entered(Frame(condition, path, lines, dict(arguments))):
        try:
            if isinstance(tree, ast.Lambda):
                _require(context, tree, tree.body)
                return
            g, name = context.graph, ast.copy_location(ast.Name(tree.name, ast.Load()), tree)
            left_out = _switch(context, tree, "require", WHOLE, name)
            holds = g.false
            with context.under(g.not_(left_out)):
                value = lower_body(context, tree)
                if not isinstance(value, Scalar) or not isinstance(value.type, BoolType):
                    raise context.refuse(tree, f"{describe(value)} as a guard", "it returns a bool")
                holds = value.node
            context.check("require", name, g.or_(left_out, holds), WHOLE, tree.name)
        except (Refused, Mismatch):  # the refusal is recorded
            return


def _require(context: Context, node: ast.expr, test: ast.expr) -> None:
    """The conjuncts of a condition as guards. node: the place of all of them."""
    g, parts = context.graph, conjuncts(test)
    for number, part in enumerate(parts):
        place = number, len(parts)
        left_out = _switch(context, node, "require", place, part)
        condition = g.false
        try:
            with context.under(g.not_(left_out)):
                condition = lower_condition(context, part)
        except Refused:
            conditions_behind(context, parts[: number + 1], parts[number + 1 :], True)
            raise
        context.check("require", node, g.or_(left_out, condition), place, ast.unparse(part))
        paths = not_none_if(context, part, True)
        if context.scope.guards is not None:
            guard, keyed = _guard(context, node, "require", place, part), [path for path in paths if "[" in path]
            if any(_is_optional(context, path) for path in paths.difference(keyed)):
                context.scope.narrowing.add(guard)
            context.frame.narrowed_by.update(dict.fromkeys(keyed, guard))
        context.frame.not_none |= paths


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


def _switch(context: Context, node: ast.expr | ast.stmt, kind: str, part: tuple[int, int], text: ast.expr) -> Node:
    """Whether a guard of the text is left out: false, but where each of them can be switched off."""
    guards = context.scope.guards
    if guards is None:
        return context.graph.false
    return context.graph.op("switch", BOOL, (), _listed(context, guards, node, kind, part, text))


def _is_optional(context: Context, path: str) -> bool:
    """Whether the value at an access path may be None as far as is known."""
    return isinstance(peek(context, ast.parse(path, mode="eval").body), Option)


def _guard(context: Context, node: ast.expr | ast.stmt, kind: str, part: tuple[int, int], text: ast.expr) -> Guard:
    return Guard(kind, context.frame.file, node.lineno, node.col_offset, part, ast.unparse(text))


def _listed(
    context: Context,
    guards: dict[Guard, list[str]],
    node: ast.expr | ast.stmt,
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
