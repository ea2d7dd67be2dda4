"""The meaning of a claim, as a digest of its text, of the functions that it calls, and of what it is about.

Comments, formatting and docstrings do not count; nor do annotations, since the counts of a search show another state.
The fairness of actions is part of a claim about whole runs, the terminal states are part of "deadlock", and the
function that makes a view is part of a claim over it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache, partial
from types import FunctionType, ModuleType
from typing import Any

from reassure.checkers.request.digest import LANGUAGE, source, words_of
from reassure.spec.frontend.introspection import find_source, hints_of
from reassure.spec.language.vocabulary import Action, Model, Property
from reassure.spec.semantics.interpreter import BoundModel

DIGITS = 12
"""Hexadecimal digits of a digest."""


def meanings(bound: BoundModel) -> dict[str, str]:
    """The digest of every claim of a model, applicable or not, by name; "deadlock" is one if the model has it."""
    model = bound.model
    digests = {claim.name: _meaning(claim, bound) for claim in model.properties}
    if model.deadlock:
        digests["deadlock"] = _sha256(_digest(t.function) for t in model.terminals)
    return digests


def _meaning(claim: Property, bound: BoundModel) -> str:
    function: Any = claim.function
    words = [claim.kind, _digest(function), *sorted(claim.tags), *sorted(a.name for a in claim.on)]
    words += [f"watches {name}" for name in sorted(claim.watches or ())]
    words += [f"{what} {_digest(f)}" for what, f in (("when", claim.when), ("goal", claim.goal)) if f is not None]
    kinds = [kind for kind in hints_of(function).values() if isinstance(kind, type)]
    words += [f"view {_digest(bound.views[kind])}" for kind in kinds if kind in bound.views]
    if claim.temporal:
        words += _fairness(bound.model)
    return _sha256(words)


def _fairness(model: Model) -> list[str]:
    return sorted(f"{a.fair} {a.name} {' '.join(a.fair_each)}" for a in model.actions if a.fair)


def _sha256(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:DIGITS]


@lru_cache(4096)
def _digest(function: Any) -> str:
    """The digest of a function's text and of what its names mean."""
    return _sha256(_of_function(function, set()))


def _of_function(function: Any, seen: set[Any]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    if isinstance(function, partial):
        yield from _of_value(function.func, seen)
        yield repr((function.args, sorted(function.keywords.items())))
        return
    try:
        tree, _, _ = find_source(function)
    except (OSError, TypeError):
        yield f"{function.__module__}.{function.__qualname__}"
        return
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    body: list[ast.AST] = [tree.body] if isinstance(tree.body, ast.expr) else [*tree.body]
    yield " ".join(names)
    yield words_of(body)
    for default in function.__defaults__ or ():
        yield from _of_value(default, seen)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    for node in (node for statement in body for node in ast.walk(statement)):
        value = _value(node, known)
        if value is not None:
            yield from _of_value(value, seen)


@lru_cache(1024)
def _has_known_meaning(module: str) -> bool:
    """Whether a function's name says it all: it is of the language, or of a library."""
    return module.startswith(f"{LANGUAGE}.language") or source(module) is None


def _value(node: ast.AST, known: dict[str, Any]) -> Any:
    """The object that a name, or a name in a module, stands for outside of the function; None for others."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _value(node.value, known)
        return getattr(base, node.attr, None) if isinstance(base, ModuleType | type) else None
    return None


def _of_value(value: Any, seen: set[Any]) -> Iterator[str]:
    if isinstance(value, FunctionType | partial):
        if isinstance(value, FunctionType) and _has_known_meaning(value.__module__):
            yield value.__qualname__
        else:
            yield from _of_function(value, seen)
    elif isinstance(value, Action):
        yield f"action {value.name}"
    elif isinstance(value, type):
        yield f"class {value.__name__} {[m.name for m in value] if issubclass(value, Enum) else ''}"
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))
    elif isinstance(value, tuple):
        for item in value:
            yield from _of_value(item, seen)
    elif not isinstance(value, ModuleType):
        yield repr(value) if isinstance(value, int | str | Enum) or value is None else type(value).__name__
