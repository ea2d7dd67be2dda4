"""Trees of bodies: guards, definitions and branches down to what is returned.

Also here: `for` loops. A loop is a fold over the sequence, or the set, of its turns: from turn to turn goes a record of
the variables that it changes, and of whether it was left, a value was returned, or a guard refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count

from reassure.checkers.tla.context import Context, Value
from reassure.checkers.tla.iteration import IterationDomain, unpacked
from reassure.checkers.tla.kinds import Kind, Static, Untranslatable
from reassure.checkers.tla.terms import FALSE, NONE, TRUE, Term, atom, call, choose, let, negation, record_with
from reassure.checkers.tla.terms import field as field_of


@dataclass(frozen=True)
class Tree:
    """What is left of a body."""


@dataclass(frozen=True)
class Leaf(Tree):
    """It returns a value."""

    value: Value


@dataclass(frozen=True)
class NotEnabled(Tree):
    """The action is not enabled."""


@dataclass(frozen=True)
class GuardedBy(Tree):
    """It goes on only if a condition holds."""

    condition: Term
    rest: Tree


@dataclass(frozen=True)
class Bind(Tree):
    """A name gets a value."""

    name: str
    value: Term
    rest: Tree


@dataclass(frozen=True)
class Fork(Tree):
    """It goes on in one of two ways."""

    condition: Term
    yes: Tree
    no: Tree


@dataclass(frozen=True)
class TurnEnds(Tree):
    """A turn of a loop ends. changed: the variables with their values; left: whether the loop ends, too."""

    changed: dict[str, Value]
    left: bool


NOT_ENABLED = NotEnabled()


def fork(condition: Term, yes: Tree, no: Tree) -> Tree:
    """A branch, unless the condition is known."""
    if condition in (TRUE, FALSE):
        return yes if condition == TRUE else no
    return Fork(condition, yes, no)


# -- loops ----------------------------------------------------------------------------------------------------------

TreeOf = Callable[[Context, list[ast.stmt]], Tree]
"""The tree of statements."""


@dataclass
class FoldedLoop:
    """A loop: its variables that go from turn to turn, with their kinds, and the flags that it needs."""

    names: dict[str, Kind]
    flags: set[str] = field(default_factory=set)
    returned: list[Kind] = field(default_factory=list)
    """The kinds of what is returned."""

    def flag(self, name: str) -> str:
        """A field of the record that no variable has."""
        self.flags.add(name)
        return self.field(name)

    def field(self, name: str) -> str:
        """As `flag`, of one that there is."""
        while name in self.names:
            name += "_"
        return name


def end_of_turn(context: Context, left: bool = False) -> Tree:
    """The end of a turn: of its statements, `continue`, or `break`."""
    loop: FoldedLoop = context.loops[-1]
    return TurnEnds({name: context.variables[name] for name in loop.names if name in context.variables}, left)


def folded(context: Context, node: ast.For, domain: IterationDomain, rest: list[ast.stmt], tree_of: TreeOf) -> Tree:
    """A loop as a fold, and the rest."""
    before, in_use = dict(context.variables), set(context.in_use)
    after = _read_first([*node.orelse, *rest]).union(*(outer.names for outer in context.loops))
    node = _keeping_targets(node, after)
    changed = [name for name in _changed(node) if name in before or name in after]
    loop = FoldedLoop({name: before[name].kind if name in before else None for name in changed})
    _find_kinds(context, node, domain, loop)
    name, was = context.fresh("loop"), context.fresh("was")
    with _in_turn(context, node, domain, loop, was) as member:
        tree = tree_of(context, node.body)
    step = _after_turn(context, tree, loop, was)
    context.variables, context.in_use = before, in_use
    context.in_use.add(name)
    if not loop.names and not loop.flags:
        return tree_of(context, rest)
    if "left" in loop.flags:
        step = choose(field_of(atom(was), loop.field("left")), atom(was), step)
    start = {
        name: context.whole(before[name], node) if name in before else _placeholder(context, kind)
        for name, kind in loop.names.items()
    }
    start |= {loop.field(name): FALSE for name in ("left", "returned", "refused") if name in loop.flags}
    if "returned" in loop.flags:
        start[loop.field("value")] = _placeholder(context, loop.returned[0])
    items, helper = (domain.members, "FoldedSet") if domain.sequence is None else (domain.sequence, "Folded")
    turns = Term("lambda", (step,), (was, member))
    term = call(context.scope.helper(helper), turns, Term("record", tuple(start.values()), tuple(start)), items)
    for variable, kind in loop.names.items():
        context.variables[variable] = Value(field_of(atom(name), variable), kind)
    return Bind(name, term, _after_loop(context, node, loop, name, rest, tree_of))


def _after_loop(
    context: Context, node: ast.For, loop: FoldedLoop, name: str, rest: list[ast.stmt], tree_of: TreeOf
) -> Tree:
    done = atom(name)
    if node.orelse and "left" in loop.flags:
        variables, in_use = dict(context.variables), set(context.in_use)
        otherwise = tree_of(context, [*node.orelse, *rest])
        context.variables, context.in_use = variables, in_use
        tree = fork(field_of(done, loop.field("left")), tree_of(context, rest), otherwise)
    else:
        tree = tree_of(context, [*node.orelse, *rest])
    if "returned" in loop.flags:
        value = Value(field_of(done, loop.field("value")), loop.returned[0])
        tree = fork(field_of(done, loop.field("returned")), Leaf(value), tree)
    return GuardedBy(negation(field_of(done, loop.field("refused"))), tree) if "refused" in loop.flags else tree


def _keeping_targets(node: ast.For, after: frozenset[str]) -> ast.For:
    """The loop, in which those of its variables that are read afterwards are assigned in each turn, as others are."""
    targets = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    if not after.intersection(targets):
        return node
    taken = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    given = {name: name + "_" * next(k for k in count(1) if name + "_" * k not in taken) for name in targets}
    target = _Renamed(given).visit(deepcopy(node.target))
    kept = [ast.parse(f"{name} = {new}").body[0] for name, new in given.items()]
    again = ast.For(target=target, iter=node.iter, body=[*kept, *node.body], orelse=node.orelse)
    return ast.fix_missing_locations(ast.copy_location(again, node))


class _Renamed(ast.NodeTransformer):
    """Other names for names."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node


