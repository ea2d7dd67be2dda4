"""The mutants of a model: its text with one small change in what an action or an initial function does.

A mutant keeps the state, the configuration and the claims of the model, also where a claim calls a function that is
changed for the actions: a change that took place in both could hide from the claim. No file and no module is touched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from reassure.checkers.analyses.mutants.syntax_changes import SyntaxChange, changes
from reassure.checkers.traces.changed_function import ChangedModel, code_of
from reassure.checkers.traces.outcomes import is_of_a_model
from reassure.spec.frontend.introspection import find_source
from reassure.spec.language.vocabulary import Action, GuardRefused
from reassure.spec.semantics.interpreter import BoundModel

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
    declared = [(d.name, d.function) for d in model.initials] + [(d.name, d.function) for d in model.actions]
    for name, step in declared:
        assert isinstance(step, FunctionType)
        for function in _called_by(step):
            reached.setdefault(function, []).append(name)
    for function, names in reached.items():
        tree, file, _ = find_source(function)
        if isinstance(tree, ast.FunctionDef):
            mutants += [_mutant(change, function, file, tuple(names)) for change in changes(tree)]
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


def _called_by(function: FunctionType) -> list[FunctionType]:
    """The function and every function of the model's text that it may call, each once."""
    functions: list[FunctionType] = []
    pending = [function]
    while pending:
        one = pending.pop()
        if one not in functions and is_of_a_model(one):
            functions.append(one)
            pending += list(_mentioned(one))
    return functions


def _mentioned(function: FunctionType) -> Iterator[FunctionType]:
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
    for node in (node for part in body for node in ast.walk(part)):
        value = None
        if isinstance(node, ast.Name):
            value = names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            value = getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        if isinstance(value, FunctionType):
            yield value
