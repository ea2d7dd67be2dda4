"""A model with one guard of its text left out, executed by plain Python: the oracle for what `guards` finds.

The function that the guard stands in is compiled once more from its source with `True` in the guard's place, and its
code takes the place of the function's while an action or an initial function runs.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from reassure.checkers.base.interpreter_hooks import patched_code
from reassure.spec.frontend.guards import conjuncts
from reassure.spec.semantics.interpreter import BoundModel

Part = tuple[int, int]
"""Which of how many conjuncts."""


class Unguarded(BoundModel):
    """A bound model without a guard, wherever it is met. Raises `LookupError` if it cannot be found in the source.

    line, column: of the `require`; part: which conjunct of how many.
    """

    def __init__(self, bound: BoundModel, file: str, line: int, column: int, part: Part) -> None:
        self._function, self._code = _left_out(file, line, column, part)
        super().__init__(bound.model, bound.config)

    def _run(self, name: str, *given: Any) -> Any:
        with patched_code(self._function, self._code):
            return super()._run(name, *given)


def _left_out(file: str, line: int, column: int, part: Part) -> tuple[FunctionType, CodeType]:
    """The function that has the guard, and its code without it."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    place = next(
        (f for f in tree.body if isinstance(f, ast.FunctionDef) and f.lineno <= line <= (f.end_lineno or 0)), None
    )
    if place is None:
        raise LookupError(f"{file}:{line} is in no function of the module")
    calls = (c for c in ast.walk(place) if isinstance(c, ast.Call) and (c.lineno, c.col_offset) == (line, column))
    call = next((c for c in calls if c.args), None)
    if call is None:
        raise LookupError(f"{file}:{line} has no require")
    number, count = part
    parts = conjuncts(call.args[0])
    if len(parts) != count:
        raise LookupError(f"{file}:{line}: the guard is not written as {count} conjuncts")
    call.args[0] = _Replaced(parts[number]).visit(call.args[0])
    place.decorator_list = []
    function = _function(file, place.name, line)
    if function.__code__.co_freevars:
        raise LookupError(f"{place.name} is made within another function")
    made: dict[str, Any] = {}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*future, place], []), file, "exec"), dict(function.__globals__), made)
    return function, made[place.name].__code__


class _Replaced(ast.NodeTransformer):
    """Puts `True` in the place of one expression."""

    def __init__(self, gone: ast.expr) -> None:
        self.gone = gone

    def visit(self, node: ast.AST) -> Any:
        """The tree without it."""
        return ast.copy_location(ast.Constant(True), node) if node is self.gone else self.generic_visit(node)


def _function(file: str, name: str, line: int) -> FunctionType:
    """The function object of a definition, also where a declaration holds it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) != file:
            continue
        for value in vars(module).values():
            found = getattr(value, "function", value)
            if isinstance(found, FunctionType) and found.__name__ == name:
                code = found.__code__
                last = max((n for *_, n in code.co_lines() if n is not None), default=code.co_firstlineno)
                if code.co_filename == file and code.co_firstlineno <= line <= last:
                    return found
    raise LookupError(f"{file} has no function {name} that is loaded")
