"""The mutants of a model: its text with one small change in what an action or an initial function does.

A mutant keeps the state, the configuration and the claims of the model, also where a claim calls a function that is
changed for the actions: a change that took place in both could hide from the claim. No file and no module is touched.

Also here: small changes of a function's text: each is a mistake that somebody might have made.

A change replaces one expression by another. Annotations, defaults, decorators, texts and notes stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from reassure.checkers.traces.outcomes import ChangedModel, as_definition, code_of, is_of_a_model, replaced
from reassure.spec.frontend.introspection import find_source, methods_named
from reassure.spec.language.vocabulary import Action, GuardRefused
from reassure.spec.semantics.interpreter import BoundModel

COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.BitOr: ast.BitAnd(),
    ast.BitAnd: ast.BitOr(),
    ast.Add: ast.Sub(),
}
FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class SyntaxChange:
    """One change of a definition. kind: what sort of change; before, after: what is replaced, and by what, as text.

    after is empty where something is left out.
    """

    kind: str
    line: int
    column: int
    before: str
    after: str
    definition: ast.FunctionDef
    """The whole definition with the change."""


@dataclass(frozen=True)
class _Edit:
    """An expression and what takes its place. gone: the part of it that is left out, if that is the change."""

    kind: str
    old: ast.expr
    new: ast.expr
    gone: ast.expr | ast.keyword | None = None


def syntax_changes(definition: ast.FunctionDef) -> Iterator[SyntaxChange]:
    """Every change of a function's body, in the order of the text."""
    edits = [edit for statement in definition.body for node in _expressions(statement) for edit in _edits(node)]
    for edit in sorted(edits, key=lambda e: (e.old.lineno, e.old.col_offset)):
        before = ast.unparse(edit.gone or edit.old)
        after = "" if edit.gone is not None else ast.unparse(edit.new)
        new = ast.fix_missing_locations(ast.copy_location(edit.new, edit.old))
        yield SyntaxChange(
            edit.kind, edit.old.lineno, edit.old.col_offset, before, after, replaced(definition, edit.old, new)
        )


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """A statement or expression with everything in it that is evaluated, but for texts and notes."""
    if isinstance(node, ast.JoinedStr):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "decorator_list", "returns", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _expressions(child)


def _edits(node: ast.AST) -> Iterator[_Edit]:
    for kind, rule in RULES.items():
        if isinstance(node, kind):
            yield from rule(node)


def _bool_op(node: ast.BoolOp) -> Iterator[_Edit]:
    for number in range(len(node.values)):
        rest = node.values[:number] + node.values[number + 1 :]
        new = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        what = "conjunct" if isinstance(node.op, ast.And) else "alternative"
        yield _Edit(f"{what} dropped", node, new, node.values[number])
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield _Edit("connective exchanged", node, ast.BoolOp(other, node.values))


def _compare(node: ast.Compare) -> Iterator[_Edit]:
    for number, op in enumerate(node.ops):
        ops = [*node.ops[:number], COMPARISONS[type(op)], *node.ops[number + 1 :]]
        yield _Edit("comparison exchanged", node, ast.Compare(node.left, ops, node.comparators))


def _unary(node: ast.UnaryOp) -> Iterator[_Edit]:
    if isinstance(node.op, ast.Not):
        yield _Edit("negation dropped", node, node.operand)


def _binary(node: ast.BinOp) -> Iterator[_Edit]:
    """`a - b` becomes `a`, of sets and of numbers; a number that is written there is changed by itself."""
    if type(node.op) in OPERATORS:
        yield _Edit("operation exchanged", node, ast.BinOp(node.left, OPERATORS[type(node.op)], node.right))
    elif isinstance(node.op, ast.Sub) and not isinstance(node.right, ast.Constant):
        yield _Edit("subtraction dropped", node, node.left)


def _constant(node: ast.Constant) -> Iterator[_Edit]:
    if isinstance(node.value, bool):
        yield _Edit("constant changed", node, ast.Constant(not node.value))
    elif isinstance(node.value, int):
        for value in (node.value + 1, node.value - 1):
            new = ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
            yield _Edit("constant changed", node, new)


def _call(node: ast.Call) -> Iterator[_Edit]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "require" and node.args and not isinstance(node.args[0], ast.BoolOp):
        yield _Edit("guard dropped", node.args[0], ast.Constant(True), node.args[0])
    elif name == "replace" and len(node.args) == 1:
        for keyword in node.keywords:
            rest = [k for k in node.keywords if k is not keyword]
            new = ast.Call(node.func, node.args, rest) if rest else node.args[0]
            yield _Edit("assignment left out", node, new, keyword)
    elif name in FUNCTIONS:
        other = ast.Call(ast.copy_location(ast.Name(FUNCTIONS[name], ast.Load()), node.func), node.args, node.keywords)
        yield _Edit("function exchanged", node, other)


