"""Bodies of functions: from statements to a tree of guards, definitions and branches; from that to TLA+."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from inspect import Parameter
from typing import Any

from reassure.checkers.tla.context import Context, Definition, ModuleScope, Value, signature, splits
from reassure.checkers.tla.iteration import domain_of
from reassure.checkers.tla.kinds import Kind, Static, family, is_a, kind_of_annotation
from reassure.checkers.tla.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    choose,
    conjunction,
    field,
    implies,
    infix,
    let,
    negation,
    prime,
    used,
)
from reassure.checkers.tla.trees import (
    NOT_ENABLED,
    Bind,
    Fork,
    GuardedBy,
    Leaf,
    NotEnabled,
    Tree,
    end_of_turn,
    folded,
    fork,
)
from reassure.spec.frontend.introspection import cached_hints, find_source
from reassure.spec.language.vocabulary import refuse, require

# -- from statements to a tree --------------------------------------------------------------------------------------


def tree_of(context: Context, body: list[ast.stmt]) -> Tree:
    """The tree of statements."""
    if not body:
        return end_of_turn(context) if context.loops else NOT_ENABLED
    node, *rest = *_one_by_one(context, body[0]), *body[1:]
    if isinstance(node, ast.Pass) or _is_text(node):
        return tree_of(context, rest)
    if isinstance(node, ast.Return):
        assert node.value is not None
        return _returned(context, node.value)
    if isinstance(node, ast.Expr):
        return _guarded(context, node, rest)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        pairs = _assigned(node, context)
        values = [context.translate(value) for _, value in pairs]
        return _with_guards(context, lambda: _bound(context, [n for n, _ in pairs], values, rest))
    if isinstance(node, ast.Break | ast.Continue):
        return end_of_turn(context, isinstance(node, ast.Break))
    if isinstance(node, ast.For):
        domain = domain_of(context, node.iter)
        return _with_guards(context, lambda: folded(context, node, domain, rest, tree_of))
    if not isinstance(node, ast.If):
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    condition = context.condition(node.test)
    return _with_guards(context, lambda: _branched(context, node, condition, rest))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _with_guards(context: Context, rest: Callable[[], Tree]) -> Tree:
    """The guards of the expressions just translated, then the rest."""
    guards, context.guards = context.guards, []
    tree = rest()
    for guard in reversed(guards):
        tree = GuardedBy(guard, tree) if guard != TRUE else tree
    return tree


def _returned(context: Context, node: ast.expr) -> Tree:
    if isinstance(node, ast.IfExp):
        condition = context.condition(node.test)
        return _with_guards(
            context, lambda: fork(condition, _returned(context, node.body), _returned(context, node.orelse))
        )
    value = context.translate(node)
    return _with_guards(context, lambda: Leaf(value))


def _guarded(context: Context, node: ast.Expr, rest: list[ast.stmt]) -> Tree:
    """A guard as a statement: `require(...)`, `refuse()`, or `some(...)` and calls whose value is not used."""
    call = node.value
    if not isinstance(call, ast.Call):
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    callee = context.translate(call.func).static
    if callee is refuse:
        return NOT_ENABLED
    if callee is require:
        condition = context.condition(call.args[0])
        context.guards.append(condition)
    else:
        context.translate(call)
    return _with_guards(context, lambda: tree_of(context, rest))


def _one_by_one(context: Context, node: ast.stmt) -> list[ast.stmt]:
    """`a, b = value` as two statements: the value as a whole gets a name, then each of its items."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Tuple):
        return [node]
    if isinstance(node.value, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts):
        return [node]
    name = "_".join(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    while name in context.variables or name in context.function.__globals__:
        name += "_"
    places = list(_items(target, ast.Name(name, ast.Load())))
    whole = ast.Assign([ast.Name(name, ast.Store())], node.value)
    parts = ast.Assign(
        [ast.Tuple([one for one, _ in places], ast.Store())], ast.Tuple([item for _, item in places], ast.Load())
    )
    made = (ast.fix_missing_locations(ast.copy_location(one, node)) for one in (whole, parts))
    return list(made)


def _items(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names of a target, each with the expression of its item of a value."""
    if isinstance(target, ast.Name):
        yield target, value
    elif isinstance(target, ast.Tuple):
        for place, one in enumerate(target.elts):
            yield from _items(one, ast.Subscript(value, ast.Constant(place), ast.Load()))


def _assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign, context: Context) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.AugAssign):
        assert isinstance(node.target, ast.Name)
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        return [(node.target.id, ast.copy_location(ast.BinOp(old, node.op, node.value), node))]
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    assert node.value is not None
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        return [(t.id, v) for t, v in zip(target.elts, node.value.elts, strict=True) if isinstance(t, ast.Name)]
    if not isinstance(target, ast.Name):
        raise context.refuse(node, f"`{ast.unparse(node)}`")
    return [(target.id, node.value)]


def _bound(context: Context, names: list[str], values: list[Value], rest: list[ast.stmt]) -> Tree:
    """The rest, in which names have values."""
    made: list[tuple[str, Term]] = []
    for name, value in zip(names, values, strict=True):
        if value.moment or isinstance(value.kind, Static):
            context.variables[name] = value
            continue
        local = context.fresh(name)
        made.append((local, value.term))
        context.variables[name] = Value(atom(local), value.kind)
    tree = tree_of(context, rest)
    for local, term in reversed(made):
        tree = Bind(local, term, tree)
    return tree


def _branched(context: Context, node: ast.If, condition: Term, rest: list[ast.stmt]) -> Tree:
    if condition in (TRUE, FALSE):
        return tree_of(context, [*(node.body if condition == TRUE else node.orelse), *rest])
    variables, in_use = context.variables, set(context.in_use)
    merged = _merged(context, node, condition) if _only_assigns([node]) else None
    if merged is not None:
        names, values = list(merged), list(merged.values())
        return _bound(context, names, values, rest)
    context.variables, context.in_use, context.guards = dict(variables), set(in_use), []
    yes = tree_of(context, [*node.body, *rest])
    context.variables, context.in_use = dict(variables), set(in_use)
    no = tree_of(context, [*node.orelse, *rest])
    context.variables, context.in_use = variables, in_use
    return Fork(condition, yes, no)


def _only_assigns(body: list[ast.stmt]) -> bool:
    """Whether statements do nothing but give names values, one value each in every branch."""
    for node in body:
        if isinstance(node, ast.If):
            if not (_only_assigns(node.body) and _only_assigns(node.orelse)):
                return False
        elif not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Pass):
            return False
    return True


def _merged(context: Context, node: ast.If, condition: Term) -> dict[str, Value] | None:
    """What names are after both branches; None where that takes more than a choice for each."""
    outcomes = []
    before = dict(context.variables)
    for body in (node.body, node.orelse):
        context.variables = dict(before)
        for statement in (one for whole in body for one in _one_by_one(context, whole)):
            if isinstance(statement, ast.If):
                test = context.condition(statement.test)
                inner = _merged(context, statement, test)
                if inner is None:
                    context.variables = before
                    return None
                context.variables.update(inner)
            elif not isinstance(statement, ast.Pass):
                assert isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
                pairs = _assigned(statement, context)
                for (name, _), value in zip(pairs, [context.translate(v) for _, v in pairs], strict=True):
                    context.variables[name] = value
        outcomes.append({n: v for n, v in context.variables.items() if before.get(n) is not v})
        context.variables = dict(before)
    context.variables = before
    if context.guards:
        context.guards = []
        return None
    merged = {}
    for name in dict.fromkeys([*outcomes[0], *outcomes[1]]):
        yes, no = (o.get(name, before.get(name)) for o in outcomes)
        if yes is None or no is None:
            continue  # it has no value after one of them, so that nothing reads it
        if isinstance(yes.kind, Static) or isinstance(no.kind, Static):
            return None
        kind = yes.kind if typed(yes.kind) else no.kind
        merged[name] = Value(choose(condition, context.whole(yes), context.whole(no)), kind)
    return merged


def typed(kind: Kind) -> bool:
    """Whether a kind says everything: not that of None or of an empty set."""
    return kind not in (type(None), frozenset, tuple, None)


# -- from a tree to terms -------------------------------------------------------------------------------------------


def value_of_tree(context: Context, tree: Tree) -> Term | None:
    """The value of a function whose guards hold; None where they never do."""
    if isinstance(tree, Leaf):
        return context.whole(tree.value)
    if isinstance(tree, GuardedBy):
        return value_of_tree(context, tree.rest)
    if isinstance(tree, Bind):
        rest = value_of_tree(context, tree.rest)
        return None if rest is None else let(tree.name, tree.value, rest)
    if isinstance(tree, Fork):
        yes, no = value_of_tree(context, tree.yes), value_of_tree(context, tree.no)
        if yes is None or no is None:
            return yes if no is None else no
        return choose(tree.condition, yes, no)
    return None


def guard_of_tree(tree: Tree) -> Term:
    """The condition under which the guards of a function hold."""
    if isinstance(tree, GuardedBy):
        return conjunction((tree.condition, guard_of_tree(tree.rest)))
    if isinstance(tree, Bind):
        return let(tree.name, tree.value, guard_of_tree(tree.rest))
    if isinstance(tree, Fork):
        yes, no = guard_of_tree(tree.yes), guard_of_tree(tree.no)
        if TRUE in (yes, no) or yes == no:
            parts = [implies(tree.condition, yes), implies(negation(tree.condition), no)]
            return yes if yes == no else conjunction(parts)
        return choose(tree.condition, yes, no)
    return FALSE if isinstance(tree, NotEnabled) else TRUE


def kind_of_tree(tree: Tree) -> Kind:
    """The kind of what a function returns."""
    if isinstance(tree, Leaf):
        return tree.value.kind
    if isinstance(tree, GuardedBy | Bind):
        return kind_of_tree(tree.rest)
    if isinstance(tree, Fork):
        kinds = [kind_of_tree(tree.yes), kind_of_tree(tree.no)]
        return next((k for k in kinds if typed(k)), kinds[0] or kinds[1])
    return None


class Assigns:
    """From the tree of an action, or of an initial function, to its formula. primed: whether it is an action."""

    def __init__(self, context: Context, primed: bool) -> None:
        self.context, self.scope, self.primed = context, context.scope, primed
        self.all = frozenset(self.scope.variables)

    def formula(self, tree: Tree) -> Term:
        """The whole formula: guards, then primed variables, then what is unchanged."""
        conjuncts, assigned = self.conjuncts(tree)
        return conjunction([*conjuncts, *self.unchanged(self.all - assigned)])

    def unchanged(self, names: frozenset[str]) -> list[Term]:
        """That variables keep their values."""
        listed = tuple(v for n, v in self.scope.variables.items() if n in names)
        return [Term("unchanged", (), listed)] if listed else []

    def conjuncts(self, tree: Tree) -> tuple[list[Term], frozenset[str]]:
        """The conjuncts, and the fields that are assigned in them."""
        if isinstance(tree, NotEnabled):
            return [FALSE], self.all
        if isinstance(tree, Leaf):
            return self.becomes(self.widened(tree.value))
        if isinstance(tree, GuardedBy):
            rest, assigned = self.conjuncts(tree.rest)
            return [*self.guards(tree.condition), *rest], assigned
        if isinstance(tree, Bind):
            rest, assigned = self.conjuncts(tree.rest)
            return [let(tree.name, tree.value, conjunction(rest))], assigned
        assert isinstance(tree, Fork)
        return self.forked(tree.condition, self.conjuncts(tree.yes), self.conjuncts(tree.no))

    def widened(self, value: Value) -> Term:
        """A state; of a class that the model's extends, with the further fields' defaults."""
        term, cls = self.context.whole(value), self.scope.bound.model.state
        if value.moment or value.kind is cls or not self.scope.is_state(value.kind) or self.primed:
            return term
        given = [f.name for f in fields(value.kind)]
        parts = [
            field(term, f.name) if f.name in given else self.context.whole(self.context.lift(f.default))
            for f in fields(cls)
        ]
        return Term("record", tuple(parts), tuple(f.name for f in fields(cls)))

    def forked(
        self, condition: Term, yes: tuple[list[Term], frozenset[str]], no: tuple[list[Term], frozenset[str]]
    ) -> tuple[list[Term], frozenset[str]]:
        """Two ways; each says what the other one changes."""
        for (here, assigned), one in ((yes, condition), (no, negation(condition))):
            other = no if here is yes[0] else yes
            if other[0] == [FALSE]:
                return [*self.guards(one), *here], assigned
        both = yes[1] | no[1]
        branches = [conjunction([*c, *self.unchanged(both - assigned)]) for c, assigned in (yes, no)]
        return [choose(condition, *branches)], both

    def guards(self, condition: Term) -> list[Term]:
        """A guard, in such a form that TLC evaluates it once."""
        scope = self.scope
        parts = condition.parts if condition.op == "and" else (condition,)
        return [Term("call", (p,), (scope.helper("Holds"),)) if splits(p, scope.splitting) else p for p in parts]

    def becomes(self, term: Term) -> tuple[list[Term], frozenset[str]]:
        """The state after is that of a term."""
        names = list(self.scope.variables)
        if term == atom("state"):
            return [], frozenset()
        if term.op == "except" and term.parts[0] == atom("state"):
            pairs = [(n, v) for n, v in zip(term.names, term.parts[1:], strict=True)]
            pairs = [(n, v) for n, v in pairs if v != atom(self.scope.variables[n])]
            return [self.equals(n, v) for n, v in pairs], frozenset(n for n, _ in pairs)
        if term.op == "record":
            given = dict(zip(term.names, term.parts, strict=True))
            return [self.equals(n, given[n]) for n in names if n in given], frozenset(given)
        if term.op == "if":
            return self.forked(term.parts[0], self.becomes(term.parts[1]), self.becomes(term.parts[2]))
        if term.op == "let":
            rest, assigned = self.becomes(term.parts[-1])
            formula = conjunction(rest)
            for name, value in reversed(list(zip(term.names, term.parts[:-1], strict=True))):
                formula = let(name, value, formula)
            return [formula], assigned
        self.scope.memo.setdefault("Becomes" if self.primed else "StartsAs", Definition("", (), TRUE))
        return [Term("call", (term,), ("Becomes" if self.primed else "StartsAs",))], self.all

    def equals(self, name: str, value: Term) -> Term:
        """`name' = value`."""
        variable = atom(self.scope.variables[name])
        return infix("=", prime(variable) if self.primed else variable, value)


NO_KINDS: Mapping[str, Kind] = {}


# -- functions ------------------------------------------------------------------------------------------------------


def context_of(
    scope: ModuleScope, function: Any, variables: dict[str, Value], in_use: Iterable[str] = ()
) -> tuple[Context, Tree]:
    """A function being translated, and the tree of its body. in_use: names that are bound around it."""
    node, file, _ = find_source(function)
    context = Context(scope, function, file, {})
    context.in_use |= set(in_use)
    for name, parameter in signature(function).items():
        if name in variables:
            context.variables[name] = variables[name]
        elif parameter.default is not Parameter.empty:
            context.variables[name] = context.lift(parameter.default)
    for value in context.variables.values():
        context.in_use |= used(value.term)
    if isinstance(node, ast.Lambda):
        value = context.translate(node.body)
        return context, _with_guards(context, lambda: Leaf(value))
    return context, tree_of(context, node.body)


def define(
    scope: ModuleScope, function: Any, wanted: str, variables: dict[str, Value], kinds: Mapping[str, Kind] = NO_KINDS
) -> Definition:
    """The definition of a function, and one of its guards if it has any. variables: its arguments; those that are
    missing become parameters. kinds: of parameters without an annotation, as `self` is one.
    """
    name = scope.name(wanted)
    hints = cached_hints(function)
    arguments, parameters = dict(variables), []
    probe = Context(scope, function, "", {})
    for parameter in signature(function):
        if parameter not in arguments:
            local = probe.fresh(parameter)
            parameters.append((parameter, local))
            arguments[parameter] = Value(atom(local), kind_of_annotation(hints.get(parameter, kinds.get(parameter))))
    scope.running.append(function)
    try:
        context, tree = context_of(scope, function, arguments)
    finally:
        scope.running.pop()
    guard, value = guard_of_tree(tree), value_of_tree(context, tree)
    names, doc = tuple(local for _, local in parameters), function.__doc__ or ""
    kind = kind_of_annotation(hints.get("return"))
    inferred = kind_of_tree(tree)
    kind = (
        inferred
        if kind in (None, Any, object) or (is_a(inferred, *_classes(kind)) if _classes(kind) else False)
        else kind
    )
    enabled = ""
    if guard != TRUE:
        enabled = scope.name(wanted + "_enabled")
        scope.define(Definition(enabled, names, guard, f"Whether the guards of {name} hold."))
    return scope.define(Definition(name, names, FALSE if value is None else value, doc, kind, enabled))


def _classes(kind: Kind) -> tuple[type, ...]:
    return (kind,) if isinstance(kind, type) and family(kind) is kind else ()
