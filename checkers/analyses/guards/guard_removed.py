"""A model with one guard of its text left out, executed by plain Python: the oracle for what `guards` finds.

The function that the guard stands in is compiled once more from its source with `True` in the guard's place, and its
code takes the place of the function's while an action or an initial function runs.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import CodeType, FunctionType

from reassure.checkers.traces.changed_function import ChangedModel, code_of, replaced
from reassure.spec.frontend.guards import conjuncts
from reassure.spec.semantics.interpreter import BoundModel

Part = tuple[int, int]
"""The number of the conjunct, and of all."""


class Unguarded(ChangedModel):
    """A bound model without a guard, wherever it is met. Raises `LookupError` if it cannot be found in the source.

    line, column: of the `require`; part: which conjunct of how many.
    """

    def __init__(self, bound: BoundModel, file: str, line: int, column: int, part: Part) -> None:
        super().__init__(bound, *_left_out(file, line, column, part))


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
    without = replaced(place, parts[number], ast.copy_location(ast.Constant(True), parts[number]))
    function = _function(file, place.name, line)
    return function, code_of(function, without)


def _function(file: str, name: str, line: int) -> FunctionType:
    """The function object of a definition, also where a declaration holds it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) != file:
            continue
        for value in vars(module).values():
            function = getattr(value, "function", value)
            if isinstance(function, FunctionType) and function.__name__ == name:
                code = function.__code__
                last = max((n for *_, n in code.co_lines() if n is not None), default=code.co_firstlineno)
                if code.co_filename == file and code.co_firstlineno <= line <= last:
                    return function
    raise LookupError(f"{file} has no function {name} that is loaded")