def _condition(node: ast.If | ast.IfExp) -> Iterator[_Edit]:
    """A condition that nothing else changes."""
    if isinstance(node.test, ast.Call | ast.Name | ast.Attribute):
        yield _Edit("condition negated", node.test, ast.UnaryOp(ast.Not(), node.test))


def _filter(node: ast.comprehension) -> Iterator[_Edit]:
    for test in node.ifs:
        yield _Edit("filter dropped", test, ast.Constant(True), test)


RULES: dict[type[ast.AST] | tuple[type[ast.AST], ...], Callable[..., Iterator[_Edit]]] = {
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Constant: _constant,
    ast.Call: _call,
    (ast.If, ast.IfExp): _condition,
    ast.comprehension: _filter,
}
"""The changes of each kind of syntax node."""


REMOVED = "action removed"


@dataclass(frozen=True)
class Mutant:
    """One change of a model."""

    kind: str
    file: str
    line: int
    column: int
    where: str
    """The function that is changed, or the action that is removed."""
    before: str
    after: str
    reached_by: tuple[str, ...]
    """Names of the actions and initial functions that call it."""
    change: tuple[FunctionType, ast.FunctionDef] | None = None
    """The function and what it is changed to; None: the action is removed."""

    @property
    def place(self) -> str:
        """The file's name and the line."""
        return f"{Path(self.file).name}:{self.line}"

    def of(self, bound: BoundModel) -> BoundModel:
        """The mutant in plain Python. Raises `LookupError` if the function cannot be compiled by itself."""
        if self.change is None:
            return WithoutAction(bound, self.where)
        function, definition = self.change
        return ChangedModel(bound, function, code_of(function, definition))


class WithoutAction(BoundModel):
    """A bound model of which one action is never enabled."""

    def __init__(self, bound: BoundModel, removed: str) -> None:
        self._removed = removed
        super().__init__(bound.model, bound.config)

    def _run(self, name: str, *given: Any) -> Any:
        if name == self._removed:
            raise GuardRefused(f"{name} is removed")
        return super()._run(name, *given)


def mutants_of(bound: BoundModel) -> list[Mutant]:
    """Every mutant, in the order of the modules' names, the lines and the changes."""
    mutants: list[Mutant] = []
    model = bound.model
    reached: dict[FunctionType, list[str]] = {}
    declared = [(d.name, d.function) for d in model.initials]
    declared += [(a.name, function) for a in model.actions for function in (a.function, *a.guards)]
    for name, step in declared:
        assert isinstance(step, FunctionType)
        for function in _called_by(step, model.config):
            reached.setdefault(function, []).append(name)
    for function, names in reached.items():
        tree, file, _ = find_source(function)
        if isinstance(tree, ast.Lambda) and any(function in action.guards for action in model.actions):
            tree = as_definition(tree, [ast.copy_location(ast.Return(tree.body), tree)])
        if isinstance(tree, ast.FunctionDef):
            mutants += [_mutant(change, function, file, tuple(names)) for change in syntax_changes(tree)]
    if len(model.actions) > 1:
        mutants += [_removal(action) for action in model.actions]
    return sorted(mutants, key=lambda m: (Path(m.file).name, m.line, m.column, m.kind == REMOVED))


def _mutant(change: SyntaxChange, function: FunctionType, file: str, names: tuple[str, ...]) -> Mutant:
    c = change
    change_of_text = function, c.definition
    return Mutant(c.kind, file, c.line, c.column, function.__name__, c.before, c.after, names, change_of_text)


def _removal(action: Action) -> Mutant:
    assert isinstance(action.function, FunctionType)
    tree, file, _ = find_source(action.function)
    return Mutant(REMOVED, file, tree.lineno, tree.col_offset, action.name, action.name, "", (action.name,))


def _called_by(function: FunctionType, config: type) -> list[FunctionType]:
    """The function and every function of the model's text that it may call, each once."""
    functions: list[FunctionType] = []
    pending = [function]
    while pending:
        one = pending.pop()
        if one not in functions and is_of_a_model(one):
            functions.append(one)
            pending += list(_mentioned(one, config))
    return functions


def _mentioned(function: FunctionType, config: type) -> Iterator[FunctionType]:
    """Functions that a function names in its body, or takes as defaults.

    Its decorators, which name the sets that parameters are drawn from, keep the text.
    """
    try:
        tree, _, _ = find_source(function)
    except OSError:
        return
    yield from (d for d in (function.__defaults__ or ()) if isinstance(d, FunctionType))
    names = function.__globals__
    body = tree.body if isinstance(tree.body, list) else [tree.body]
    nodes = [node for part in body for node in ast.walk(part)]
    yield from methods_named(function, {node.attr for node in nodes if isinstance(node, ast.Attribute)}, config)
    for node in nodes:
        value = None
        if isinstance(node, ast.Name):
            value = names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            value = getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        if isinstance(value, FunctionType):
            yield value
