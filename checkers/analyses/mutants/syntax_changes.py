"""Small changes of a function's text: each is a mistake that somebody might have made.

A change replaces one expression by another. Annotations, defaults, decorators, texts and notes stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reassure.checkers.traces.changed_function import replaced

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


def changes(definition: ast.FunctionDef) -> Iterator[SyntaxChange]:
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