def _read_first(body: list[ast.stmt], after: frozenset[str] = frozenset()) -> frozenset[str]:
    """The names that statements may read before they give them a value. after: those that what follows does."""
    for node in reversed(body):
        if isinstance(node, ast.Return):
            after = _names_read(node)
        elif isinstance(node, ast.If):
            after = _names_read(node.test) | _read_first(node.body, after) | _read_first(node.orelse, after)
        elif isinstance(node, ast.For):
            targets = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            once = _read_first(node.body, after) - targets
            turn = _read_first(node.body, after | once) - targets
            after = _names_read(node.iter) | after | turn | _read_first(node.orelse, after)
        elif isinstance(node, ast.AugAssign):
            after |= _names_read(node.value) | _names_read(ast.parse(ast.unparse(node.target)))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            to = node.targets if isinstance(node, ast.Assign) else [node.target]
            given = {n.id for t in to for n in ast.walk(t) if isinstance(n, ast.Name)}
            after = (after - given) | (_names_read(node.value) if node.value is not None else frozenset())
        else:
            after |= _names_read(node)
    return after


def _names_read(node: ast.AST) -> frozenset[str]:
    """The names that an expression reads from outside of it."""
    if isinstance(node, ast.Name):
        return frozenset({node.id}) if isinstance(node.ctx, ast.Load) else frozenset()
    read = frozenset[str]().union(*map(_names_read, ast.iter_child_nodes(node)))
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        return (read - own) | _names_read(node.generators[0].iter)
    return read - {a.arg for a in node.args.args} if isinstance(node, ast.Lambda) else read


def _changed(node: ast.For) -> list[str]:
    """The names that a loop's body gives values."""
    found = [n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name)]
    return list(dict.fromkeys(n.id for n in found if isinstance(n.ctx, ast.Store)))


@contextmanager
def _in_turn(context: Context, node: ast.For, domain: IterationDomain, loop: FoldedLoop, was: str) -> Iterator[str]:
    """Within, variables are those of a turn; yields the name of the member."""
    for name, kind in loop.names.items():
        context.variables[name] = Value(field_of(atom(was), name), kind)
    context.loops.append(loop)
    with unpacked(context, node.target, domain.kind) as member:
        yield member
    context.loops.pop()


def _find_kinds(context: Context, node: ast.For, domain: IterationDomain, loop: FoldedLoop) -> None:
    """Finds the kinds of variables that begin as None or as an empty set, by what the loop gives them."""
    unknown = [name for name, kind in loop.names.items() if kind in (type(None), frozenset, tuple, None)]
    given = [
        s for part in node.body for s in ast.walk(part) if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign)
    ]
    for name in unknown:
        for statement in given:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not any(isinstance(t, ast.Name) and t.id == name for t in targets) or statement.value is None:
                continue
            variables, in_use, guards = dict(context.variables), set(context.in_use), list(context.guards)
            try:
                with unpacked(context, node.target, domain.kind):
                    kind = context.translate(statement.value).kind
            except (Untranslatable, AttributeError):  # it has variables that the turn gives values
                kind = None
            context.variables, context.in_use, context.guards = variables, in_use, guards
            if kind not in (type(None), frozenset, tuple, None) and not isinstance(kind, Static):
                loop.names[name] = kind
                break


def _after_turn(context: Context, tree: Tree, loop: FoldedLoop, was: str) -> Term:
    """The record after a turn."""
    here = atom(was)
    if isinstance(tree, TurnEnds):
        changes: dict[str, Term] = {}
        for name, value in tree.changed.items():
            term = context.whole(value)
            if term != field_of(here, name):
                changes[name] = term
        if tree.left:
            changes[loop.flag("left")] = TRUE
        return record_with(here, changes)
    if isinstance(tree, Leaf):
        loop.returned.append(tree.value.kind)
        left, returned = loop.flag("left"), loop.flag("returned")
        return record_with(here, {left: TRUE, returned: TRUE, loop.field("value"): context.whole(tree.value)})
    if isinstance(tree, GuardedBy):
        rest, refused = _after_turn(context, tree.rest, loop, was), _after_turn(context, NOT_ENABLED, loop, was)
        return choose(tree.condition, rest, refused)
    if isinstance(tree, Bind):
        return let(tree.name, tree.value, _after_turn(context, tree.rest, loop, was))
    if isinstance(tree, Fork):
        yes, no = _after_turn(context, tree.yes, loop, was), _after_turn(context, tree.no, loop, was)
        return choose(tree.condition, yes, no)
    return record_with(here, {loop.flag("left"): TRUE, loop.flag("refused"): TRUE})


def _placeholder(context: Context, kind: Kind) -> Term:
    """What stands for the value of a loop that has returned none: a value of the same kind where one is at hand."""
    if kind in (bool, int):
        return FALSE if kind is bool else atom("0")
    alike = (value for value in context.variables.values() if value.kind == kind and kind is not type(None))
    return next((context.whole(value) for value in alike), NONE)
