"""Functions of a model that run a changed body while an action or an initial function runs, in plain Python.

The function object stays: whoever calls it, by whatever name, runs the other code. Claims and views run the text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

from reassure.checkers.machine.interpreter_hooks import patched_code
from reassure.spec.semantics.interpreter import BoundModel


class ChangedModel(BoundModel):
    """A bound model in which one function has another body."""

    def __init__(self, bound: BoundModel, function: FunctionType, code: CodeType) -> None:
        self._function, self._code = function, code
        super().__init__(bound.model, bound.config)

    def _run(self, name: str, *arguments: Any) -> Any:
        with patched_code(self._function, self._code):
            return super()._run(name, *arguments)


def code_of(function: FunctionType, definition: ast.FunctionDef) -> CodeType:
    """The code of a function with a changed definition. Raises `LookupError` if it is made within another function."""
    if function.__code__.co_freevars:
        raise LookupError(f"{function.__name__} is made within another function")
    plain = copy.copy(definition)
    plain.decorator_list = []
    namespace: dict[str, Any] = {}
    future = ast.parse("from __future__ import annotations").body
    tree = ast.fix_missing_locations(ast.Module([*future, plain], []))
    exec(compile(tree, function.__code__.co_filename, "exec"), dict(function.__globals__), namespace)
    code: CodeType = namespace[definition.name].__code__
    return code


def replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> Any:
    """The tree with one node in the place of another. The given tree stays as it is; both share what is equal."""
    if tree is old:
        return new
    changes: dict[str, Any] = {}
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            after = replaced(value, old, new)
            if after is not value:
                changes[name] = after
        elif isinstance(value, list):
            items = [replaced(item, old, new) if isinstance(item, ast.AST) else item for item in value]
            if any(a is not b for a, b in zip(items, value, strict=True)):
                changes[name] = items
    return _with_fields(tree, changes) if changes else tree


def _with_fields(tree: ast.AST, changes: Mapping[str, Any]) -> ast.AST:
    changed = copy.copy(tree)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed
