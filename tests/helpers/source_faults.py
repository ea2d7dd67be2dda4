"""Faults that are put into a module at random: another operator, another constant, `or` for `and`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class SourceFault:
    """An expression of a module, by its bytes in the line or lines that it spans, and what stands for it."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str
    once: bool
    """Whether it is computed once for all tests: by the module, or by a function that keeps its results."""

    @property
    def text(self) -> str:
        """Of the module, as it is."""
        return self.path.read_text(encoding="utf-8")

    def apply(self, text: str) -> str:
        """The text of the module with the fault."""
        return self.replace(text, self.after)

    def instrument(self, text: str, call: str) -> str:
        """The text of the module as it is, but for a call whose result is false, before the expression."""
        return self.replace(text, f"{call} or ({self.before})")

    def replace(self, text: str, expression: str) -> str:
        source = text.encode()
        assert source[self.start : self.end].decode() == self.before
        return (source[: self.start] + f"({expression})".encode() + source[self.end :]).decode()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a module, however deep, and not their expressions, which are many: a tenth of `ast.walk`."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(tree, name, None)
        for node in inner if isinstance(inner, list) else ():  # a lambda's body is an expression
            yield node
            yield from statements(node)


def source_faults(path: Path) -> list[SourceFault]:
    """Every fault of this kind that a module can have, one for each operator and constant."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    faults = []
    for node, once in _expressions(ast.parse(text), True):
        for changed in _changed(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            before = text.encode()[start:end].decode()
            faults.append(SourceFault(path, node.lineno, start, end, before, ast.unparse(changed), once))
    return faults


def _expressions(node: ast.AST, once: bool) -> Iterator[tuple[ast.expr, bool]]:
    """All below, but for annotations, patterns, and texts with expressions, whose places Python 3.11 does not tell."""
    if isinstance(node, ast.JoinedStr | ast.pattern):
        return
    if isinstance(node, ast.FunctionDef):
        once = any("cache" in ast.unparse(decorator) for decorator in node.decorator_list)
    if isinstance(node, ast.expr):
        yield node, once
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _expressions(child, once)


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
        return  # a type: no fault that a programmer would not see at once
    if isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        other = copy.copy(node)
        other.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        yield other
    elif isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            if type(operator) in SWAPS:
                compared = copy.copy(node)
                compared.ops = [*node.ops[:number], SWAPS[type(operator)](), *node.ops[number + 1 :]]  # type: ignore[list-item]
                yield compared
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (bool, int):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
